package gemini

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// API is the name of the generateContent API in transcript.Origin.
const API = "generateContent"

// Render returns the body of POST :generateContent and :streamGenerateContent
// for req and the model m; the model's name itself is in the URL. It is a pure
// function: same request, same bytes, and the contents of a longer
// conversation start with the bytes of the shorter one (R44).
//
// A request that the API would refuse is an error: *wire.PairError,
// *wire.MessageError or *wire.RequestError.
func Render(req *provider.Request, m catalog.Entry) ([]byte, error) {
	p, err := newPlan(req, m)
	if err != nil {
		return nil, err
	}
	return p.body(), nil
}

// plan is a checked request and the writer of its body.
type plan struct {
	wire.Writer
	req      *provider.Request
	target   wire.Target
	systems  []string
	contents []content
}

// content is one entry of contents: the steps of one role. Replies that follow
// each other are one content, because a model turn may not follow another
// (G-13).
type content struct {
	steps []wire.Step
	model bool
}

// maxStops is the largest number of stop sequences (reference §2.3).
const maxStops = 5

func newPlan(req *provider.Request, m catalog.Entry) (*plan, error) {
	if err := wire.Check(req, m); err != nil {
		return nil, err
	}
	if n := len(req.StopSequences); n > maxStops {
		return nil, &wire.RequestError{Field: "stop sequences", Reason: fmt.Sprintf("%d are more than the %d Gemini takes", n, maxStops)}
	}
	steps, err := wire.Steps(req.Messages)
	if err != nil {
		return nil, err
	}
	p := &plan{req: req, target: wire.Target{Provider: catalog.Gemini, API: API, Account: req.Account, Model: m}}
	p.systems, steps = wire.Systems(req, steps)
	p.group(steps)
	return p, p.check()
}

// group makes contents of steps and leaves out replies that have no part to
// send (G-6).
func (p *plan) group(steps []wire.Step) {
	for _, s := range steps {
		model := s.Message.Role == transcript.RoleAssistant
		if model && !p.speaks(s.Message) {
			continue
		}
		if n := len(p.contents); model && n > 0 && p.contents[n-1].model {
			p.contents[n-1].steps = append(p.contents[n-1].steps, s)
			continue
		}
		p.contents = append(p.contents, content{steps: []wire.Step{s}, model: model})
	}
}

func (p *plan) speaks(m *transcript.Message) bool {
	for i := range m.Blocks {
		if p.sent(&m.Blocks[i]) {
			return true
		}
	}
	return false
}

func (p *plan) check() error {
	n := len(p.contents)
	if n == 0 {
		return &wire.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message (G-4)"}
	}
	if first := p.contents[0]; first.model {
		return &wire.MessageError{At: first.steps[0].At, Reason: "the conversation must start with a user message (G-13)"}
	}
	if last := p.contents[n-1]; last.model {
		return &wire.MessageError{At: last.steps[len(last.steps)-1].At, Reason: "the conversation must end with a user message (G-16)"}
	}
	for _, c := range p.contents {
		m := c.steps[0].Message
		if !c.model && m.Role != transcript.RoleToolResults && m.Content == "" && len(m.Parts) == 0 {
			return &wire.MessageError{At: c.steps[0].At, Reason: "it has no text (G-7)"}
		}
	}
	return nil
}

// body writes the request. The conversation comes last, so that requests of
// one session share their beginning.
func (p *plan) body() []byte {
	p.Object(func() {
		if len(p.systems) > 0 {
			p.Key("systemInstruction").Object(func() {
				p.Key("parts").Array(func() {
					for _, s := range p.systems {
						p.text(s)
					}
				})
			})
		}
		p.tools()
		p.generationConfig()
		p.Key("contents").Array(func() {
			for _, c := range p.contents {
				p.content(c)
			}
		})
	})
	return p.Bytes()
}

func (p *plan) tools() {
	if len(p.req.Tools) == 0 {
		return
	}
	p.Key("tools").Array(func() {
		p.Object(func() {
			p.Key("functionDeclarations").Array(func() {
				for _, t := range p.req.Tools {
					p.declaration(t)
				}
			})
		})
	})
	p.toolConfig()
}

// declaration writes the schema as JSON Schema, untouched; the older
// parameters field takes only a part of it (G-12).
func (p *plan) declaration(t transcript.ToolDef) {
	p.Object(func() {
		p.Key("name").Text(t.Name)
		if t.Description != "" {
			p.Key("description").Text(t.Description)
		}
		if len(t.InputSchema) > 0 {
			p.Key("parametersJsonSchema").Raw(t.InputSchema)
		}
	})
}

func (p *plan) toolConfig() {
	choice := p.req.ToolChoice
	if choice == "" {
		return
	}
	p.Key("toolConfig").Object(func() {
		p.Key("functionCallingConfig").Object(func() {
			switch choice {
			case "auto", "any", "none":
				p.Key("mode").Str(strings.ToUpper(choice))
			default:
				p.Key("mode").Str("ANY")
				p.Key("allowedFunctionNames").Array(func() { p.Text(choice) })
			}
		})
	})
}

func (p *plan) generationConfig() {
	thinks := p.target.Model.Thinking == catalog.ThinkingLevel
	if p.req.MaxOutputTokens == 0 && p.req.Temperature == nil && len(p.req.StopSequences) == 0 && len(p.req.OutputSchema) == 0 && !thinks {
		return
	}
	p.Key("generationConfig").Object(func() {
		if p.req.MaxOutputTokens > 0 {
			p.Key("maxOutputTokens").Int(p.req.MaxOutputTokens)
		}
		if p.req.Temperature != nil {
			p.Key("temperature").Float(*p.req.Temperature)
		}
		if len(p.req.StopSequences) > 0 {
			p.Key("stopSequences").Array(func() {
				for _, s := range p.req.StopSequences {
					p.Text(s)
				}
			})
		}
		if len(p.req.OutputSchema) > 0 {
			p.Key("responseMimeType").Str("application/json")
			p.Key("responseJsonSchema").Raw(p.req.OutputSchema)
		}
		if thinks {
			p.thinkingConfig()
		}
	})
}

// thinkingConfig writes a level, never a budget (G-23), and none when the
// provider is to choose. The effort none is the lowest level there is (G-25).
func (p *plan) thinkingConfig() {
	effort := p.target.Model.Effort(p.req.Effort)
	p.Key("thinkingConfig").Object(func() {
		if p.target.Model.Thinks(p.req.Effort) {
			p.Key("includeThoughts").Bool(true)
		}
		switch effort {
		case "":
		case "none":
			p.Key("thinkingLevel").Str("MINIMAL")
		default:
			p.Key("thinkingLevel").Text(strings.ToUpper(effort))
		}
	})
}
