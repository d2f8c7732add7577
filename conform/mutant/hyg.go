package mutant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// hygieneMutants break the bytes of a body and carry keys where they do not belong.
var hygieneMutants = []Mutant{
	{"double-member", "writes a member a second time", []string{"HYG-002"}, changeBody(func(body []byte) []byte {
		return bytes.Replace(body, []byte(`{`), []byte(`{"metadata":{},"metadata":{},`), 1)
	})},
	{"byte-order-mark", "begins a body with a byte order mark", []string{"HYG-003"}, changeBody(func(body []byte) []byte {
		return slices.Concat([]byte("\xEF\xBB\xBF"), body)
	})},
	{"second-document", "writes something behind the document", []string{"HYG-003"}, changeBody(func(body []byte) []byte {
		return slices.Concat(body, []byte("null"))
	})},
	{"key-in-address", "puts the key into the address", []string{"HYG-004"}, changeExchange(func(x *evidence.Exchange) bool {
		separator := "?"
		if strings.Contains(x.Request.URL, "?") {
			separator = "&"
		}
		x.Request.URL += separator + "api_key=heron-kite-0123456789"
		return true
	})},
	{"key-in-prompt", "tells the model its own key", []string{"HYG-004"}, changeExchange(func(x *evidence.Exchange) bool {
		if setCredential(x, "heron-kite-0123456789") == "" {
			return false
		}
		x.Request.Body = bytes.Replace(x.Request.Body, []byte(`{`), []byte(`{"user":"heron-kite-0123456789",`), 1)
		return true
	})},
	{"foreign-credential", "sends a credential of another provider", []string{"HYG-005"}, changeExchange(func(x *evidence.Exchange) bool {
		name := map[string]string{evidence.Anthropic: "X-Goog-Api-Key", evidence.OpenAI: "X-Goog-Api-Key", evidence.Gemini: "Openai-Organization"}[x.Provider]
		x.Request.Header.Set(name, "REDACTED")
		return true
	})},
	{"two-credentials", "sends two different keys", []string{"HYG-006"}, changeExchange(func(x *evidence.Exchange) bool {
		name := setCredential(x, "heron-kite-0123456789")
		if name == "" {
			return false
		}
		if name == "Authorization" {
			x.Request.Header.Add(name, "Bearer kite-heron-9876543210")
			return true
		}
		x.Request.Header.Set("Authorization", "Bearer kite-heron-9876543210")
		return true
	})},
}

// setCredential gives the request a key and returns the header that holds it, "" where
// the recording has none.
func setCredential(x *evidence.Exchange, key string) string {
	if len(x.Request.Header) == 0 {
		return ""
	}
	name := keyHeader(x.Provider)
	x.Request.Header.Set(name, key)
	return name
}

// changeExchange makes a mutant that changes the first request for an answer for which
// change returns true. change gets a copy of its headers.
func changeExchange(change func(x *evidence.Exchange) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		for n := range ev.Exchanges {
			changed := cloneEvidence(ev)
			x := &changed.Exchanges[n]
			x.Request.Header = x.Request.Header.Clone()
			if q := wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body); q.Op == wire.Generate && q.Doc != nil && change(x) {
				return changed, true
			}
		}
		return ev, false
	}
}

// changeBody makes a mutant that changes the bytes of the first body that f changes.
func changeBody(f func(body []byte) []byte) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeExchange(func(x *evidence.Exchange) bool {
		body := f(x.Request.Body)
		same := bytes.Equal(body, x.Request.Body)
		x.Request.Body = body
		return !same
	})
}
