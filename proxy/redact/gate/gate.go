// Package gate checks each interaction before it is saved and refuses one that
// still contains a secret. It shares no code and no list with package redact, so
// that a mistake in one is not a mistake in the other.
//
// Start with [New]. [Gate.Watch] wraps the redactor so that the gate sees the
// credentials first; [Gate.Check] is what a recorder calls before it saves:
//
//	g := gate.New()
//	redactor := g.Watch(redact.New(key))
//	if err := g.Check(redactor.Interaction(in)); err != nil {
//		// err is a *gate.Hit: where the secret is, and of which kind
//	}
//
// The gate knows secrets in two ways. It searches for the exact values that this
// process has seen in credential headers and parameters: in the text as it is,
// with URL, JSON, base64 and gzip encodings undone, and across the pieces of a
// stream. And it searches for the prefixes of well-known keys. It never quotes a
// secret.
package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Redactor runs before the gate.
type Redactor interface {
	Interaction(cassette.Interaction) cassette.Interaction
}

// Gate remembers the secrets it has seen. It is safe for concurrent use.
type Gate struct {
	exempt   map[string]bool
	keeps    func(name, value string) bool // nil: the user keeps nothing
	searched *searchedTexts

	mu      sync.RWMutex
	secrets *secretSet
	checks  atomic.Int64 // how many interactions were looked through
	late    int64        // … when a secret was last learnt
}

// New returns a gate. Each exempt is the digest, as a Hit prints it, of a text
// that only looks like a key. No exemption covers an exact secret.
func New(exempt ...string) *Gate {
	g := &Gate{
		exempt: map[string]bool{}, secrets: newSecretSet(),
		searched: &searchedTexts{seed: maphash.MakeSeed(), passed: map[uint64]struct{}{}},
	}
	for _, d := range exempt {
		g.exempt[d] = true
	}
	return g
}

// Keep sets what tells that a value under a name is no credential, by the user's rules.
// Such a value is not remembered. Call it before the first interaction.
func (g *Gate) Keep(isKept func(name, value string) bool) { g.keeps = isKept }

// Hit says where a secret was found, and never what it is.
type Hit struct {
	// Where is a part of the interaction: "URL", "request body" and so on.
	Where string
	// What is the kind of secret.
	What string
	// Digest identifies the text that was found: what New accepts as exempt. It
	// is empty for an exact secret.
	Digest string
	// secret returns the text that was found. It is a function so that nothing prints it.
	secret func() string
}

func newHit(what string, secret []byte) *Hit {
	text := string(secret)
	return &Hit{What: what, Digest: textDigest(secret), secret: func() string { return text }}
}

// Teach passes the text that was found to learn, the method of a redactor: redacting
// again takes it out. It reports what learn does: whether there was anything to learn.
// Quotes around it, which some rules find with it, can be escaped in ways that the redactor
// does not know.
func (h *Hit) Teach(learn func(...string) bool) bool {
	return h.secret != nil && learn(strings.Trim(h.secret(), "\"'`"))
}

// Error names the place, the kind and, if there is one, the digest.
func (h *Hit) Error() string {
	if h.Digest == "" {
		return fmt.Sprintf("the %s holds %s", h.Where, h.What)
	}
	return fmt.Sprintf("the %s holds what looks like %s; if it is none, say --exempt %s", h.Where, h.What, h.Digest)
}

// Watch returns a redactor that shows each interaction to the gate before next
// redacts it, so that Check knows the values of its credentials. The gate learns them after
// next has: where Check knows a secret that an earlier redaction missed, redacting again finds it.
func (g *Gate) Watch(next Redactor) Redactor { return watched{g, next} }

type watched struct {
	gate *Gate
	next Redactor
}

func (w watched) Interaction(in cassette.Interaction) cassette.Interaction {
	return w.redact(in, w.next.Interaction)
}

// Overwrite is Interaction with the Overwrite of next, if it has one.
func (w watched) Overwrite(in cassette.Interaction) cassette.Interaction {
	next, ok := w.next.(interface {
		Overwrite(cassette.Interaction) cassette.Interaction
	})
	if !ok {
		return w.Interaction(in)
	}
	return w.redact(in, next.Overwrite)
}

func (w watched) redact(in cassette.Interaction,
	next func(cassette.Interaction) cassette.Interaction) cassette.Interaction {
	found := w.gate.credentialsOf(in) // before next, which may overwrite them
	defer w.gate.Learn(found...)
	return next(in)
}

// Late is the Late of next, if it has one.
func (w watched) Late() int {
	if next, ok := w.next.(interface{ Late() int }); ok {
		return next.Late()
	}
	return 0
}

// MaskRequest takes out of a redacted request what looks like a key, by teaching redactor
// what it is.
func (g *Gate) MaskRequest(in cassette.Request, redactor interface {
	Learn(secrets ...string) (isNew bool)
	Request(cassette.Request) cassette.Request
}) cassette.Request {
	out := redactor.Request(in)
	for range mostMasked {
		var hit *Hit
		if !errors.As(g.Check(cassette.Interaction{Request: out}), &hit) || !hit.Teach(redactor.Learn) {
			break
		}
		out = redactor.Request(in)
	}
	return out
}

// mostMasked is how many new keys of a request are masked.
const mostMasked = 64

// Learn adds secrets to search for, for example the values of environment
// variables. A secret below 12 bytes is searched for as a whole word and must
// contain a digit; below 8 bytes it is ignored.
func (g *Gate) Learn(secrets ...string) {
	g.mu.RLock()
	isKnown := !slices.ContainsFunc(secrets, g.secrets.lacks)
	g.mu.RUnlock()
	if isKnown {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.secrets.add(secrets...) {
		g.late = g.checks.Load()
		g.searched.forget()
	}
}

// Late returns how many interactions were checked before a secret became known that they
// may contain, 0 for none. These should be checked once more.
func (g *Gate) Late() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return int(g.late)
}

// Check returns nil or a *Hit. A recorder calls it before it saves.
func (g *Gate) Check(in cassette.Interaction) error {
	g.mu.RLock()
	defer g.mu.RUnlock() // Learn changes the set
	s := &search{secrets: g.secrets, exempt: g.exempt}
	g.checks.Add(1)
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
	unknown := []uint64(nil)
	in.Request.Body, unknown = g.searched.shorten(in.Request.Body)
	for part := range interactionParts(in) {
		if hit := s.searchEverywhere(part.text); hit != nil {
			hit.Where = part.where + part.name
			return hit
		}
	}
	g.searched.remember(unknown)
	return nil
}

// textDigest identifies a text without revealing it.
func textDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// IsDigest reports whether a text has the form of [Hit.Digest].
func IsDigest(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 8
}

// part is a text of an interaction, what people call it and, for a header, its
// name.
type part struct {
	where, name string
	text        []byte
}

// interactionParts yields the texts of an interaction. A text is valid until the
// next one.
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

// headerParts yields the names, which a Hit does not quote, and the values.
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
