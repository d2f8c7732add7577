// Package redact removes credentials from interactions before they are kept.
//
// Start with [New]; [Redactor.Interaction] returns a copy without secrets:
//
//	r := redact.New(key) // the user's key, of no cassette
//	r.Learn(os.Getenv("ANTHROPIC_API_KEY"))
//	clean := r.Interaction(interaction)
//
// It works by structure and does not guess: a list of headers that may stay, the
// query parameters and body fields that hold credentials, and every place where
// a secret that this process has seen comes back. Each secret is replaced by a
// pseudonym of the same length, derived from it with the key. So offsets and
// timelines stay true, redacting twice changes nothing, and the same secret has
// the same pseudonym everywhere.
//
// Package gate checks the result before it is saved. It shares no code with this
// package.
package redact

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Redactor removes secrets. It is safe for concurrent use. Only [Redactor.Overwrite]
// changes its argument.
type Redactor struct {
	key []byte

	mu      sync.RWMutex
	known   *matcher
	guessed map[string]int // values of unlisted headers that were taken for keys
	public  publicWords
	own     *Own // nil: the user has no rules
	uses    int  // how many interactions were redacted
	late    int  // … when a secret was last learnt
}

// New returns a redactor whose pseudonyms depend on key. The key belongs to the
// user and is in no cassette. Without a key, a random one serves this process.
func New(key []byte) *Redactor {
	r := &Redactor{key: bytes.Clone(key), known: newMatcher(), guessed: map[string]int{}, public: publicWords{}}
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
	// minWord is the shortest that is looked for at all. It is replaced as a whole word, and only
	// if it has letters and digits or cannot be guessed: replacing an ordinary word would corrupt
	// bodies.
	minWord = 8
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

func isLearnable(secret string) bool {
	if isPseudonym(secret) || strings.TrimSpace(secret) != secret {
		return false
	}
	return len(secret) >= minSecret || len(secret) >= minWord && (hasLettersAndDigits(secret) || guessBits(secret) >= leastIssuedBits || isRandomLetters(secret))
}

// Late returns how many interactions were redacted before a secret became known that they
// may contain, 0 for none. These should go through Interaction once more; pseudonyms in
// them do not change.
func (r *Redactor) Late() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.late
}

// Text returns s without the secrets known so far, for messages to people.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	m := r.known
	r.mu.RUnlock()
	return r.redactText(s, m)
}

// Interaction returns a copy of in without secrets. Bodies keep their length; a
// body without secrets is not copied, so treat bodies as shared. Everything else
// shares no memory with in. Redacted names the bodies that changed.
func (r *Redactor) Interaction(in cassette.Interaction) cassette.Interaction {
	return r.redactInteraction(in, false)
}

// Overwrite is Interaction for bodies that belong to the caller alone: secrets in them are
// replaced where they stand, so that a huge body is in memory once.
func (r *Redactor) Overwrite(in cassette.Interaction) cassette.Interaction {
	return r.redactInteraction(in, true)
}

func (r *Redactor) redactInteraction(in cassette.Interaction, isOwned bool) cassette.Interaction {
	asked := r.requestFindings(in.Request)
	answered := responseFindings(in.Response, issuesSecrets(in.Request))
	answered = r.own.addTo(answered, in.Response.Body)
	askedHere := r.lookIntoWords(in.Request.Header, in.Request.Body, &asked)
	answeredHere := r.lookIntoWords(in.Response.Header, in.Response.Body, &answered)
	m := r.learnInteraction(in, asked, answered)
	forRequest := m.withSecrets(askedHere...)
	forResponse := forRequest.withSecrets(answeredHere...)
	out := in
	request, response := draft{b: in.Request.Body, own: isOwned}, draft{b: in.Response.Body, own: isOwned}
	r.redactBody(&request, asked.credentials, forRequest)
	r.redactBody(&response, answered.credentials, forResponse)
	out.Request = r.redactOutside(in.Request, m)
	out.Request.Body, out.Response.Body = request.b, response.b
	out.Response.Header = r.redactHeader(in.Response.Header, m)
	out.Response.Trailer = r.redactHeader(in.Response.Trailer, m)
	out.Timeline = append([]cassette.Chunk(nil), in.Timeline...)
	out.Redacted = changedBodies(in.Redacted, request.changed, response.changed)
	return out
}

// changedBodies names the bodies in which secrets were replaced, now or, as before says,
// earlier.
func changedBodies(before string, request, response bool) string {
	request = request || strings.Contains(before, cassette.RedactedRequest)
	response = response || strings.Contains(before, cassette.RedactedResponse)
	switch {
	case request && response:
		return cassette.RedactedRequest + " " + cassette.RedactedResponse
	case request:
		return cassette.RedactedRequest
	case response:
		return cassette.RedactedResponse
	}
	return ""
}

// Request is Interaction for a request alone: a replayer sees an incoming
// request as the recorder would have stored it.
func (r *Redactor) Request(in cassette.Request) cassette.Request {
	asked := r.requestFindings(in)
	here := r.lookIntoWords(in.Header, in.Body, &asked)
	m, body := r.learnRequest(in, asked), draft{b: in.Body}
	r.redactBody(&body, asked.credentials, m.withSecrets(here...))
	in = r.redactOutside(in, m)
	in.Body = body.b
	return in
}

func (r *Redactor) requestFindings(in cassette.Request) findings {
	return r.own.addTo(requestFindings(in), in.Body)
}

