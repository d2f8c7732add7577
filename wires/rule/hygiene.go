package rule

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// bodyIsDocument: of a body that is more or less than one JSON document nothing is read. Of bytes that are not UTF-8
// ORD-015/unicode speaks.
func bodyIsDocument(s *Seen, p *Pass) {
	if len(s.Body) == 0 {
		return
	}
	p.Observe()
	if s.Root != nil {
		return
	}
	_, err := tree.Parse(s.Body)
	if err == nil {
		p.ReportAt(wire.Place{Event: -1}, "the body is nested more than %d levels deep, and is not judged",
			wire.MaxDepth).Consequence = string(specs.Degraded)
		return
	}
	what, at := err.Error(), 0
	isControl := func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' }
	switch k := slices.IndexFunc(s.Body, isControl); {
	case bytes.HasPrefix(s.Body, []byte("\xEF\xBB\xBF")):
		what = "it begins with a byte order mark"
	case k >= 0:
		what, at = "a control character that is not escaped", k
	}
	p.ReportAt(wire.Place{Event: -1, Off: at}, "the body is not one JSON document: %s", what)
}

// membersOnce: JSON readers disagree about duplicate keys, so a request must not contain any. Keys inside the
// arguments of tools come from the model and are not judged.
func membersOnce(s *Seen, p *Pass) {
	p.Observe()
	if n, path := doubledMember(s.Root, ""); n != nil {
		p.ReportAt(wire.At(n, path),
			"the member stands twice in its object: readers differ in which they take, and the two are %s and another value", Shorten(n.Raw()))
	}
}

// argumentMembers hold what the model wrote.
var argumentMembers = []string{"input", "args"}

func doubledMember(n *tree.Node, path string) (doubled *tree.Node, at string) {
	if n == nil {
		return nil, ""
	}
	seen := make(map[string]bool, len(n.Names()))
	for i, v := range n.Items() {
		below := path + "[" + strconv.Itoa(i) + "]"
		if n.Is(tree.Object) {
			below = strings.TrimPrefix(path+"."+n.Names()[i], ".")
			if seen[n.Names()[i]] {
				return v, below
			}
			seen[n.Names()[i]] = true
			if v.Is(tree.Object) && path != "" && slices.Contains(argumentMembers, n.Names()[i]) {
				continue
			}
		}
		if doubled, at = doubledMember(v, below); doubled != nil {
			return doubled, at
		}
	}
	return nil, ""
}

// keyNotInURL: every proxy on the way logs addresses.
func keyNotInURL(s *Seen, p *Pass) {
	p.Observe()
	if s.URL.User != nil {
		p.ReportAt(HeaderPlace("url"), "the address holds a name or a password before its host")
	}
	for name := range s.URL.Query() {
		if wires.IsCredentialParameter(name) && name != s.Wire.Credentials.Parameter {
			p.ReportAt(HeaderPlace("url"), "the address holds a key, in its parameter %q", Shorten(name))
		}
	}
}

// credential is a key with the header or the parameter that carries it.
type credential struct{ name, value string }

// headerKeys lists the keys in the headers of a request, that of the wire's own header first.
func headerKeys(s *Seen) (list []credential) {
	for _, name := range append([]string{s.Wire.Credentials.Header}, s.Wire.Credentials.Others...) {
		if v := s.Header.Get(name); v != "" {
			list = append(list, credential{strings.ToLower(name), strings.TrimSpace(strings.TrimPrefix(v, "Bearer "))})
		}
	}
	return list
}

// shortestKey is from how many characters on a value is taken for a key.
const shortestKey = 16

// keyNotInBody: the model reads what stands in the body. A recorder leaves one word in place of every key, so that
// word proves nothing.
func keyNotInBody(s *Seen, p *Pass) {
	for _, c := range headerKeys(s) {
		if len(c.value) < shortestKey || strings.TrimPrefix(c.value, "REDACTED") == "" {
			continue
		}
		p.Observe()
		if at := bytes.Index(s.Body, []byte(c.value)); at >= 0 {
			p.ReportAt(wire.Place{Event: -1, Off: at, Path: s.Root.PathAt(at)},
				"the key of the header %s (%s) stands in the body as well, where the model reads it", c.name,
				Mask(c.value))
		}
	}
}

// credentialsOfProvider: a key that reached another provider is leaked.
func credentialsOfProvider(s *Seen, p *Pass) {
	if len(s.Header) == 0 {
		return
	}
	p.Observe()
	for _, other := range wires.All() {
		for _, name := range other.Credentials.Accounts {
			if other.Host != s.Wire.Host && s.Header.Get(name) != "" {
				p.ReportAt(HeaderPlace(strings.ToLower(name)),
					"the header %s is a credential of %s, and the request goes to %s",
					strings.ToLower(name), other.Vendor, s.Wire.Vendor)
			}
		}
	}
}

// oneCredential: with two keys it is not certain which account is asked and pays.
func oneCredential(s *Seen, p *Pass) {
	list := headerKeys(s)
	if name := s.Wire.Credentials.Parameter; name != "" && s.URL.Query().Get(name) != "" {
		list = append(list, credential{"?" + name + "=", s.URL.Query().Get(name)})
	}
	if len(list) == 0 {
		return
	}
	p.Observe()
	if len(list) > 1 && list[0].value != list[1].value || len(s.Header.Values(list[0].name)) > 1 {
		var names []string
		for _, c := range list {
			names = append(names, c.name)
		}
		p.ReportAt(HeaderPlace(names[0]), "the request carries two credentials: %s", strings.Join(names, " and "))
	}
}
