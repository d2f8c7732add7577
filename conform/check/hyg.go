package check

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// hygieneRules judge what holds for every request on its own: its bytes, and where its
// key stands.
var hygieneRules = map[string]rule{
	"HYG-002/member-once":  membersOnce,
	"HYG-003/one-document": bodyIsDocument,
	"HYG-004/key-in-url":   keyNotInURL,
	"HYG-004/key-in-body":  keyNotInBody,
	"HYG-005/own-headers":  credentialsOfProvider,
	"HYG-006/one-key":      oneCredential,
}

// membersOnce: of two members with one name a reader takes the first, the last or
// neither. What the model wrote is its own.
func membersOnce(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		r.addObserved(1)
		if n, path := doubledMember(x.req.Doc, ""); n != nil {
			r.addFinding(x, wire.At(n, path), "", "the member stands twice in its object: readers differ in which they take, and the two are %s and another value", cutText(n.Raw(), 3*window))
		}
	})
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

// bodyIsDocument: a body is one JSON document and nothing else. Of bytes that are not
// UTF-8 and halves of characters in its texts ORD-015/unicode speaks.
func bodyIsDocument(s *Trace, r *report) {
	for _, x := range s.x {
		if x.req.Op != wire.Generate || len(x.Request.Body) == 0 {
			continue
		}
		r.addObserved(1)
		if what, at := documentFault(x); what != "" {
			r.addFinding(x, wire.Place{Event: -1, Off: at}, "", "the body is not one JSON document: %s", what)
		}
	}
}

// documentFault says what is wrong with a body and from which byte on, "" for nothing.
func documentFault(x *exchange) (what string, at int) {
	body := x.Request.Body
	if bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")) {
		return "it begins with a byte order mark", 0
	}
	if x.req.Doc != nil {
		return "", 0
	}
	if at = slices.IndexFunc(body, func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' }); at >= 0 {
		return "a control character that is not escaped", at
	}
	_, err := tree.Parse(body)
	if err == nil {
		return "", 0
	}
	return err.Error(), 0
}

// credential is one header with a key.
type credential struct{ header, value string }

func (x *exchange) credentials() (list []credential) {
	for _, name := range append([]string{x.wire.Credentials.Header}, x.wire.Credentials.Others...) {
		if v := x.Request.Header.Get(name); v != "" {
			list = append(list, credential{name, strings.TrimSpace(strings.TrimPrefix(v, "Bearer "))})
		}
	}
	return list
}

// shortestKey is from how many characters on a value is taken for a key.
const shortestKey = 16

// keyParameters are parameters of a URL that carry keys.
var keyParameters = []string{"key", "api_key", "apikey", "api-key", "access_token", "token", "auth"}

// keyNotInURL: addresses stand in logs of every proxy. Gemini documents the parameter key.
func keyNotInURL(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		u, err := url.Parse(x.Request.URL)
		if err != nil {
			return
		}
		r.addObserved(1)
		if u.User != nil {
			r.addFinding(x, wire.At(nil, "url"), "", "the address holds a name or a password before its host")
		}
		for name := range u.Query() {
			if slices.Contains(keyParameters, strings.ToLower(name)) && name != x.wire.Credentials.Parameter {
				r.addFinding(x, wire.At(nil, "url"), "", "the address holds a key, in its parameter %q", cutText(name, 60))
			}
		}
	})
}

// keyNotInBody: the key of the request stands in its header and nowhere else. A recorder
// leaves the same word in both places.
func keyNotInBody(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for _, c := range x.credentials() {
			if len(c.value) < shortestKey || strings.TrimPrefix(c.value, "REDACTED") == "" {
				continue
			}
			r.addObserved(1)
			if at := bytes.Index(x.Request.Body, []byte(c.value)); at >= 0 {
				r.addFinding(x, wire.Place{Event: -1, Off: at, Path: x.req.Doc.PathAt(at)}, "", "the key of the header %s (%s) stands in the body as well, where the model reads it", strings.ToLower(c.header), maskToken(c.value))
			}
		}
	})
}

// credentialsOfProvider: a provider gets its own credentials, at its own host.
func credentialsOfProvider(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if !x.isPublicAPI() || len(x.Request.Header) == 0 {
			return
		}
		r.addObserved(1)
		for _, other := range wires.All() {
			for _, name := range other.Credentials.Accounts {
				if other.Host != x.wire.Host && x.Request.Header.Get(name) != "" {
					r.addFinding(x, wire.At(nil, strings.ToLower(name)), "", "the header %s is a credential of %s, and the request goes to %s", strings.ToLower(name), other.Vendor, x.wire.Vendor)
				}
			}
		}
	})
}

// oneCredential: with two keys it is not certain which account is asked and pays.
func oneCredential(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		list := x.credentials()
		if name := x.wire.Credentials.Parameter; name != "" {
			if u, err := url.Parse(x.Request.URL); err == nil && u.Query().Get(name) != "" {
				list = append(list, credential{"?" + name + "=", u.Query().Get(name)})
			}
		}
		if len(list) == 0 || !x.isPublicAPI() {
			return
		}
		r.addObserved(1)
		if len(list) > 1 && list[0].value != list[1].value || len(list) > 0 && len(x.Request.Header.Values(list[0].header)) > 1 {
			var names []string
			for _, c := range list {
				names = append(names, strings.ToLower(c.header))
			}
			r.addFinding(x, wire.At(nil, names[0]), "", "the request carries two credentials: %s", strings.Join(names, " and "))
		}
	})
}
