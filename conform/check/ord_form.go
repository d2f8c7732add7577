package check

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// formRules judge the form of what is sent, whatever its history.
var formRules = map[string]rule{
	"ORD-015/unicode": validUnicode,
}

var itemIDForm = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// halfSurrogate finds an escape of the first half of a pair without the second, or of a
// second half.
var halfSurrogate = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\`)

// validUnicode: the texts of a request are Unicode: no half of a surrogate pair, no byte
// that is not UTF-8 (R33).
func validUnicode(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		body := x.Request.Body
		r.addObserved(1)
		at := -1
		if !utf8.Valid(body) {
			at = firstInvalid(body)
		}
		if bytes.Contains(body, []byte(`\ud`)) || bytes.Contains(body, []byte(`\uD`)) {
			for _, m := range halfSurrogate.FindAllIndex(body, -1) {
				if m[1]-m[0] == 6 {
					at = m[0]
					break
				}
			}
		}
		if at >= 0 {
			r.addFinding(x, wire.Place{Event: -1, Off: at, Path: pathAt(x.req.Doc, at)}, byProvider(x, "ANT-X10", "R33", "R33"), "a text holds half of a surrogate pair, or bytes that are not UTF-8")
		}
	})
}

// firstInvalid returns where the first bytes stand that are not UTF-8.
func firstInvalid(body []byte) int {
	at := 0
	for at < len(body) {
		r, size := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// pathAt returns the path of the innermost value that covers a byte of the document.
func pathAt(n *tree.Node, off int) string {
	path := ""
	for {
		next := slices.IndexFunc(n.Items(), func(e *tree.Node) bool { return e.Offset() <= off && off < e.Offset()+len(e.Raw()) })
		if next < 0 {
			return strings.TrimPrefix(path, ".")
		}
		if n.Is(tree.Object) {
			path += "." + n.Names()[next]
		} else {
			path = elementPath(path, next)
		}
		n = n.Items()[next]
	}
}