// redactOutside redacts what of a request is outside of its body.
func (r *Redactor) redactOutside(in cassette.Request, m *matcher) cassette.Request {
	in.URL = r.redactURL(in.URL, m)
	in.Header = r.redactHeader(in.Header, m)
	return in
}

// learnInteraction finds the secrets of an interaction and returns the matcher
// for them and all earlier ones. A server's cookies change with every reply and
// come back only as cookies: they are replaced in their own interaction and then
// forgotten, until a client sends them.
func (r *Redactor) learnInteraction(in cassette.Interaction, asked, answered findings) *matcher {
	r.notePublic(append(answered.public, headerWords(in.Response.Header)...))
	r.learnRequest(in.Request, asked)
	r.learnFound(r.responseSecrets(in.Response, answered.credentials))
	r.Learn(append(r.own.secrets("", r.own.withoutKept(in.Response.Header)), secretsIn(in.Response.Body, answered.own)...)...)
	r.mu.Lock()
	m := r.known
	r.uses++
	r.mu.Unlock()
	for _, secret := range cookieValues(in.Response.Header) {
		if len(secret) >= minSecret && isLearnable(secret) && !m.knows(secret) {
			m = m.withSecrets(secret)
		}
	}
	return m
}

// learnRequest finds the secrets of a request and returns the matcher for them
// and all earlier ones.
func (r *Redactor) learnRequest(in cassette.Request, asked findings) *matcher {
	r.notePublic(append(append(asked.public, headerWords(in.Header)...), urlWords(in.URL)...))
	header := r.own.withoutKept(in.Header)
	r.learnFound(r.requestSecrets(in, header, asked.credentials))
	r.Learn(append(r.own.secrets(in.URL, header), secretsIn(in.Body, asked.own)...)...)
	for name, value := range likelyKeys(header) {
		r.learnGuess(name, value)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.known
}

// lookIntoWords learns the credentials that stand in the texts of a body, also in pieces and in
// another coding, and in the documents in it, and adds to the findings where those are that
// stand in the body as they are. It returns those that could be a word elsewhere: they are
// secrets in this interaction only.
func (r *Redactor) lookIntoWords(header http.Header, b []byte, f *findings) (here []string) {
	w := textSearch{own: r.own}
	for _, text := range f.documents {
		w.search(text, 1, true)
	}
	var spans []span
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		stream := textStream{b: b}
		for text := range stream.texts() {
			w.search(text, 1, false)
			w.searchDocument(text)
		}
		spans = stream.credentials(r.own, &w)
		w.found = append(w.found, stream.sessions()...)
	} else {
		spans = append(w.search(b, 1, false), f.said...)
		w.found = append(w.found, secretsIn(b, f.said)...)
	}
	r.mu.RLock()
	found := slices.DeleteFunc(w.found, func(s string) bool { return r.public.has(s, true) })
	spans = slices.DeleteFunc(spans, func(s span) bool { return r.public.has(string(s.bytesIn(b)), true) })
	r.mu.RUnlock()
	f.addWords(spans)
	r.Learn(found...)
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < minWord || isPseudonym(s) || isLearnable(s) })
}

// textSearch looks for credentials in texts, and in the texts that are written in them.
type textSearch struct {
	own   *Own
	found []string
}

// searchDocument looks for a document in a text that came in pieces.
func (t *textSearch) searchDocument(text []byte) {
	if bytes.Contains(text, []byte(`\":`)) {
		plain := decodeJSON(text).text
		t.found = append(t.found, secretsIn(plain, (&jsonSearch{b: plain, isReply: true, isSaid: true, names: new(names), seen: map[string]bool{}}).search().credentials)...)
	}
}

// search returns where the credentials of a text are.
func (t *textSearch) search(text []byte, depth int, isDecoded bool) (spans []span) {
	secrets, coded := searchWords(text)
	for _, s := range secrets {
		value := string(s.value.bytesIn(text))
		if t.own.Keeps(string(s.name.bytesIn(text)), value) {
			continue
		}
		t.found = append(append(t.found, value), writtenIn(value)...)
		if s.flagLength > 0 {
			t.found = append(t.found, value[s.flagLength:])
		}
		spans = append(spans, s.value)
	}
	if depth > deepestNested {
		return spans
	}
	for _, c := range codedTexts(text, coded) {
		known := len(t.found)
		t.search(c.plain, depth+1, isDecoded)
		if isDecoded && len(t.found) > known && len(c.coded) < len(text) {
			t.found = append(t.found, string(c.coded)) // base64 in base64 has no form of what is in it
		}
	}
	return spans
}

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
		if hasEntropy(s) && !r.public.has(s, true) && !r.own.isKeptSecret(s) {
			worth = append(worth, s)
		}
	}
	r.mu.RUnlock()
	r.Learn(worth...)
}

// maxGuesses is how many values of one unlisted header are treated as keys. A
// header with more values holds ids.
const maxGuesses = 8

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

func (r *Redactor) requestSecrets(in cassette.Request, header http.Header, credentials []span) []string {
	out := append(headerSecrets(header), r.own.querySecrets(in.URL)...)
	for _, cookie := range cookieValues(in.Header) {
		if len(cookie) >= minSecret {
			out = append(out, cookie)
		}
	}
	return append(out, secretsIn(in.Body, credentials)...)
}

func (r *Redactor) responseSecrets(in cassette.Response, credentials []span) []string {
	header := r.own.withoutKept(in.Header)
	out := append(r.own.answerSecrets(header), r.own.answerSecrets(in.Trailer)...)
	return append(out, secretsIn(in.Body, credentials)...)
}
