package evidence

import (
	"net/url"
	"strings"
)

// Provenance says who gave the reply of an exchange. The zero value means that
// nobody knows.
type Provenance string

// The provenances. Only a reply that is live or foreign, from the provider's own
// host, is the provider's word.
const (
	ProvenanceUnknown   Provenance = ""
	ProvenanceLive      Provenance = "live"      // recorded by us from a provider
	ProvenanceForeign   Provenance = "foreign"   // recorded by another tool, or declared so
	ProvenanceSimulator Provenance = "simulator" // our own stand-in answered
	ProvenanceSynthetic Provenance = "synthetic" // written by hand or edited
	ProvenanceInjected  Provenance = "injected"  // a scenario or fault plan replaced the reply
)

// IsOwnHost reports whether x went to a host of its provider, which has the
// provider's policies. Other hosts only speak the format.
func (x *Exchange) IsOwnHost() bool {
	u, err := url.Parse(x.Request.URL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range providerDomains[x.Provider] {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

var providerDomains = map[string][]string{
	Anthropic: {"anthropic.com"},
	OpenAI:    {"openai.com", "openai.azure.com", "chatgpt.com"},
	Gemini:    {"googleapis.com"},
}
