package openai

import (
	"fmt"
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
}

// minOutput is the smallest max_output_tokens (O-6).
const minOutput = 16

// maxCacheKey is the longest prompt_cache_key that the API takes, in bytes.
const maxCacheKey = 64

func newRequestWriter(req *provider.Request, m catalog.Entry) (*requestWriter, error) {
	outline, err := provider.Prepare(req, m)
	if err != nil {
		return nil, err
	}
	if len(req.StopSequences) > 0 {
		return nil, &provider.RequestError{
			Field: "stop sequences", Reason: "the Responses API has none; leave them out",
		}
	}
	if n := req.MaxOutputTokens; n > 0 && n < minOutput {
		return nil, &provider.RequestError{
			Field: "max output tokens", Reason: fmt.Sprintf("%d is below the minimum of %d (O-6)", n, minOutput),
		}
	}
	if n := len(req.CacheKey); n > maxCacheKey {
		return nil, &provider.RequestError{
			Field: "cache key", Reason: fmt.Sprintf("it has %d bytes; use %d at most", n, maxCacheKey),
		}
	}
	w := &requestWriter{Outline: outline}
	return w, w.checkSteps()
}

func (w *requestWriter) checkSteps() error {
	if len(w.Steps) == 0 {
		return &provider.RequestError{Field: "messages", Reason: "there is nothing to send; add a user message"}
	}
	for _, s := range w.Steps {
		asks := s.Message.Role != transcript.RoleAssistant && s.Message.Role != transcript.RoleToolResults
		if asks && s.Message.Content == "" && len(s.Message.Parts) == 0 {
			return &provider.MessageError{At: s.At, Reason: "it has no text"}
		}
	}
	return nil
}

// writeBody writes the request. The input comes last, so that requests of one
// session share their beginning.
func (w *requestWriter) writeBody() []byte {
	w.Object(func() {
		w.Key("model").Text(w.Model)
		w.Key("stream").Bool(!w.Unary)
		w.Key("store").Bool(false)
		w.writeParameters()
		w.writeTools()
		w.Key("input").Array(func() {
			for _, s := range w.Systems {
				w.writeTextMessage("system", s)
			}
			w.writeSteps()
		})
	})
	return w.Bytes()
}

// writeCompactBody writes the request for a compacted window. The system prompt is no
// item of its input, because the window would repeat it.
func (w *requestWriter) writeCompactBody() []byte {
	w.Object(func() {
		w.Key("model").Text(w.Model)
		if len(w.Systems) > 0 {
			w.Key("instructions").Text(strings.Join(w.Systems, "\n\n"))
		}
		w.Key("input").Array(w.writeSteps)
	})
	return w.Bytes()
}

func (w *requestWriter) writeSteps() {
	for _, s := range w.Steps {
		w.writeStep(s)
	}
}

// writeParameters always sends an effort to models that take one: some do not
// reason without it.
func (w *requestWriter) writeParameters() {
	m := w.Target.Model
	if m.Include {
		w.Key("include").Array(func() { w.Str("reasoning.encrypted_content") })
	}
	reasons := m.Thinks(w.Effort)
	if m.Thinking == catalog.ThinkingEffort {
		w.Key("reasoning").Object(func() {
			w.Key("effort").Text(m.Effort(w.Effort))
			if reasons {
				w.Key("summary").Str("auto")
			}
		})
	}
	if len(w.OutputSchema) > 0 {
		w.Key("text").Object(func() {
			w.Key("format").Object(func() {
				w.Key("type").Str("json_schema")
				w.Key("name").Str("answer")
				w.Key("schema").Raw(w.OutputSchema)
				w.Key("strict").Bool(isStrictSchema(w.OutputSchema))
			})
		})
	}
	if w.CacheKey != "" {
		w.Key("prompt_cache_key").Text(w.CacheKey)
	}
	if threshold := w.CompactTokens(); threshold > 0 { // O-6
		w.Key("context_management").Array(func() {
			w.Object(func() {
				w.Key("type").Str("compaction")
				w.Key("compact_threshold").Int(threshold)
			})
		})
	}
	if w.MaxOutputTokens > 0 {
		w.Key("max_output_tokens").Int(w.MaxOutputTokens)
	}
	if w.Temperature != nil && m.Sampling && !reasons {
		w.Key("temperature").Float(*w.Temperature)
	}
}

// hostedTools are the tools that the API runs; code runs in a container of the request.
var hostedTools = map[string]string{
	transcript.HostedSearch: `{"type":"web_search"}`,
	transcript.HostedCode:   `{"type":"code_interpreter","container":{"type":"auto"}}`,
}

// writeTools writes the definitions with strict off: left out, the server would try
// to make the schema strict (O-19).
func (w *requestWriter) writeTools() {
	if len(w.Tools) == 0 {
		return
	}
	deferred := w.deferredTools()
	w.Key("tools").Array(func() {
		if len(deferred) > 0 {
			w.Raw([]byte(`{"type":"tool_search"}`))
		}
		for _, t := range w.Tools {
			if t.Hosted {
				w.Raw([]byte(hostedTools[t.Name]))
				continue
			}
			w.Object(func() {
				w.Key("type").Str("function")
				w.Key("name").Text(t.Name)
				if t.Description != "" {
					w.Key("description").Text(t.Description)
				}
				w.Key("parameters").Raw(provider.InputSchema(t))
				w.Key("strict").Bool(false)
				if deferred[t.Name] {
					w.Key("defer_loading").Bool(true)
				}
			})
		}
	})
	switch choice := w.ToolChoice; choice {
	case "":
	case "auto", "none":
		w.Key("tool_choice").Str(choice)
	case "any":
		w.Key("tool_choice").Str("required")
	default:
		w.Key("tool_choice").Object(func() {
			w.Key("type").Str("function")
			w.Key("name").Text(choice)
		})
	}
}
