// Package gate looks at an interaction last, before it is saved, and refuses
// what still holds a secret. It shares no code and no list with package redact,
// so that a hole in the one is not a hole in the other (DESIGN §4).
//
// It knows secrets in two ways: the exact values this process has seen in
// credential headers and parameters, looked for in the text as it is and as it
// reads when URL, JSON, base64 and gzip encodings are undone and its pieces are
// joined; and a short list of the literal prefixes of well-known keys.
package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Redactor is what comes before the gate.
type Redactor interface {
	Interaction(cassette.Interaction) cassette.Interaction
}

// Gate remembers the secrets it has seen. It is safe for concurrent use.
type Gate struct {
	exempt map[string]bool

	mu      sync.RWMutex
	secrets *secretSet
	late    bool        // a secret was learnt after …
	checked atomic.Bool // … an interaction was looked through
}

// New returns a gate. Each exempt is the digest, as a Hit prints it, of a text
// that only looks like a key; no exemption covers an exact secret.
func New(exempt ...string) *Gate {
	g := &Gate{exempt: map[string]bool{}, secrets: newSecretSet(nil)}
	for _, d := range exempt {
		g.exempt[d] = true
	}
	return g
}

// Hit says where a secret was found, and never what it is.
type Hit struct {
	// Where is a part of the interaction: "URL", "request body" and so on.
	Where string
	// What says which kind of secret it is.
	What string
	// Digest stands for the text that was found: what New takes as exempt. It
	// is empty for an exact secret.
	Digest string
}

// Error names the place, the kind and, if there is one, the digest.
func (h *Hit) Error() string {
	if h.Digest == "" {
		return fmt.Sprintf("the %s holds %s", h.Where, h.What)
	}
	return fmt.Sprintf("the %s holds what looks like %s; if it is none, say --exempt %s", h.Where, h.What, h.Digest)
}

// Watch returns next with the gate listening: what goes into it is searched for
// credentials, so that Check knows their values.
func (g *Gate) Watch(next Redactor) Redactor { return watched{g, next} }

type watched struct {
	gate *Gate
	next Redactor
}

func (w watched) Interaction(in cassette.Interaction) cassette.Interaction {
	w.gate.learnFrom(in)
	return w.next.Interaction(in)
}

// Learn adds secrets to look for, for example the values of environment
// variables. One below 12 bytes is looked for as a whole word and must hold a
// digit; below 8 bytes it is ignored.
func (g *Gate) Learn(secrets ...string) {
	g.mu.RLock()
	fresh := g.secrets.unknownOf(secrets)
	g.mu.RUnlock()
	if len(fresh) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.secrets = g.secrets.withSecrets(fresh)
	g.late = g.late || g.checked.Load()
}

// Late reports whether a secret was learnt after an interaction was checked,
// which may hold it: then all interactions of this process should be checked
// once more.
func (g *Gate) Late() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.late
}

// Check returns nil or a *Hit. It is what a recorder asks before it saves.
func (g *Gate) Check(in cassette.Interaction) error {
	g.mu.RLock()
	s := &search{secrets: g.secrets, exempt: g.exempt}
	g.checked.Store(true) // while Learn waits
	g.mu.RUnlock()
	for _, h := range []http.Header{in.Request.Header, in.Response.Header, in.Response.Trailer} {
		for name := range h {
			if strings.Contains(strings.ToLower(name), "cookie") {
				return &Hit{Where: "header", What: "a cookie"}
			}
		}
	}
	for _, h := range []http.Header{in.Request.Header, in.Response.Header, in.Response.Trailer} {
		for name := range h {
			if s.secrets.inName(name) {
				return &Hit{Where: "name of a header", What: "a credential this process has used"}
			}
		}
	}
	for part := range interactionParts(in) {
		if hit := s.searchEverywhere(part.text); hit != nil {
			hit.Where = part.where + part.name
			return hit
		}
	}
	return nil
}

// textDigest names a text without giving it away.
func textDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// part is a text of an interaction and what people call it: with the name of
// the header, when it is one.
type part struct {
	where, name string
	text        []byte
}

// interactionParts yields the texts of an interaction. A text is good until the next one.
func interactionParts(in cassette.Interaction) iter.Seq[part] {
	return func(yield func(part) bool) {
		var buf []byte
		say := func(where, name, text string) bool {
			buf = append(buf[:0], text...)
			return yield(part{where, name, buf})
		}
		_ = say("method", "", in.Request.Method) && say("URL", "", in.Request.URL) &&
			yield(part{"request body", "", in.Request.Body}) && yield(part{"response body", "", in.Response.Body}) &&
			headerParts("request header ", in.Request.Header, say) &&
			headerParts("response header ", in.Response.Header, say) &&
			headerParts("trailer ", in.Response.Trailer, say)
	}
}

// headerParts says the names, which are not quoted when they are the problem,
// and the values.
func headerParts(where string, h http.Header, say func(where, name, text string) bool) bool {
	var names []byte
	for name := range h {
		names = append(append(names, name...), '\n')
	}
	if !say(where, "names", string(names)) {
		return false
	}
	for name, values := range h {
		for _, v := range values {
			if !say(where, name, v) {
				return false
			}
		}
	}
	return true
}
