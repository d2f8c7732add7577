package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// opaqueMutants touch what a client only carries.
var opaqueMutants = []Mutant{
	{"alter-ciphertext", "changes the ciphertext of a search result", []string{"SIG-021"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Opaque && it.Model() && e.isIssuedCiphertext(it.Node) && alterCiphertext(it.Node)
		})
	})},
	{"lose-namespace", "sends a call back without its namespace", []string{"SIG-021", "NSP-005"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && e.wasEmitted(it) && dropMember(it.Node, "namespace")
		})
	}, evidence.OpenAI)},
	{"drop-server-result", "sends a call of the provider's tool back without its result", []string{"SIG-021"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			id := it.Node.Get("tool_use_id").Text()
			return it.What == wire.Opaque && it.Model() && strings.HasPrefix(id, "srvtoolu_") && e.isIssuedResult(id) && e.removeItem(it)
		})
	}, evidence.Anthropic)},
	{"drop-hosted", "leaves out what a tool of the provider did in the open turn", []string{"SIG-021"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(i int, it *wire.Item) bool {
			return i >= e.turnStart() && it.Node.Get("type").Text() == "web_search_call" && e.wasEmitted(it) && e.removeItem(it)
		})
	}, evidence.OpenAI)},
}

func (e *editor) isIssuedResult(id string) bool {
	return slices.ContainsFunc(e.ev.Exchanges[:e.n], func(x evidence.Exchange) bool {
		return x.Provider == e.x.Provider && strings.Contains(string(x.Response.Body), `"tool_use_id":"`+id+`"`)
	})
}

// isIssuedCiphertext reports whether an earlier reply holds the ciphertext.
func (e *editor) isIssuedCiphertext(n *tree.Node) bool {
	text := n.Get("encrypted_content").Text()
	for _, c := range n.Get("content").List() {
		text += c.Get("encrypted_content").Text()
		break
	}
	return len(text) > 8 && !strings.Contains(text, "REDACTED") && slices.ContainsFunc(e.ev.Exchanges[:e.n], func(x evidence.Exchange) bool {
		return x.Provider == e.x.Provider && strings.Contains(string(x.Response.Body), text)
	})
}

func alterCiphertext(n *tree.Node) bool {
	return rewriteMember(n, cutCharacter, "encrypted_content") || slices.ContainsFunc(n.Get("content").List(), alterCiphertext)
}
