// Package redact removes credentials from interactions before they are kept.
//
// Start with [New]; [Redactor.Interaction] returns a copy without secrets:
//
//	r := redact.New(key) // the user's key, of no cassette
//	r.Learn(os.Getenv("ANTHROPIC_API_KEY"))
//	clean := r.Interaction(interaction)
//
// A secret is found in one of three ways. It stands where the structure of the message says that a
// credential does: in a header, a parameter, a member, an argument. It stands in a text, near the
// name of a credential, and nobody can guess it. Or this process has seen it before, and it comes
// back anywhere, in any coding, also in pieces. The first two decide by rules about names and
// values, so they can be wrong both ways; [Own] has the user's corrections.
//
// Each secret is replaced by a pseudonym of the same length, derived from it with the key. So offsets
// and timelines stay true, redacting twice changes nothing, and the same secret has the same pseudonym
// everywhere.
//
// The packages below decide, each knowing only those before it:
//
//	internal/lex        ranges and kinds of bytes
//	internal/names      what may stand under a name
//	internal/jsonscan   the strings of JSON, and what each is for
//	internal/values     whether a value can be a credential
//	internal/structure  where credentials are in messages
//	internal/freetext   where credentials are in texts
//
// This package asks them, remembers the secrets, looks for them again and replaces them. A body is
// scanned for the strings of JSON once, by the first package that asks its [jsonscan.Index]. Package
// gate checks the result before it is saved. It shares no code with this one.
package redact

import (
	"bytes"
	"crypto/rand"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
)

// Redactor removes secrets. It is safe for concurrent use. Only [Redactor.Overwrite]
// changes its argument.
type Redactor struct {
	key      []byte
	searched *searchedTexts

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
	r := &Redactor{
		key:      bytes.Clone(key),
		searched: &searchedTexts{seed: maphash.MakeSeed(), done: map[uint64]struct{}{}},
		known:    &matcher{heads: new(heads)},
		guessed:  map[string]int{}, public: publicWords{},
	}
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
	return []string{ruleHeaders, ruleCredentials, ruleCookies, ruleQuery, ruleBody, ruleAnswers, ruleReflections,
		ruleFragments}
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

// redactInteraction is [Redactor.Overwrite] if the bodies are its own.
func (r *Redactor) redactInteraction(in cassette.Interaction, isOwned bool) cassette.Interaction {
	request, response := jsonscan.NewIndex(in.Request.Body), jsonscan.NewIndex(in.Response.Body)
	asked, askedHere := r.searchRequest(in.Request, request)
	answered := r.own.addTo(structure.Response(in.Response, response, structure.IssuesSecrets(in.Request)), response)
	answeredHere, _ := r.lookIntoWords(in.Response.Header, response, []lex.Span{lex.Between(0, len(response.Text))},
		&answered.Findings)
	m := r.learnInteraction(in, asked, answered)
	forRequest := m.withSecrets(askedHere...)
	forResponse := forRequest.withSecrets(answeredHere...)
	out := in
	said, replied := draft{b: in.Request.Body, own: isOwned, index: request},
		draft{b: in.Response.Body, own: isOwned, index: response}
	r.redactBody(&said, asked.Credentials, forRequest)
	r.redactBody(&replied, answered.Credentials, forResponse)
	out.Request = r.redactOutside(in.Request, m)
	out.Request.Body, out.Response.Body = said.b, replied.b
	out.Response.Header = r.redactHeader(in.Response.Header, m)
	out.Response.Trailer = r.redactHeader(in.Response.Trailer, m)
	out.Timeline = append([]cassette.Chunk(nil), in.Timeline...)
	out.Redacted = changedBodies(in.Redacted, said.changed, replied.changed)
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
	index := jsonscan.NewIndex(in.Body)
	asked, here := r.searchRequest(in, index)
	m, body := r.learnRequest(in, asked), draft{b: in.Body, index: index}
	r.redactBody(&body, asked.Credentials, m.withSecrets(here...))
	in = r.redactOutside(in, m)
	in.Body = body.b
	return in
}

// searchRequest looks through the body of a request. It also returns the secrets that count in this
// interaction only.
func (r *Redactor) searchRequest(in cassette.Request, body *jsonscan.Index) (asked bodyFindings, here []string) {
	left, fresh := r.searched.leaveOut(body)
	asked = r.own.addTo(structure.Request(in, body), body)
	here, touched := r.lookIntoWords(in.Header, body, left, &asked.Findings)
	r.searched.remember(in.Body, fresh, slices.Concat(touched, asked.Credentials, asked.Said))
	return asked, here
}

// redactOutside redacts what of a request is outside of its body.
func (r *Redactor) redactOutside(in cassette.Request, m *matcher) cassette.Request {
	in.URL = r.redactURL(in.URL, m)
	in.Header = r.redactHeader(in.Header, m)
	return in
}
