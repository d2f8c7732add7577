package openai

import (
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/wire"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// API is the name of the Responses API in transcript.Origin.
const API = "responses"

// Render returns the body of POST /v1/responses for req and the model m. It is
// a pure function: same request, same bytes, and the input of a longer
// conversation starts with the bytes of the shorter one (R44). Replay is
// stateless: store is false and reasoning carries its encrypted content
// (D-11, R16).
//
// A request that the API would refuse is an error: *wire.PairError,
// *wire.MessageError or *wire.RequestError. Temperature is left out while the
// model reasons (O-24).
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
	req     *provider.Request
	target  wire.Target
	systems []string
	steps   []wire.Step
}

// minOutput is the smallest max_output_tokens (O-6).
const minOutput = 16

func newPlan(req *provider.Request, m catalog.Entry) (*plan, error) {
	if err := wire.Check(req, m); err != nil {
		return nil, err
	}
	if len(req.StopSequences) > 0 {
		return nil, &wire.RequestError{Field: "stop sequences", Reason: "the Responses API has none; leave them out"}
	}
	if n := req.MaxOutputTokens; n > 0 && n < minOutput {
		return nil, &wire.RequestError{Field: "max output tokens", Reason: fmt.Sprintf("%d is below the minimum of %d (O-6)", n, minOutput)}
	}
	steps, err := wire.Steps(req.Messages)
	if err != nil {
		return nil, err
	}
	p := &plan{req: req, target: wire.Target{Provider: catalog.OpenAI, API: API, Account: req.Account, Model: m}}
	p.systems, p.steps = wire.Systems(req, steps)
	return p, p.check()
}

func (p *plan) check() error {
	if len(p.steps) == 0 {
		return &wire.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message"}
	}
	for _, s := range p.steps {
		asks := s.Message.Role != transcript.RoleAssistant && s.Message.Role != transcript.RoleToolResults
		if asks && s.Message.Content == "" && len(s.Message.Parts) == 0 {
			return &wire.MessageError{At: s.At, Reason: "it has no text"}
		}
	}
	return nil
}

// body writes the request. The input comes last, so that requests of one
// session share their beginning.
func (p *plan) body() []byte {
	p.Object(func() {
		p.Key("model").Text(p.req.Model)
		p.Key("stream").Bool(!p.req.Unary)
		p.Key("store").Bool(false)
		p.parameters()
		p.tools()
		p.Key("input").Array(func() {
			for _, s := range p.systems {
				p.say("system", s)
			}
			for _, s := range p.steps {
				p.step(s)
			}
		})
	})
	return p.Bytes()
}

// parameters always sends an effort to models that take one: some do not
// reason without it (D-19).
func (p *plan) parameters() {
	m := p.target.Model
	if m.Include {
		p.Key("include").Array(func() { p.Str("reasoning.encrypted_content") })
	}
	reasons := m.Thinks(p.req.Effort)
	if m.Thinking == catalog.ThinkingEffort {
		p.Key("reasoning").Object(func() {
			p.Key("effort").Text(m.Effort(p.req.Effort))
			if reasons {
				p.Key("summary").Str("auto")
			}
		})
	}
	if len(p.req.OutputSchema) > 0 {
		p.Key("text").Object(func() {
			p.Key("format").Object(func() {
				p.Key("type").Str("json_schema")
				p.Key("name").Str("answer")
				p.Key("schema").Raw(p.req.OutputSchema)
				p.Key("strict").Bool(wire.Strict(p.req.OutputSchema))
			})
		})
	}
	if p.req.MaxOutputTokens > 0 {
		p.Key("max_output_tokens").Int(p.req.MaxOutputTokens)
	}
	if p.req.Temperature != nil && m.Sampling && !reasons {
		p.Key("temperature").Float(*p.req.Temperature)
	}
}

// tools writes the definitions with strict off: left out, the server would try
// to make the schema strict (reference §2.2, O-19).
func (p *plan) tools() {
	if len(p.req.Tools) == 0 {
		return
	}
	p.Key("tools").Array(func() {
		for _, t := range p.req.Tools {
			p.Object(func() {
				p.Key("type").Str("function")
				p.Key("name").Text(t.Name)
				if t.Description != "" {
					p.Key("description").Text(t.Description)
				}
				p.Key("parameters").Raw(wire.Schema(t))
				p.Key("strict").Bool(false)
			})
		}
	})
	switch choice := p.req.ToolChoice; choice {
	case "":
	case "auto", "none":
		p.Key("tool_choice").Str(choice)
	case "any":
		p.Key("tool_choice").Str("required")
	default:
		p.Key("tool_choice").Object(func() {
			p.Key("type").Str("function")
			p.Key("name").Text(choice)
		})
	}
}
