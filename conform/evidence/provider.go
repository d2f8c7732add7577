package evidence

import (
	"bytes"
	"cmp"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// The providers whose traffic is judged.
const (
	Anthropic = "anthropic" // Messages API
	OpenAI    = "openai"    // Responses API
	Gemini    = "gemini"    // generateContent
)

// unjudged are the APIs of models that no wire speaks, by their paths. Hosts do not decide: the same API
// is served by clouds, gateways and local servers.
var unjudged = []struct {
	path *regexp.Regexp
	api  string
}{
	{regexp.MustCompile(`/model/[^/]+/(converse(-stream)?|invoke(-with-response-stream)?)$`), "the Bedrock API"},
	{regexp.MustCompile(`/v1/completions$`), "the Completions API"},
	{regexp.MustCompile(`/api/(chat|generate)$`), "the Ollama API"},
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

func unknownProvider() string { return "unknown provider: not a call of " + wires.Titles() }

// Provider says whose exchange r opens. For one that is not judged it returns
// "" and the reason. A host that is not the provider's own must also show the
// provider's kind of request.
func Provider(r Request) (provider, reason string) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", "unreadable URL"
	}
	for _, w := range wires.All() {
		route := w.RouteOf(u.Path)
		switch {
		case route == nil || route.Enveloped || route.Shared && !looksLikeWire(w, r):
		case route.IsJudged():
			if !(&Exchange{Provider: w.Name, Request: r}).IsOwnHost() && !looksLikeWire(w, r) {
				return "", unknownProvider()
			}
			return w.Name, ""
		case route.API != "":
			return "", route.API + notJudged
		case route.Operation == wires.Count:
			reason = tokensOnly
		default:
			reason = cmp.Or(reason, noGeneration)
		}
	}
	for _, other := range unjudged {
		if other.path.MatchString(u.Path) {
			return "", other.api + notJudged
		}
	}
	return "", cmp.Or(reason, unknownProvider())
}

// operatorOf returns the provider of an operation other than to generate, on its own host: to count
// tokens, to store a batch, a cache or a file. It is "" for APIs that are not judged.
func operatorOf(r Request) string {
	if _, reason := Provider(r); reason != tokensOnly && reason != noGeneration {
		return ""
	}
	for _, name := range wires.Names() {
		if (&Exchange{Provider: name, Request: r}).IsOwnHost() {
			return name
		}
	}
	return ""
}

// isLocalHost reports whether host is this machine itself.
func isLocalHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// looksLikeWire reports whether a request to a foreign host carries what only the wire
// asks for, so that somebody's own /v1/messages is left alone.
func looksLikeWire(w *wires.Wire, r Request) bool {
	return w.Header != "" && r.Header.Get(w.Header) != "" || hasKey(r.Body, w.Member)
}

// hasKey is a cheap look for a JSON key; what it lets through is read properly
// by the checks.
func hasKey(body []byte, key string) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && bytes.Contains(body, []byte(`"`+key+`"`))
}
