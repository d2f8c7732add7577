package oracle

import (
	"strings"

	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Referee restates what the referee's own decoder read in the terms of the
// judges.
func Referee(provider string, items []wire.Item) []Block {
	var out []Block
	for i := range items {
		b := referee(&items[i])
		if provider == "gemini" {
			out = appendGemini(out, b)
		} else {
			out = append(out, b)
		}
	}
	return out
}

func referee(it *wire.Item) Block {
	switch it.What {
	case wire.Text:
		return Block{Kind: "text", Text: it.Text, Token: it.Token}
	case wire.Thinking:
		b := Block{Kind: "reasoning", Text: it.Text, Token: it.Token}
		if it.Type == "reasoning" { // the judge of OpenAI compares summaries
			b.Text, b.Token = strings.Join(it.Summary, "\n"), ""
		}
		return b
	case wire.Redacted:
		return Block{Kind: "reasoning", Token: it.Token}
	case wire.Call:
		return Block{Kind: "tool_use", ID: it.ID, Name: it.Name, Args: canonical([]byte(it.Args)), Token: it.Token}
	default: // opaque, media, results of server tools
		return Block{Kind: opaqueKind(it), Token: it.Token}
	}
}

// opaqueKind names what an opaque item is. Gemini's parts have no type name:
// the member they hold is what they are.
func opaqueKind(it *wire.Item) string {
	for _, name := range []string{"executableCode", "codeExecutionResult", "inlineData", "toolCall", "toolResponse"} {
		if it.Node.Get(name) != nil {
			return name
		}
	}
	return it.Type
}
