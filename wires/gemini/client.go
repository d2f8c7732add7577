package gemini

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// client writes requests of generateContent.
type client struct{}

// Body writes the request. Model and stream stand in the path.
func (client) Body(q *wire.Question, history []string) []byte {
	var o, config, thinking wire.Object
	if q.System != "" {
		o.Set("systemInstruction", `{"parts":`+wire.List(textPart(q.System))+`}`)
	}
	o.Set("contents", wire.List(history...))
	var tools []string
	for _, t := range q.Tools {
		var tool wire.Object
		tools = append(tools, tool.SetText("name", t.Name).SetText("description",
			t.Description).Set("parametersJsonSchema", t.Schema).String())
	}
	o.SetIf(tools != nil, "tools", `[{"functionDeclarations":`+wire.List(tools...)+`}]`)
	if tools != nil && q.Choice != "" {
		var choice wire.Object
		switch q.Choice {
		case "any", "none":
			choice.SetText("mode", strings.ToUpper(q.Choice))
		default:
			choice.Set("mode", `"ANY"`).Set("allowedFunctionNames", wire.Texts([]string{q.Choice}))
		}
		o.Set("toolConfig", `{"functionCallingConfig":`+choice.String()+`}`)
	}
	config.SetIf(q.MaxTokens > 0, "maxOutputTokens", strconv.Itoa(q.MaxTokens)).SetIf(q.Stops != nil, "stopSequences",
		wire.Texts(q.Stops))
	if q.Effort != "" || q.Budget > 0 {
		thinking.Set("includeThoughts", "true").SetIf(q.Budget > 0, "thinkingBudget", strconv.Itoa(q.Budget))
		thinking.SetIf(q.Budget == 0, "thinkingLevel", wire.Quote(strings.ToUpper(q.Effort)))
		config.Set("thinkingConfig", thinking.String())
	}
	o.SetIf(!config.IsEmpty(), "generationConfig", config.String())
	return []byte(o.SetAll(q.Extra).String())
}

func textPart(text string) string { return `{"text":` + wire.Quote(text) + `}` }

func writeContent(role string, parts []string) string {
	return `{"role":"` + role + `","parts":` + wire.List(parts...) + `}`
}

func imagePart(i wire.Image) string {
	return `{"inlineData":{"mimeType":` + wire.Quote(i.Type) + `,"data":` + wire.Quote(i.Base64) + `}}`
}

// Prompt writes a content of the user.
func (client) Prompt(text string, images ...wire.Image) string {
	parts := []string{textPart(text)}
	for _, i := range images {
		parts = append(parts, imagePart(i))
	}
	return writeContent("user", parts)
}

// Replay returns the content of the model: all parts as they came, in order. Pieces of one text stay
// apart, so each signature stays on its part.
func (client) Replay(r *wire.Reply) []string {
	docs := []*tree.Node{r.Doc}
	if len(r.Events) > 0 {
		docs = nil
		for _, e := range r.Events {
			docs = append(docs, e.JSON)
		}
	}
	var parts []string
	for _, doc := range docs {
		if candidates := doc.List("candidates"); len(candidates) > 0 {
			for _, part := range candidates[0].List("content", "parts") {
				if !(len(part.Names()) == 1 && part.Has("text") && part.Text("text") == "") {
					parts = append(parts, part.Raw())
				}
			}
		}
	}
	if parts == nil {
		return nil
	}
	return []string{writeContent("model", parts)}
}

// Results writes one content with all results.
func (client) Results(results []wire.ToolResult) []string {
	var parts []string
	for _, r := range results {
		name := "output"
		if r.IsError {
			name = "error"
		}
		var o wire.Object
		o.SetText("id", r.ID).SetText("name", r.Name).Set("response", `{"`+name+`":`+wire.Quote(r.Text)+`}`)
		var images []string
		for _, i := range r.Images {
			images = append(images, imagePart(i))
		}
		o.SetIf(images != nil, "parts", wire.List(images...))
		parts = append(parts, `{"functionResponse":`+o.String()+`}`)
	}
	return []string{writeContent("user", parts)}
}
