package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// Trace returns a listener that makes spans by the conventions of OpenTelemetry for
// generative AI: one for the run (invoke_agent), and below it one for each turn
// (chat) and each call of a tool (execute_tool). The times are those of the events.
// parent returns the context that a run belongs to; nil: none.
func Trace(tracer trace.Tracer, parent func(agent.Event) context.Context) observe.Listener {
	t := &spanListener{tracer: tracer, parent: parent, runs: map[string]*runSpans{}}
	return t.handleEvent
}

type spanListener struct {
	tracer trace.Tracer
	parent func(agent.Event) context.Context
	mu     sync.Mutex
	runs   map[string]*runSpans
}

// runSpans are the open spans of a run.
type runSpans struct {
	//nolint:containedctx // the way in which OpenTelemetry nests spans
	ctx   context.Context
	run   trace.Span
	turn  trace.Span
	tools map[string]trace.Span // by call id
}

// The names of the conventions for generative AI.
const (
	operation     = attribute.Key("gen_ai.operation.name")
	providerName  = attribute.Key("gen_ai.provider.name")
	requestModel  = attribute.Key("gen_ai.request.model")
	responseID    = attribute.Key("gen_ai.response.id")
	finishReasons = attribute.Key("gen_ai.response.finish_reasons")
	inputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	outputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	conversation  = attribute.Key("gen_ai.conversation.id")
	toolKey       = attribute.Key("gen_ai.tool.name")
	toolCallID    = attribute.Key("gen_ai.tool.call.id")
	errorType     = attribute.Key("error.type")
)

func (t *spanListener) handleEvent(e agent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == agent.RunStarted {
		t.beginRun(e)
		return
	}
	s := t.runs[e.RunID]
	if s == nil {
		return
	}
	switch e.Type {
	case agent.TurnStarted:
		s.endTurn(e.TS, "abandoned")
		_, s.turn = t.tracer.Start(s.ctx, "chat "+observe.Label(e.Model), trace.WithTimestamp(e.TS), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(operation.String("chat"), providerName.String(catalog.ProviderNamed(e.Provider).TelemetryName), requestModel.String(observe.Label(e.Model)), conversation.String(string(e.SessionID))))
	case agent.Retrying:
		s.addSpanEvent("retry", e, errorType.String(e.ErrorKind), attribute.Int("attempt", e.Attempt))
	case agent.Degraded:
		s.addSpanEvent("degraded", e, attribute.String("rule", e.Rule))
	case agent.BudgetWarning:
		s.addSpanEvent("budget_warning", e, attribute.String("budget", string(e.BudgetType)))
	case agent.TurnCompleted:
		s.completeTurn(&e)
	case agent.ToolExecutionStarted:
		_, s.tools[e.ID] = t.tracer.Start(s.ctx, "execute_tool "+observe.ToolLabel(e.Name), trace.WithTimestamp(e.TS), trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(operation.String("execute_tool"), toolKey.String(observe.ToolLabel(e.Name)), toolCallID.String(observe.Label(e.ID))))
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		s.endTool(&e)
	case agent.RunCompleted, agent.RunFailed, agent.RunInterrupted:
		s.endRun(&e)
		delete(t.runs, e.RunID)
	default: // no span begins or ends
	}
}

func (t *spanListener) beginRun(e agent.Event) {
	ctx := context.Background()
	if t.parent != nil {
		ctx = t.parent(e)
	}
	s := &runSpans{tools: map[string]trace.Span{}}
	s.ctx, s.run = t.tracer.Start(ctx, "invoke_agent rkat", trace.WithTimestamp(e.TS), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(operation.String("invoke_agent"), conversation.String(string(e.SessionID)), attribute.String("rkat.run.id", e.RunID)))
	t.runs[e.RunID] = s
}

// addSpanEvent adds an event to the span that is open.
func (s *runSpans) addSpanEvent(name string, e agent.Event, with ...attribute.KeyValue) {
	span := s.run
	if s.turn != nil {
		span = s.turn
	}
	span.AddEvent(name, trace.WithTimestamp(e.TS), trace.WithAttributes(with...))
}

func (s *runSpans) completeTurn(e *agent.Event) {
	if s.turn == nil {
		return
	}
	s.turn.SetAttributes(finishReasons.StringSlice([]string{string(e.StopReason)}))
	if e.ResponseID != "" {
		s.turn.SetAttributes(responseID.String(observe.Label(e.ResponseID)))
	}
	setUsage(s.turn, e)
	s.turn.End(trace.WithTimestamp(e.TS))
	s.turn = nil
}

func setUsage(span trace.Span, e *agent.Event) {
	if e.Usage != nil {
		span.SetAttributes(inputTokens.Int64(int64(e.Usage.InputTokens)), outputTokens.Int64(int64(e.Usage.OutputTokens))) //nolint:gosec // counts
	}
}

// endTurn ends a turn that had no answer.
func (s *runSpans) endTurn(at time.Time, kind string) {
	if s.turn == nil {
		return
	}
	markFailed(s.turn, kind)
	s.turn.End(trace.WithTimestamp(at))
	s.turn = nil
}

func (s *runSpans) endTool(e *agent.Event) {
	span := s.tools[e.ID]
	if span == nil {
		return
	}
	span.SetAttributes(attribute.String("rkat.tool.status", e.Status))
	switch {
	case e.Type == agent.ToolExecutionTimedOut:
		markFailed(span, "timeout")
	case e.IsError != nil && *e.IsError:
		markFailed(span, "tool_error")
	}
	span.End(trace.WithTimestamp(e.TS))
	delete(s.tools, e.ID)
}

// endRun ends the run and whatever is open in it.
func (s *runSpans) endRun(e *agent.Event) {
	kind := e.ErrorKind
	if kind == "" {
		kind = string(e.Type)
	}
	s.endTurn(e.TS, kind)
	for _, span := range s.tools {
		markFailed(span, kind)
		span.End(trace.WithTimestamp(e.TS))
	}
	if e.Type != agent.RunCompleted {
		markFailed(s.run, kind)
	}
	setUsage(s.run, e)
	s.run.End(trace.WithTimestamp(e.TS))
}

// markFailed marks a span with the kind of an error. The text of an error may quote a
// user or a model and is left out.
func markFailed(span trace.Span, kind string) {
	span.SetAttributes(errorType.String(kind))
	span.SetStatus(codes.Error, kind)
}
