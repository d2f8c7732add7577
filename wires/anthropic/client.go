package anthropic

import (
	"cmp"
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// client writes requests of the Messages API.
type client struct{}

// defaultTokens bounds a reply where the question does not.
const defaultTokens = 4096

// Body writes the request. A budget of thinking counts as part of max_tokens.
func (client) Body(q *wire.Question, history []string) []byte {
	var o wire.Object
	o.SetText("model", q.Model)
	o.Set("max_tokens", strconv.Itoa(cmp.Or(q.MaxTokens, defaultTokens)+q.Budget))
	if q.System != "" {
		o.Set("system", wire.List(textBlock(q.System)))
	}
	var tools []string
	for _, t := range q.Tools {
		var tool wire.Object
		tools = append(tools, tool.SetText("name", t.Name).SetText("description", t.Description).Set("input_schema",
			t.Schema).String())
	}
	o.SetIf(tools != nil, "tools", wire.List(tools...))
	switch {
	case tools == nil || q.Choice == "":
	case q.Choice == "any" || q.Choice == "none":
		o.Set("tool_choice", `{"type":"`+q.Choice+`"}`)
	default:
		o.Set("tool_choice", `{"type":"tool","name":`+wire.Quote(q.Choice)+`}`)
	}
	switch {
	case q.Adaptive:
		o.Set("thinking", `{"type":"adaptive"}`)
		o.SetIf(q.Effort != "", "output_config", `{"effort":`+wire.Quote(q.Effort)+`}`)
	case q.Budget > 0:
		o.Set("thinking", `{"type":"enabled","budget_tokens":`+strconv.Itoa(q.Budget)+`}`)
	}
	o.SetIf(q.Stops != nil, "stop_sequences", wire.Texts(q.Stops))
	o.Set("messages", wire.List(history...))
	o.SetIf(q.Stream, "stream", "true")
	return []byte(o.SetAll(q.Extra).String())
}

func isObject(text string) bool {
	n, err := tree.Parse(text)
	return err == nil && n.Is(tree.Object)
}

func textBlock(text string) string { return `{"type":"text","text":` + wire.Quote(text) + `}` }

func imageBlock(i wire.Image) string {
	return `{"type":"image","source":{"type":"base64","media_type":` + wire.Quote(i.Type) + `,"data":` +
		wire.Quote(i.Base64) + `}}`
}

// Prompt writes a message of the user.
func (client) Prompt(text string, images ...wire.Image) string {
	var blocks []string
	for _, i := range images {
		blocks = append(blocks, imageBlock(i))
	}
	return writeMessage("user", append(blocks, textBlock(text)))
}

func writeMessage(role string, blocks []string) string {
	return `{"role":"` + role + `","content":` + wire.List(blocks...) + `}`
}

// Replay writes the message of the model. A block that came in pieces is the block that was begun
// with what the pieces brought.
func (client) Replay(r *wire.Reply) []string {
	var blocks []string
	for i := range r.Items {
		it := &r.Items[i]
		begun := it.Begun()
		var o wire.Object
		for n, name := range begun.Names() {
			value := begun.Items()[n].Raw()
			switch {
			case it.Node != nil:
			case name == "thinking", name == "text" && it.Type == "text", name == "content" && it.Type == "compaction":
				value = wire.Quote(it.Text)
			case name == "signature":
				value = wire.Quote(it.Token)
			case name == "input":
				if value = it.Args; !isObject(value) {
					value = "{}" // what cannot be parsed cannot be sent
				}
			case name == "citations" && it.Citations != nil:
				continue // set below
			}
			o.Set(name, value)
		}
		if it.Node == nil {
			o.SetIf(it.What == wire.Thinking && it.HasToken && begun.Get("signature") == nil, "signature",
				wire.Quote(it.Token))
			var cited []string
			for _, c := range it.Citations {
				cited = append(cited, c.Raw())
			}
			o.SetIf(cited != nil, "citations", wire.List(cited...))
		}
		blocks = append(blocks, o.String())
	}
	if blocks == nil {
		return nil
	}
	return []string{writeMessage("assistant", blocks)}
}

// Results writes one message with all results.
func (client) Results(results []wire.ToolResult) []string {
	var blocks []string
	for _, r := range results {
		parts := []string{textBlock(r.Text)}
		if r.Text == "" {
			parts = nil
		}
		for _, i := range r.Images {
			parts = append(parts, imageBlock(i))
		}
		var o wire.Object
		o.Set("type", `"tool_result"`).SetText("tool_use_id", r.ID).Set("content", wire.List(parts...)).SetIf(r.IsError,
			"is_error", "true")
		blocks = append(blocks, o.String())
	}
	return []string{writeMessage("user", blocks)}
}
