package redact

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Learn adds secrets that are replaced wherever they appear. A secret below 16
// bytes is replaced as a whole word, if it has letters and digits or cannot be guessed. Below 8
// bytes it is replaced only in headers, parameters and fields that hold credentials. Learn
// reports whether any of them was new.
func (r *Redactor) Learn(secrets ...string) (isNew bool) {
	r.mu.RLock()
	fresh := r.newSecrets(secrets)
	r.mu.RUnlock()
	if len(fresh) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh = r.newSecrets(fresh); len(fresh) > 0 {
		r.known = r.known.withSecrets(fresh...)
		r.late = r.uses
	}
	return len(fresh) > 0
}

// newSecrets returns the secrets that are worth learning and not known; mu is
// held.
func (r *Redactor) newSecrets(secrets []string) (out []string) {
	seen := make(map[string]bool, len(secrets))
	for _, s := range secrets {
		if !seen[s] && isLearnable(s) && !r.known.knows(s) {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}

// isLearnable reports whether a secret can be looked for without finding ordinary words.
func isLearnable(secret string) bool {
	if values.IsPseudonym(secret) || strings.TrimSpace(secret) != secret {
		return false
	}
	return len(secret) >= values.MinSecret || len(secret) >= values.MinWord &&
		(values.HasLettersAndDigits(secret) || values.GuessBits(secret) >= values.LeastIssuedBits ||
			values.IsRandomLetters(secret))
}

// Late returns how many interactions were redacted before a secret became known that they
// may contain, 0 for none. These should go through Interaction once more; pseudonyms in
// them do not change.
func (r *Redactor) Late() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.late
}

// learnInteraction finds the secrets of an interaction and returns the matcher
// for them and all earlier ones. A server's cookies change with every reply and
// come back only as cookies: they are replaced in their own interaction and then
// forgotten, until a client sends them.
func (r *Redactor) learnInteraction(in cassette.Interaction, asked, answered bodyFindings) *matcher {
	r.notePublic(append(answered.Public, structure.PublicInHeader(in.Response.Header)...))
	r.learnRequest(in.Request, asked)
	r.learnFound(r.responseSecrets(in.Response, answered.Credentials))
	r.Learn(append(r.own.secrets("", r.own.withoutKept(in.Response.Header)),
		structure.SecretsIn(in.Response.Body, answered.own)...)...)
	r.mu.Lock()
	m := r.known
	r.uses++
	r.mu.Unlock()
	for _, secret := range structure.CookieValues(in.Response.Header) {
		if len(secret) >= values.MinSecret && isLearnable(secret) && !m.knows(secret) {
			m = m.withSecrets(secret)
		}
	}
	return m
}

// learnRequest finds the secrets of a request and returns the matcher for them
// and all earlier ones.
func (r *Redactor) learnRequest(in cassette.Request, asked bodyFindings) *matcher {
	r.notePublic(append(append(asked.Public, structure.PublicInHeader(in.Header)...), structure.PublicInURL(in.URL)...))
	header := r.own.withoutKept(in.Header)
	r.learnFound(r.requestSecrets(in, header, asked.Credentials))
	r.Learn(append(r.own.secrets(in.URL, header), structure.SecretsIn(in.Body, asked.own)...)...)
	for name, value := range structure.LikelyKeys(header) {
		r.learnGuess(name, value)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.known
}

// notePublic remembers public words.
func (r *Redactor) notePublic(words []string) {
	if len(words) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.public.add(words)
}

// learnFound learns what stood in credential positions, if finding it again could mean
// the secret and nothing else.
func (r *Redactor) learnFound(secrets []string) {
	r.mu.RLock()
	worth := secrets[:0]
	for _, s := range secrets {
		if values.HasEntropy(s) && !r.public.has(s, true) && !r.own.isKeptSecret(s) {
			worth = append(worth, s)
		}
	}
	r.mu.RUnlock()
	r.Learn(worth...)
}

// maxGuesses is how many values of one unlisted header are treated as keys. A
// header with more values holds ids.
const maxGuesses = 8

// learnGuess learns the value of an unlisted header that looks like a key.
func (r *Redactor) learnGuess(name, value string) {
	r.mu.Lock()
	known := r.known.knows(value) || r.guessed[name] >= maxGuesses || r.public.has(value, false)
	if !known {
		r.guessed[name]++
	}
	r.mu.Unlock()
	if !known {
		r.Learn(value)
	}
}

// requestSecrets returns the secrets of a request, given where they stand in its body.
func (r *Redactor) requestSecrets(in cassette.Request, header http.Header, credentials []lex.Span) []string {
	out := append(structure.HeaderSecrets(header), r.own.querySecrets(in.URL)...)
	for _, cookie := range structure.CookieValues(in.Header) {
		if len(cookie) >= values.MinSecret {
			out = append(out, cookie)
		}
	}
	return append(out, structure.SecretsIn(in.Body, credentials)...)
}

// responseSecrets is [Redactor.requestSecrets] for a response.
func (r *Redactor) responseSecrets(in cassette.Response, credentials []lex.Span) []string {
	header := r.own.withoutKept(in.Header)
	out := append(r.own.answerSecrets(header), r.own.answerSecrets(in.Trailer)...)
	return append(out, structure.SecretsIn(in.Body, credentials)...)
}
