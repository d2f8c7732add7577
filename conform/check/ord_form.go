package check

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// formRules judge the form of what is sent, whatever its history.
var formRules = map[string]rule{
	"ORD-015/id-form":   idForm,
	"ORD-015/arguments": argumentForm,
	"ORD-015/roles":     knownRoles,
	"ORD-015/parts":     partForm,
	"ORD-015/unicode":   validUnicode,
}

var itemIDForm = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// itemPrefixes are what the ids of input items begin with (O-8).
var itemPrefixes = map[string]string{
	"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fc", "custom_tool_call": "ctc", "custom_tool_call_output": "ctc",
	"compaction": "cmp", "tool_search_call": "tsc", "tool_search_output": "tso", "web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci",
	"image_generation_call": "ig", "mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr", "computer_call": "cu", "shell_call": "sh",
	"shell_call_output": "sh", "apply_patch_call": "apc", "apply_patch_call_output": "apc",
}

func idForm(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			it := &x.req.Items[i]
			tool := it.What == wire.Call || it.What == wire.Result
			if x.Provider == evidence.OpenAI && tool {
				r.addObserved(1)
				if n := len(it.ID); n < 1 || n > 64 {
					r.addFinding(x, it.Place, "O-7", "call_id has %d characters, 1 to 64 are allowed", n)
				}
			}
			itemPrefix(x, r, it)
		}
	})
}

func itemPrefix(x *exchange, r *report, it *wire.Item) {
	prefix := itemPrefixes[it.Type]
	if x.Provider != evidence.OpenAI || prefix == "" || it.ItemID == "" && !it.Node.Get("id").Is(tree.String) {
		return
	}
	r.addObserved(1)
	switch {
	case len(it.ItemID) > 64:
		r.addFinding(x, it.Place, "O-7", "id of a %s item has %d characters, 64 are allowed", it.Type, len(it.ItemID))
	case !itemIDForm.MatchString(it.ItemID):
		r.addFinding(x, it.Place, "O-8", "id %q of a %s item holds other characters than letters, digits, _ and -", cutText(it.ItemID, 64), it.Type)
	case !strings.HasPrefix(it.ItemID, prefix):
		r.addFinding(x, it.Place, "O-8", "id of a %s item begins with %.8q, not with %q", it.Type, it.ItemID, prefix)
	}
}

// roles lists the roles that OpenAI accepts. None means an item that is not a message.
var roles = []string{"", "user", "assistant", "system", "developer"}

func knownRoles(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for _, m := range x.req.Msgs {
			if x.Provider != evidence.OpenAI {
				return
			}
			r.addObserved(1)
			role := m.Node.Get("role").Text()
			isEmpty := role == "" && m.Node.Get("role").Is(tree.String)
			if m.Node.Is(tree.Object) && (isEmpty || !slices.Contains(roles, role)) {
				r.addFinding(x, wire.Place{Event: -1, Off: m.Node.Offset(), Path: m.Path + ".role"}, "O-5", "role %q is none of the provider's", role)
			}
		}
	})
}

// argumentForm: OpenAI takes arguments as a text.
func argumentForm(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if it.Type != "function_call" || x.Provider != evidence.OpenAI {
				continue
			}
			r.addObserved(1)
			if !it.Node.Get("arguments").Is(tree.String) {
				r.addFinding(x, it.Place, "O-5", "arguments of %s is not a string", nameOf(it))
			}
		}
	})
}

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
