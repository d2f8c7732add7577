package telemetry

import (
	"context"
	"encoding/json"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// TraceContent is Trace with content: the prompt and the answer of a run, what the
// model said and called in a turn, and arguments and results of tools. Secrets, such as
// API keys, are replaced wherever they occur. Each text is cut after 8 KiB.
func TraceContent(tracer trace.Tracer, parent func(agent.Event) context.Context, secrets []string) observe.Listener {
	t := newSpanListener(tracer, parent)
	t.content = &contentFilter{}
	for _, s := range secrets {
		if s != "" {
			t.content.secrets = append(t.content.secrets, s, "(key)")
		}
	}
	return t.handleEvent
}

// The names of the conventions for content.
const (
	inputMessages  = attribute.Key("gen_ai.input.messages")
	outputMessages = attribute.Key("gen_ai.output.messages")
	toolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	toolResult     = attribute.Key("gen_ai.tool.call.result")
)

// maxContent bounds one text in a span, maxParts the parts of a message.
const (
	maxContent = 8 << 10
	maxParts   = 64
	// maxArguments bounds how many calls of a run show their arguments.
	maxArguments = 4096
)

// contentFilter turns texts into attributes. A nil filter records nothing.
type contentFilter struct{ secrets []string }

// cleanText returns s as a span may show it.
func (f *contentFilter) cleanText(s string) string {
	s = strings.NewReplacer(f.secrets...).Replace(s)
	if len(s) > maxContent {
		s = s[:maxContent] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// messagePart is a part of a message in the JSON of the conventions.
type messagePart struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"`
}

// setMessage records one message as the JSON text that the conventions ask for.
func (f *contentFilter) setMessage(span trace.Span, key attribute.Key, role, finish string, parts ...messagePart) {
	if f == nil || len(parts) == 0 {
		return
	}
	message := map[string]any{"role": role, "parts": parts}
	if finish != "" {
		message["finish_reason"] = finish
	}
	if text, err := json.Marshal([]any{message}); err == nil {
		span.SetAttributes(key.String(string(text)))
	}
}

func (f *contentFilter) textPart(s string) messagePart {
	return messagePart{Type: "text", Content: f.cleanText(s)}
}

// collectParts keeps what a turn says until it ends.
func (s *runSpans) collectParts(f *contentFilter, e *agent.Event) {
	if f != nil && e.Type == agent.ToolCallRequested && len(s.arguments) < maxArguments {
		s.arguments[e.ID] = string(e.Args)
	}
	switch {
	case f == nil || len(s.parts) >= maxParts:
	case e.Type == agent.TextComplete:
		s.parts = append(s.parts, f.textPart(e.Content))
	case e.Type == agent.ToolCallRequested:
		s.parts = append(s.parts, messagePart{
			Type: "tool_call", ID: observe.Label(e.ID), Name: observe.ToolLabel(e.Name), Arguments: f.arguments(e),
		})
	}
}

// arguments returns the arguments of a call, as JSON if they still are JSON once they
// are clean.
func (f *contentFilter) arguments(e *agent.Event) any {
	text := f.cleanText(string(e.Args))
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

func (f *contentFilter) setToolText(span trace.Span, key attribute.Key, text string) {
	if f != nil && text != "" {
		span.SetAttributes(key.String(f.cleanText(text)))
	}
}
