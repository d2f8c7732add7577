package redact

import (
	"bytes"
	"slices"
	"strings"
)

// text replaces the known secrets in s.
func (r *Redactor) text(s string, m *matcher) string {
	b := []byte(s)
	if !m.replaceIn(b, r.pseudonym) {
		return s
	}
	return string(b)
}

// body returns a copy of b, as long, without the known secrets: where they
// stand whole, and where a streamed reply cuts them into deltas. nil stays nil.
func (r *Redactor) body(b []byte, m *matcher) []byte {
	out := bytes.Clone(b)
	if m.empty() {
		return out
	}
	m.replaceIn(out, r.pseudonym)
	r.fragments(out, m)
	return out
}

// fragments replaces secrets that are spread over the values of one key, as
// the text of a model is over its deltas. The raw text of the values, escapes
// and all, is joined by key, searched, and written back where it was.
func (r *Redactor) fragments(b []byte, m *matcher) {
	byKey := map[string][]span{}
	for s := range jsonStrings(b) {
		if s.value.end > s.value.start {
			byKey[s.key] = append(byKey[s.key], s.value)
		}
	}
	for _, spans := range byKey {
		if len(spans) < 2 {
			continue
		}
		var joined []byte
		for _, s := range spans {
			joined = append(joined, b[s.start:s.end]...)
		}
		if !m.replaceIn(joined, r.pseudonym) {
			continue
		}
		for _, s := range spans {
			joined = joined[copy(b[s.start:s.end], joined):]
		}
	}
}

// credentials replaces in place the credentials a request carries for tools
// and MCP servers, known or not.
func (r *Redactor) credentials(b []byte) []byte {
	for _, s := range credentialSpans(b) {
		copy(b[s.start:s.end], r.replace(string(b[s.start:s.end])))
	}
	return b
}

// credentialParents are the top-level request fields that configure tools. What
// a conversation holds under such names is data: a tool's arguments must come
// back as they were streamed.
var credentialParents = []string{"tools", "mcp_servers", "mcpServers"}

var credentialKeys = set(
	"authorization", "authorization_token", "api_key", "api-key", "apikey", "x-api-key", "x-goog-api-key",
	"access_token", "auth_token", "client_secret", "password", "secret", "cookie",
)

// credentialSpans finds the credential values of a JSON request body.
func credentialSpans(b []byte) (out []span) {
	if !bytes.Contains(b, []byte(`"tools"`)) && !bytes.Contains(b, []byte(`"mcp`)) {
		return nil
	}
	for s := range jsonStrings(b) {
		if s.value.end > s.value.start && slices.Contains(credentialParents, s.top) && credentialKeys[strings.ToLower(s.key)] {
			out = append(out, s.value)
		}
	}
	return out
}
