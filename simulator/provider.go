package simulator

import (
	"net/http"
	"net/url"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// provider holds everything that differs between the three providers.
type provider struct {
	script.Provider
	// parse reads a request for Check and for the script, once for both.
	parse func(*http.Request, []byte) request
	rules func() []rule.Info
	// reject is a refusal in its envelope, with its headers.
	reject func(*rule.Refusal) (status int, header http.Header, body []byte)
	// accepted states what looks like a fault and is none.
	accepted func() []rule.Info
	// list and info are the bodies that tell its models.
	list func(url.Values) []byte
	info func(id string) ([]byte, bool)
	// credentials are the headers that carry a key.
	credentials []string
	// keyless is what it says to a request without one.
	keyless string
}

// request is a request to a model that was read.
type request interface {
	// Check returns the first rule that the request breaks, or nil.
	Check(rule.Env) *rule.Refusal
	// Turn is what the script needs to know of it.
	Turn() (script.Request, *script.Refusal)
	// Document is its body, nil when that is not JSON.
	Document() *tree.Node
	// CountTokens is the body that answers a request to count tokens.
	CountTokens() []byte
}

// parseFunc makes one provider's Parse a parse.
func parseFunc[R request](parse func(*http.Request, []byte) R) func(*http.Request, []byte) request {
	return func(r *http.Request, body []byte) request { return parse(r, body) }
}

var providers = map[string]provider{
	"anthropic": {
		Provider: anthropic.Provider{}, parse: parseFunc(anthropic.Parse), rules: anthropic.Rules, reject: anthropic.Provider{}.Reject,
		accepted: anthropic.Accepted, list: listAnthropic, info: anthropic.Model,
		credentials: []string{"x-api-key", "Authorization"}, keyless: "x-api-key header is required",
	},
	"openai": {
		Provider: openai.Provider{}, parse: parseFunc(openai.Parse), rules: openai.Rules, reject: openai.Provider{}.Reject,
		accepted: openai.Accepted, list: listOpenAI, info: openai.Model,
		credentials: []string{"Authorization"}, keyless: "You didn't provide an API key.",
	},
	"gemini": {
		Provider: gemini.Provider{}, parse: parseFunc(gemini.Parse), rules: gemini.Rules, reject: gemini.Provider{}.Reject,
		accepted: gemini.Accepted, list: listGemini, info: gemini.Model,
		credentials: []string{"x-goog-api-key"},
	},
}

// Providers are the providers' names in the order in which they are listed.
var Providers = []string{"anthropic", "openai", "gemini"}

// Rules states the rules of a provider in the order in which they are checked;
// nil for another.
func Rules(name string) []rule.Info {
	if p, ok := providers[name]; ok {
		return p.rules()
	}
	return nil
}

// Accepted states what a provider accepts although it looks like a fault; nil
// for another.
func Accepted(name string) []rule.Info {
	if p, ok := providers[name]; ok {
		return p.accepted()
	}
	return nil
}

// rejectionPlan plans a refusal in the provider's envelope and headers.
func rejectionPlan(p provider, r *rule.Refusal) script.Plan {
	status, header, body := p.reject(r)
	return script.Plan{Status: status, Header: header, Writes: [][]byte{body}}
}
