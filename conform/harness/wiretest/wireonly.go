package wiretest

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/mutant"
)

// wireOnly are changes that show something in a real run only, where another provider is
// asked or the simulator answers what was changed.
var wireOnly = []mutant.Mutant{
	{ID: "carry-token", Does: "sends a token of another provider", Kills: []string{"SIG-018"}, Apply: changeLast(carryToken)},
	{ID: "lose-prompt", Does: "does not send what the user said", Kills: []string{"ERR-001"}, Apply: changeLast(losePrompt)},
}

// changeLast changes the last request of the evidence; change returns nil where it has
// nothing to change.
func changeLast(change func(earlier []evidence.Exchange, last evidence.Exchange) []byte) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev.Exchanges = slices.Clone(ev.Exchanges)
		n := len(ev.Exchanges) - 1
		if n < 0 {
			return ev, false
		}
		body := change(ev.Exchanges[:n], ev.Exchanges[n])
		if body == nil {
			return ev, false
		}
		ev.Exchanges[n].Request.Body = body
		return ev, true
	}
}

var signature = regexp.MustCompile(`"signature":\s*("[^"]{16,}")`)

// carryToken puts a signature that Anthropic issued into a request to OpenAI.
func carryToken(earlier []evidence.Exchange, last evidence.Exchange) []byte {
	for _, x := range earlier {
		token := signature.FindSubmatch(x.Response.Body)
		if token == nil || x.Provider == last.Provider || last.Provider != evidence.OpenAI {
			continue
		}
		item := []byte(`"input":[{"type":"reasoning","summary":[],"encrypted_content":` + string(token[1]) + `},`)
		return bytes.Replace(last.Request.Body, []byte(`"input":[`), item, 1)
	}
	return nil
}

var echoPrompt = regexp.MustCompile(`Echo [0-9a-z]{8} and report`)

// losePrompt takes the word out of a prompt that the scenario expects.
func losePrompt(_ []evidence.Exchange, last evidence.Exchange) []byte {
	if !echoPrompt.Match(last.Request.Body) {
		return nil
	}
	return echoPrompt.ReplaceAll(last.Request.Body, []byte("Echo and report"))
}
