package evidence

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// The providers whose traffic is judged.
const (
	Anthropic = "anthropic" // Messages API
	OpenAI    = "openai"    // Responses API
	Gemini    = "gemini"    // generateContent
)

// operations lists what a path means, first match wins. Hosts do not decide:
// the same API is served by clouds, gateways and local servers (reference §1).
var operations = []struct {
	path     *regexp.Regexp
	provider string
	skip     string // why it is not judged
}{
	{path: regexp.MustCompile(`/v1/messages$`), provider: Anthropic},
	{path: regexp.MustCompile(`/publishers/anthropic/models/count-tokens:rawPredict$`), skip: tokensOnly},
	{path: regexp.MustCompile(`/publishers/anthropic/models/[^/]+:(streamR|r)awPredict$`), provider: Anthropic},
	{path: regexp.MustCompile(`/model/[^/]*anthropic[^/]*/invoke$`), provider: Anthropic},
	{path: regexp.MustCompile(`/responses(/compact|/resp_[^/]+)?$`), provider: OpenAI},
	{path: regexp.MustCompile(`/models/[^/]+:(streamG|g)enerateContent$`), provider: Gemini},
	{path: regexp.MustCompile(`/model/[^/]+/invoke-with-response-stream$`), skip: "the binary event stream of Bedrock" + notJudged},
	{path: regexp.MustCompile(`/model/[^/]+/(converse(-stream)?|invoke)$`), skip: "the Bedrock API" + notJudged},
	{path: regexp.MustCompile(`/chat/completions$`), skip: "the Chat Completions API" + notJudged},
	{path: regexp.MustCompile(`/v1/completions$`), skip: "the Completions API" + notJudged},
	{path: regexp.MustCompile(`/v1(alpha|beta)[0-9]*/interactions$`), skip: "the Interactions API of Gemini" + notJudged},
	{path: regexp.MustCompile(`/api/(chat|generate)$`), skip: "the Ollama API" + notJudged},
	{path: regexp.MustCompile(`/(count_tokens|input_tokens)$|:countTokens$`), skip: tokensOnly},
	{path: regexp.MustCompile(`/v1(alpha|beta)?[0-9]*/(models|files|cachedContents|conversations|responses|messages/batches|batches|embeddings|uploads)\b`), skip: noGeneration},
}

// notJudged ends the reason to skip a call of a model.
const notJudged = " is not judged"

// NotJudged returns the API of a skipped call of a model. It is empty if the skipped request calls no model.
func (s Skip) NotJudged() string {
	if api, ok := strings.CutSuffix(s.Reason, notJudged); ok {
		return api
	}
	return ""
}

const (
	tokensOnly   = "counts tokens only"
	noGeneration = "no generation, nothing to judge"
)

const unknownProvider = "unknown provider: not a call of Anthropic Messages, OpenAI Responses or Gemini generateContent"

// Provider says whose exchange r opens. For one that is not judged it returns
// "" and the reason. A host that is not the provider's own must also show the
// provider's kind of request.
func Provider(r Request) (provider, reason string) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", "unreadable URL"
	}
	for _, op := range operations {
		if !op.path.MatchString(u.Path) {
			continue
		}
		if op.skip == "" && !(&Exchange{Provider: op.provider, Request: r}).IsOwnHost() && !looksLikeProvider(op.provider, r) {
			break
		}
		return op.provider, op.skip
	}
	return "", unknownProvider
}

// operator returns the provider of an operation other than to generate, on its own host: to count
// tokens, to store a batch, a cache or a file. It is "" for APIs that are not judged.
func operator(r Request) string {
	if _, reason := Provider(r); reason != tokensOnly && reason != noGeneration {
		return ""
	}
	for _, name := range []string{Anthropic, OpenAI, Gemini} {
		if (&Exchange{Provider: name, Request: r}).IsOwnHost() {
			return name
		}
	}
	return ""
}

// isLocalHost reports whether host is this machine itself.
func isLocalHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// looksLikeProvider reports whether a request to a foreign host carries what only the
// provider's API asks for, so that somebody's own /v1/messages is left alone.
func looksLikeProvider(provider string, r Request) bool {
	switch provider {
	case Anthropic:
		return r.Header.Get("Anthropic-Version") != "" || hasKey(r.Body, "messages")
	case OpenAI:
		return r.Method == http.MethodPost && hasKey(r.Body, "input")
	}
	return hasKey(r.Body, "contents")
}

// hasKey is a cheap look for a JSON key; what it lets through is read properly
// by the checks.
func hasKey(body []byte, key string) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && bytes.Contains(body, []byte(`"`+key+`"`))
}
