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
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Redactor removes secrets. It is safe for concurrent use and never changes
// what it is given.
type Redactor struct {
	key []byte

	mu      sync.RWMutex
	known   *matcher
	guessed map[string]int // values taken from headers that nobody listed
	used    bool           // an interaction was redacted
	late    bool           // … and after it a secret was learnt
}

// New returns a redactor whose pseudonyms depend on key, which belongs to the
// user and to no cassette. Without a key a random one serves this process.
func New(key []byte) *Redactor {
	r := &Redactor{key: bytes.Clone(key), known: newMatcher(), guessed: map[string]int{}}
	if len(key) == 0 {
		r.key = make([]byte, 32)
		_, _ = rand.Read(r.key) // never fails, by its own contract
	}
	return r
}

// The rules, by the names a cassette's meta lists them under.
const (
	ruleHeaders     = "header-allowlist"     // header values not known to be harmless
	ruleCredentials = "credential-headers"   //nolint:gosec // a name: authorization, API keys, account ids
	ruleCookies     = "cookies"              // removed with their names
	ruleQuery       = "query-credentials"    // ?key=, ?access_token= and user info
	ruleBody        = "body-credentials"     // credentials for tools, MCP servers and gateways, and in forms
	ruleAnswers     = "response-credentials" // what token endpoints hand out
	ruleReflections = "reflected-secrets"    // any of the above, wherever it appears
	ruleFragments   = "reflected-in-deltas"  // … even in pieces
)

// Rules names what Interaction does, for Meta.Redaction.
func (r *Redactor) Rules() []string {
	return []string{ruleHeaders, ruleCredentials, ruleCookies, ruleQuery, ruleBody, ruleAnswers, ruleReflections, ruleFragments}
}

const (
	// minSecret is the shortest secret that is looked for in any text. Every
	// form of it has room for the mark of a pseudonym.
	minSecret = 2 * len(mark)
	// minWord is the shortest that is looked for at all: as a whole word, and
	// only when it has letters and digits. Others are dummies, and words that
	// happen to be dummies would corrupt bodies.
	minWord = 8
)

// Learn makes these secrets to be replaced wherever they appear. One below 16 bytes
// is replaced as a whole word, if it has letters and digits; below 8 bytes it is
// replaced only where a credential stands, in headers, parameters and fields.
func (r *Redactor) Learn(secrets ...string) {
	r.mu.RLock()
	fresh := r.newSecrets(secrets)
	r.mu.RUnlock()
	if len(fresh) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh = r.newSecrets(fresh); len(fresh) > 0 {
		r.known = r.known.withSecrets(fresh...)
		r.late = r.late || r.used
	}
}

// newSecrets returns the secrets that are worth learning and not known; mu is held.
func (r *Redactor) newSecrets(secrets []string) (out []string) {
	for _, s := range secrets {
		if isLearnable(s) && !r.known.knows(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func isLearnable(secret string) bool {
	if isPseudonym(secret) || strings.TrimSpace(secret) != secret {
		return false
	}
	return len(secret) >= minSecret || len(secret) >= minWord && hasLettersAndDigits(secret)
}

// Late reports whether a secret was learnt after an interaction was redacted,
// which may hold it: then all interactions of this process should go through
// Interaction once more. What they hold of pseudonyms does not change.
func (r *Redactor) Late() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.late
}

// Text returns s without the secrets known so far: for messages to people.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	m := r.known
	r.mu.RUnlock()
	return r.redactText(s, m)
}

// Interaction returns a copy of in without secrets. Its bodies are as long; one
// that holds no secret is not copied, so treat them as shared. All else shares
// no memory with in.
func (r *Redactor) Interaction(in cassette.Interaction) cassette.Interaction {
	asked, answered := requestCredentials(in.Request), responseCredentials(in.Response)
	m := r.learnInteraction(in, asked, answered)
	in.Request = r.redactRequest(in.Request, asked, m)
	in.Response.Body = r.redactBody(in.Response.Body, answered, m)
	in.Response.Header = r.redactHeader(in.Response.Header, m)
	in.Response.Trailer = r.redactHeader(in.Response.Trailer, m)
	in.Timeline = append([]cassette.Chunk(nil), in.Timeline...)
	return in
}

// Request is Interaction for a request alone: a player sees an incoming request
// as the recorder would have stored it, before it looks for its like.
func (r *Redactor) Request(in cassette.Request) cassette.Request {
	asked := requestCredentials(in)
	return r.redactRequest(in, asked, r.learnRequest(in, asked))
}

func (r *Redactor) redactRequest(in cassette.Request, credentials []span, m *matcher) cassette.Request {
	in.URL = r.redactURL(in.URL, m)
	in.Body = r.redactBody(in.Body, credentials, m)
	in.Header = r.redactHeader(in.Header, m)
	return in
}

// learnInteraction finds the secrets of an interaction and returns the matcher for them
// and all the ones before. What a server sets as cookies changes with every
// reply and comes back only as cookies: it is looked for in its own interaction
// and forgotten, until a client sends it. The spans are of the bodies.
func (r *Redactor) learnInteraction(in cassette.Interaction, asked, answered []span) *matcher {
	r.learnRequest(in.Request, asked)
	r.Learn(responseSecrets(in.Response, answered)...)
	r.mu.Lock()
	m := r.known
	r.used = true
	r.mu.Unlock()
	for _, secret := range cookieValues(in.Response.Header) {
		if len(secret) >= minSecret && isLearnable(secret) && !m.knows(secret) {
			m = m.withSecrets(secret)
		}
	}
	return m
}

// learnRequest finds the secrets of a request and returns the matcher for them
// and all the ones before.
func (r *Redactor) learnRequest(in cassette.Request, credentials []span) *matcher {
	r.Learn(requestSecrets(in, credentials)...)
	for name, value := range likelyKeys(in.Header) {
		r.learnGuess(name, value)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.known
}

// maxGuesses is how many values of one unlisted header are taken for keys. A
// header with more holds ids.
const maxGuesses = 8

func (r *Redactor) learnGuess(name, value string) {
	r.mu.Lock()
	known := r.known.knows(value) || r.guessed[name] >= maxGuesses
	if !known {
		r.guessed[name]++
	}
	r.mu.Unlock()
	if !known {
		r.Learn(value)
	}
}

func requestSecrets(in cassette.Request, credentials []span) []string {
	out := append(headerSecrets(in.Header), querySecrets(in.URL)...)
	for _, cookie := range cookieValues(in.Header) {
		if len(cookie) >= minSecret {
			out = append(out, cookie)
		}
	}
	return append(out, secretsIn(in.Body, credentials)...)
}

func responseSecrets(in cassette.Response, credentials []span) []string {
	out := append(answerSecrets(in.Header), answerSecrets(in.Trailer)...)
	return append(out, secretsIn(in.Body, credentials)...)
}
