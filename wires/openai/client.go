package openai

import (
	"strconv"

	"github.com/meerkat-go/conformance/wires/wire"
)

// client writes requests of the Responses API. It keeps the conversation itself, so it asks that
// nothing is stored and that the hidden state of reasoning comes along.
type client struct{}

// Body writes the request.
func (client) Body(q *wire.Question, history []string) []byte {
	var o wire.Object
	o.SetText("model", q.Model).SetText("instructions", q.System).Set("input", wire.List(history...))
	var tools []string
	for _, t := range q.Tools {
		var tool wire.Object
		tool.Set("type", `"function"`).SetText("name", t.Name).SetText("description", t.Description).Set("parameters",
			t.Schema).Set("strict", "false")
		tools = append(tools, tool.String())
	}
	o.SetIf(tools != nil, "tools", wire.List(tools...))
	switch {
	case tools == nil || q.Choice == "":
	case q.Choice == "any":
		o.Set("tool_choice", `"required"`)
	case q.Choice == "none":
		o.Set("tool_choice", `"none"`)
	default:
		o.Set("tool_choice", `{"type":"function","name":`+wire.Quote(q.Choice)+`}`)
	}
	if q.Effort != "" {
		o.Set("reasoning", `{"effort":`+wire.Quote(q.Effort)+`,"summary":"auto"}`).Set("include",
			`["reasoning.encrypted_content"]`)
	}
	o.SetIf(q.MaxTokens > 0, "max_output_tokens", strconv.Itoa(q.MaxTokens))
	o.Set("store", "false").SetIf(q.Stream, "stream", "true")
	return []byte(o.SetAll(q.Extra).String())
}

// Prompt writes a message of the user.
func (client) Prompt(text string, images ...wire.Image) string {
	parts := []string{`{"type":"input_text","text":` + wire.Quote(text) + `}`}
	return `{"type":"message","role":"user","content":` + wire.List(append(parts, imageParts(images)...)...) + `}`
}

func imageParts(images []wire.Image) (parts []string) {
	for _, i := range images {
		parts = append(parts, `{"type":"input_image","image_url":`+wire.Quote("data:"+i.Type+";base64,"+i.Base64)+`}`)
	}
	return parts
}

// Replay returns the items as the events that end them bring them, else those of the whole response.
func (client) Replay(r *wire.Reply) (items []string) {
	output := r.Doc.Get("output")
	for _, e := range r.Events {
		switch e.Type() {
		case "response.output_item.done":
			items = append(items, e.JSON.Raw("item"))
		case "response.completed", "response.incomplete":
			output = e.JSON.Get("response", "output")
		}
	}
	if items != nil {
		return items
	}
	for _, n := range output.List() {
		items = append(items, n.Raw())
	}
	return items
}

// Results writes an item for each result. An error is a text: the API has no mark for it.
func (client) Results(results []wire.ToolResult) (items []string) {
	for _, r := range results {
		output := wire.Quote(r.Text)
		if r.Images != nil {
			output = wire.List(imageParts(r.Images)...)
		}
		var o wire.Object
		items = append(items, o.Set("type", `"function_call_output"`).SetText("call_id", r.ID).Set("output",
			output).String())
	}
	return items
}
