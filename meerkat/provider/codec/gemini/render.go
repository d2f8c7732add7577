package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// requestWriter is a checked request and the writer of its body.
type requestWriter struct {
	jsontok.Writer
	provider.Outline
	contents []content
}

// content is one entry of contents: the steps of one role. Replies that follow
// each other are one content, because a model turn may not follow another
// (G-13).
type content struct {
	steps []provider.Step
	model bool
}

// maxStops is the largest number of stop sequences.
const maxStops = 5

func newRequestWriter(req *provider.Request, m catalog.Entry) (*requestWriter, error) {
	outline, err := provider.Prepare(req, m)
	if err != nil {
		return nil, err
	}
	if n := len(req.StopSequences); n > maxStops {
		return nil, &provider.RequestError{
			Field: "stop sequences", Reason: fmt.Sprintf("%d are more than the %d Gemini takes", n, maxStops),
		}
	}
	w := &requestWriter{Outline: outline}
	// Make contents of steps and leaves out replies that have no part to
	// send (G-6).
	for _, s := range w.Steps {
		model := s.Message.Role == transcript.RoleAssistant
		if model && !w.hasParts(s.Message) {
			continue
		}
		if n := len(w.contents); model && n > 0 && w.contents[n-1].model {
			w.contents[n-1].steps = append(w.contents[n-1].steps, s)
			continue
		}
		w.contents = append(w.contents, content{steps: []provider.Step{s}, model: model})
	}
	return w, w.checkContents()
}

func (w *requestWriter) hasParts(m *transcript.Message) bool {
	for i := range m.Blocks {
		if w.isSent(&m.Blocks[i]) {
			return true
		}
	}
	return false
}

func (w *requestWriter) checkContents() error {
	n := len(w.contents)
	if n == 0 {
		return &provider.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message (G-4)"}
	}
	if first := w.contents[0]; first.model {
		return &provider.MessageError{
			At: first.steps[0].At, Reason: "the conversation must start with a user message (G-13)",
		}
	}
	if last := w.contents[n-1]; last.model {
		return &provider.MessageError{
			At: last.steps[len(last.steps)-1].At, Reason: "the conversation must end with a user message (G-16)",
		}
	}
	for _, c := range w.contents {
		m := c.steps[0].Message
		if !c.model && m.Role != transcript.RoleToolResults && m.Content == "" && len(m.Parts) == 0 {
			return &provider.MessageError{At: c.steps[0].At, Reason: "it has no text (G-7)"}
		}
	}
	return nil
}

// writeBody writes the request. The conversation comes last, so that requests of
// one session share their beginning.
func (w *requestWriter) writeBody() []byte {
	w.Object(func() {
		if len(w.Systems) > 0 {
			w.Key("systemInstruction").Object(func() {
				w.Key("parts").Array(func() {
					for _, s := range w.Systems {
						w.writeText(s)
					}
				})
			})
		}
		w.writeTools()
		w.writeGenerationConfig()
		w.Key("contents").Array(func() {
			for _, c := range w.contents {
				w.Object(func() {
					if c.model {
						w.Key("role").Str("model")
					} else {
						w.Key("role").Str("user")
					}
					w.Key("parts").Array(func() {
						if c.model {
							w.writeReply(c.steps)
							return
						}
						w.writeUserParts(c.steps[0])
					})
				})
			}
		})
	})
	return w.Bytes()
}

func (w *requestWriter) writeTools() {
	if len(w.Tools) == 0 {
		return
	}
	w.Key("tools").Array(func() {
		if slices.ContainsFunc(w.Tools, isFunction) {
			w.Object(func() {
				w.Key("functionDeclarations").Array(func() {
					for _, t := range w.Tools {
						if isFunction(t) {
							// Write the schema as JSON Schema, untouched; the older
							// parameters field takes only a part of it (G-12).
							w.Object(func() {
								w.Key("name").Text(t.Name)
								if t.Description != "" {
									w.Key("description").Text(t.Description)
								}
								if len(t.InputSchema) > 0 {
									w.Key("parametersJsonSchema").Raw(t.InputSchema)
								}
							})
						}
					}
				})
			})
		}
		for _, t := range w.Tools {
			if t.Hosted {
				w.Object(func() { w.Key(hostedMembers[t.Name]).Object(func() {}) })
			}
		}
	})
	w.writeToolConfig()
}

// hostedMembers are the tools that the API runs.
var hostedMembers = map[string]string{transcript.HostedSearch: "googleSearch", transcript.HostedCode: "codeExecution"}

func isFunction(t transcript.ToolDef) bool { return !t.Hosted }

// writeToolConfig writes what may be called, and asks to see what the API's own tools did,
// which goes back with the reply (G-26: from Gemini 3 on).
func (w *requestWriter) writeToolConfig() {
	choice, hosted := w.ToolChoice, slices.ContainsFunc(w.Tools, func(t transcript.ToolDef) bool { return t.Hosted })
	if choice == "" && !hosted {
		return
	}
	w.Key("toolConfig").Object(func() {
		if hosted {
			w.Key("includeServerSideToolInvocations").Bool(true)
		}
		if choice == "" {
			return
		}
		w.Key("functionCallingConfig").Object(func() {
			switch choice {
			case "auto", "any", "none":
				w.Key("mode").Str(strings.ToUpper(choice))
			default:
				w.Key("mode").Str("ANY")
				w.Key("allowedFunctionNames").Array(func() { w.Text(choice) })
			}
		})
	})
}

func (w *requestWriter) writeGenerationConfig() {
	thinks := w.Target.Model.Thinking == catalog.ThinkingLevel
	if w.MaxOutputTokens == 0 && w.Temperature == nil && len(w.StopSequences) == 0 && len(w.OutputSchema) == 0 &&
		!thinks {
		return
	}
	w.Key("generationConfig").Object(func() {
		if w.MaxOutputTokens > 0 {
			w.Key("maxOutputTokens").Int(w.MaxOutputTokens)
		}
		if w.Temperature != nil {
			w.Key("temperature").Float(*w.Temperature)
		}
		if len(w.StopSequences) > 0 {
			w.Key("stopSequences").Array(func() {
				for _, s := range w.StopSequences {
					w.Text(s)
				}
			})
		}
		if len(w.OutputSchema) > 0 {
			w.Key("responseMimeType").Str("application/json")
			w.Key("responseJsonSchema").Raw(w.OutputSchema)
		}
		if thinks {
			// Write a level, never a budget (G-23), and none when the
			// provider is to choose. The effort none is the lowest level there is (G-25).
			effort := w.Target.Model.Effort(w.Effort)
			w.Key("thinkingConfig").Object(func() {
				if w.Thinks() {
					w.Key("includeThoughts").Bool(true)
				}
				switch effort {
				case "":
				case "none":
					w.Key("thinkingLevel").Str("MINIMAL")
				default:
					w.Key("thinkingLevel").Text(strings.ToUpper(effort))
				}
			})
		}
	})
}
