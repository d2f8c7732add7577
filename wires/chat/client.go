package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// client writes requests that every dialect takes.
type client struct{}

// Body writes the request. The system prompt is its first message.
func (client) Body(q *wire.Question, history []string) []byte {
	var o wire.Object
	if q.System != "" {
		history = append([]string{`{"role":"system","content":` + wire.Quote(q.System) + `}`}, history...)
	}
	o.SetText("model", q.Model).Set("messages", wire.List(history...))
	var tools []string
	for _, t := range q.Tools {
		var function wire.Object
		function.SetText("name", t.Name).SetText("description", t.Description).Set("parameters", t.Schema)
		tools = append(tools, `{"type":"function","function":`+function.String()+`}`)
	}
	o.SetIf(tools != nil, "tools", wire.List(tools...))
	switch {
	case tools == nil || q.Choice == "":
	case q.Choice == "any":
		o.Set("tool_choice", `"required"`)
	case q.Choice == "none":
		o.Set("tool_choice", `"none"`)
	default:
		o.Set("tool_choice", `{"type":"function","function":{"name":`+wire.Quote(q.Choice)+`}}`)
	}
	// A model of DeepSeek that thinks cannot be forced (C-31), and goes on with calls only where these bring their
	// reasoning back (C-48).
	isForced := tools != nil && q.Choice != "" && q.Choice != "none"
	turns, _ := tree.Parse(wire.List(history...))
	if vendorOf(q.Model).Name == "deepseek" && (isForced || slices.ContainsFunc(turns.Items(), lacksReasoning)) {
		o.Set("thinking", `{"type":"disabled"}`)
	}
	o.SetText("reasoning_effort", q.Effort)
	limit := "max_tokens"
	if newRequest(tree.NewObject([]string{"model"}, tree.NewString(q.Model)),
		dialectOf("api.openai.com")).takes.Reasoning != "" {
		limit = "max_completion_tokens"
	}
	o.SetIf(q.MaxTokens > 0, limit, strconv.Itoa(q.MaxTokens)).SetIf(q.Stops != nil, "stop", wire.Texts(q.Stops))
	if q.Stream {
		o.Set("stream", "true").Set("stream_options", `{"include_usage":true}`)
	}
	return []byte(o.SetAll(q.Extra).String())
}

// lacksReasoning reports whether a message calls tools and was made without thinking.
func lacksReasoning(message *tree.Node) bool {
	return len(message.List("tool_calls")) > 0 && !message.Get("reasoning_content").Is(tree.String)
}

// Prompt writes a message of the user.
func (client) Prompt(text string, images ...wire.Image) string {
	if images == nil {
		return `{"role":"user","content":` + wire.Quote(text) + `}`
	}
	parts := []string{`{"type":"text","text":` + wire.Quote(text) + `}`}
	return `{"role":"user","content":` + wire.List(append(parts, imageParts(images)...)...) + `}`
}

func imageParts(images []wire.Image) (parts []string) {
	for _, i := range images {
		parts = append(parts, `{"type":"image_url","image_url":{"url":`+
			wire.Quote("data:"+i.Type+";base64,"+i.Base64)+`}}`)
	}
	return parts
}

// Replay returns the message of a whole reply as it came, and the joined pieces of a stream as one message, with
// the reasoning under the name that the server gave it.
func (client) Replay(r *wire.Reply) []string {
	if choices := r.Doc.List("choices"); len(choices) > 0 {
		return []string{choices[0].Get("message").Raw()}
	}
	var o wire.Object
	var details, calls []string
	content, thought := "", map[string]string{}
	for i := range r.Items {
		switch it := &r.Items[i]; {
		case it.What == wire.Call:
			calls = append(calls, callText(it))
		case strings.HasPrefix(it.Type, "reasoning."):
			details = append(details, detailText(it))
		case it.What == wire.Thinking:
			thought[it.Type] += it.Text
		case it.What == wire.Text && it.Type == "content":
			content += it.Text
		}
	}
	o.Set("role", `"assistant"`).SetIf(content != "", "content", wire.Quote(content)).SetIf(content == "",
		"content", "null")
	o.SetIf(hasMember(r, "reasoning_content"), "reasoning_content", wire.Quote(thought["reasoning_content"]))
	o.SetText("reasoning", thought["reasoning"])
	o.SetIf(details != nil, "reasoning_details", wire.List(details...)).SetIf(calls != nil, "tool_calls",
		wire.List(calls...))
	return []string{o.String()}
}

// hasMember reports whether a delta has a text under a name, be it empty: some servers want an empty one back as
// well (C-49).
func hasMember(r *wire.Reply, name string) bool {
	return slices.ContainsFunc(r.Events, func(e wire.StreamEvent) bool {
		choices := e.JSON.List("choices")
		return len(choices) > 0 && choices[0].Get("delta", name).Is(tree.String)
	})
}

func callText(it *wire.Item) string {
	var function, o wire.Object
	function.SetText("name", it.Name).Set("arguments", wire.Quote(it.Args))
	o.SetText("id", it.ID).Set("type", `"function"`).Set("function", function.String())
	o.SetIf(it.HasToken, "extra_content", `{"google":{"thought_signature":`+wire.Quote(it.Token)+`}}`)
	return o.String()
}

func detailText(it *wire.Item) string {
	var o wire.Object
	o.Set("type", wire.Quote(it.Type)).SetText("id", it.ItemID)
	switch it.Type {
	case "reasoning.encrypted":
		o.Set("data", wire.Quote(it.Token))
	case "reasoning.summary":
		o.Set("summary", wire.Quote(it.Text))
	default:
		o.Set("text", wire.Quote(it.Text)).SetIf(it.HasToken, "signature", wire.Quote(it.Token))
	}
	return o.String()
}

// Results writes a tool message for each result, and the images in a message of the user behind them: tool
// messages hold text only (C-13).
func (client) Results(results []wire.ToolResult) (messages []string) {
	var images []wire.Image
	for _, r := range results {
		var o wire.Object
		o.Set("role", `"tool"`).Set("tool_call_id", wire.Quote(r.ID)).Set("content", wire.Quote(r.Text))
		messages, images = append(messages, o.String()), append(images, r.Images...)
	}
	if images != nil {
		messages = append(messages, `{"role":"user","content":`+wire.List(imageParts(images)...)+`}`)
	}
	return messages
}
