// Package redact takes credentials out of interactions before they are kept.
//
// It works by structure, not by guessing: which headers may stay, which query
// and body fields hold credentials, and where a secret that this process has
// seen comes back (DESIGN §4). A secret is replaced by a keyed pseudonym of the
// same length, so offsets and timelines stay true and the same secret is the
// same token everywhere. Package gate, which shares no code with this one,
// has the last word before anything is saved.
package redact

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Redactor removes secrets. It is safe for concurrent use and never changes
// what it is given.
type Redactor struct {
	key []byte

	mu    sync.RWMutex
	known *matcher
}

// New returns a redactor whose pseudonyms depend on key, which belongs to the
// user and to no cassette. Without a key a random one serves this process.
func New(key []byte) *Redactor {
	r := &Redactor{key: bytes.Clone(key), known: newMatcher()}
	if len(key) == 0 {
		r.key = make([]byte, 32)
		_, _ = rand.Read(r.key) // never fails, by its own contract
	}
	return r
}

// The rules, by the names a cassette's meta lists them under.
const (
	ruleHeaders     = "header-allowlist"    // header values not known to be harmless
	ruleCredentials = "credential-headers"  //nolint:gosec // a name: authorization, API keys, account ids
	ruleCookies     = "cookies"             // removed with their names
	ruleQuery       = "query-credentials"   // ?key=, ?access_token= and user info
	ruleBody        = "body-credentials"    // credentials for tools and MCP servers
	ruleReflections = "reflected-secrets"   // any of the above, wherever it appears
	ruleFragments   = "reflected-in-deltas" // … even in pieces
)

// Rules names what Interaction does, for Meta.Redaction.
func (r *Redactor) Rules() []string {
	return []string{ruleHeaders, ruleCredentials, ruleCookies, ruleQuery, ruleBody, ruleReflections, ruleFragments}
}

// minSecret is the shortest secret that is looked for in other places. Shorter
// ones are dummies, and words that happen to be dummies would corrupt bodies;
// the gate refuses what such a secret comes back in. Every form of a longer one
// has room for the mark of a pseudonym.
const minSecret = 2 * len(mark)

// Learn makes secret one to be replaced wherever it appears. Shorter ones than
// 16 bytes are ignored.
func (r *Redactor) Learn(secret string) {
	if len(secret) < minSecret || isPseudonym(secret) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known.has(secret) {
		r.known = r.known.with(secret)
	}
}

// Interaction returns a copy of in without secrets. The copy shares no memory
// with in, and its bodies are as long.
func (r *Redactor) Interaction(in cassette.Interaction) cassette.Interaction {
	m := r.learn(in)
	in.Request = r.request(in.Request, m)
	in.Response.Body = r.body(in.Response.Body, m)
	in.Response.Header = r.header(in.Response.Header, m)
	in.Response.Trailer = r.header(in.Response.Trailer, m)
	in.Timeline = append([]cassette.Chunk(nil), in.Timeline...)
	return in
}

// Request is Interaction for a request alone: a player sees an incoming request
// as the recorder would have stored it, before it looks for its like.
func (r *Redactor) Request(in cassette.Request) cassette.Request {
	return r.request(in, r.learn(cassette.Interaction{Request: in}))
}

func (r *Redactor) request(in cassette.Request, m *matcher) cassette.Request {
	in.URL = r.url(in.URL, m)
	in.Header = r.header(in.Header, m)
	in.Body = r.credentials(r.body(in.Body, m))
	return in
}

// learn finds the secrets of an interaction and returns the matcher for them
// and all the ones before. Cookies change with every reply and come back only
// as cookies: they are looked for in their own interaction and forgotten.
func (r *Redactor) learn(in cassette.Interaction) *matcher {
	for _, h := range []http.Header{in.Request.Header, in.Response.Header} {
		for _, secret := range headerSecrets(h) {
			r.Learn(secret)
		}
	}
	for _, secret := range querySecrets(in.Request.URL) {
		r.Learn(secret)
	}
	for _, s := range credentialSpans(in.Request.Body) {
		r.Learn(token(unquoted(in.Request.Body[s.start:s.end])))
	}
	r.mu.RLock()
	m := r.known
	r.mu.RUnlock()
	for _, h := range []http.Header{in.Request.Header, in.Response.Header} {
		for _, secret := range cookieValues(h) {
			if len(secret) >= minSecret && !m.has(secret) {
				m = m.with(secret)
			}
		}
	}
	return m
}
