package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Trace returns a listener that makes spans by the conventions of OpenTelemetry for
// generative AI: one for the run (invoke_agent), and below it one for each turn
// (chat) and each call of a tool (execute_tool). The times are those of the events.
// parent returns the context that a run belongs to; nil: none. [TraceContent] adds
// what was said.
func Trace(tracer trace.Tracer, parent func(agent.Event) context.Context) observe.Listener {
	return newSpanListener(tracer, parent).handleEvent
}

func newSpanListener(tracer trace.Tracer, parent func(agent.Event) context.Context) *spanListener {
	return &spanListener{tracer: tracer, parent: parent, runs: map[string]*runSpans{}}
}

type spanListener struct {
	tracer  trace.Tracer
	parent  func(agent.Event) context.Context
	content *contentFilter // nil: no content
	mu      sync.Mutex
	runs    map[string]*runSpans
}

// runSpans are the open spans of a run.
type runSpans struct {
	//nolint:containedctx // the way in which OpenTelemetry nests spans
	ctx     context.Context
	session session.ID
	run     trace.Span
	turn    trace.Span
	tools   map[string]trace.Span // by call id

	provider  string // of the last turn
	turnBegan time.Time
	streams   bool              // the turn has shown something
	parts     []messagePart     // of the turn
	arguments map[string]string // of calls, by id
}

// The names of the conventions for generative AI. They are those of
// github.com/open-telemetry/semantic-conventions-genai, which has made no release:
// docs/gen-ai/gen-ai-spans.md and gen-ai-agent-spans.md as of commit
// 002c8a6ea1c8a42b14a4527db83b3cabcded610a, gen-ai-metrics.md as of commit
// 004902b8cb70aa5ae6ca4ae07132b7daabcd3e10. docs/guides/rkat.md names them, too.
const (
	operation     = attribute.Key("gen_ai.operation.name")
	providerName  = attribute.Key("gen_ai.provider.name")
	requestModel  = attribute.Key("gen_ai.request.model")
	responseID    = attribute.Key("gen_ai.response.id")
	finishReasons = attribute.Key("gen_ai.response.finish_reasons")
	firstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk")
	inputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	outputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	cacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	cacheCreation = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	reasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	tokenType     = attribute.Key("gen_ai.token.type")
	agentName     = attribute.Key("gen_ai.agent.name")
	toolType      = attribute.Key("gen_ai.tool.type")
	conversation  = attribute.Key("gen_ai.conversation.id")
	toolKey       = attribute.Key("gen_ai.tool.name")
	toolCallID    = attribute.Key("gen_ai.tool.call.id")
	errorType     = attribute.Key("error.type")
)

// The names of our own. agentKindKey is main or sub_agent; the others say which operation a
// sub-agent is, and which session started it.
const (
	agentKindKey  = attribute.Key("rkat.agent.kind")
	operationID   = attribute.Key("rkat.operation.id")
	parentSession = attribute.Key("rkat.parent.conversation.id")
)

// agentNameValue is the name of every agent of this SDK.
const agentNameValue = "rkat"

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
		s.turnBegan, s.streams, s.parts, s.provider = e.TS, false, nil, e.Provider
		_, s.turn = t.tracer.Start(s.ctx, "chat "+observe.Label(e.Model), trace.WithTimestamp(e.TS),
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(
				operation.String("chat"), providerName.String(catalog.ProviderNamed(e.Provider).TelemetryName),
				requestModel.String(observe.Label(e.Model)), conversation.String(string(e.SessionID)),
			))
	case agent.TextDelta, agent.ReasoningDelta, agent.ToolCallDelta:
		s.noteFirstDelta(&e)
	case agent.TextComplete, agent.ToolCallRequested:
		s.collectParts(t.content, &e)
	case agent.Retrying:
		s.addSpanEvent("retry", e, errorType.String(e.ErrorKind), attribute.Int("attempt", e.Attempt))
	case agent.Degraded:
		s.addSpanEvent("degraded", e, attribute.String("rule", e.Rule))
	case agent.BudgetWarning:
		s.addSpanEvent("budget_warning", e, attribute.String("budget", string(e.BudgetType)))
	case agent.TurnCompleted:
		if s.turn != nil {
			t.content.setMessage(s.turn, outputMessages, "assistant", string(e.StopReason), s.parts...)
		}
		s.completeTurn(&e)
	case agent.ToolExecutionStarted:
		_, s.tools[e.ID] = t.tracer.Start(s.ctx, "execute_tool "+observe.ToolLabel(e.Name), trace.WithTimestamp(e.TS),
			trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(
				operation.String("execute_tool"), toolKey.String(observe.ToolLabel(e.Name)),
				toolType.String("function"), agentName.String(agentNameValue), toolCallID.String(observe.Label(e.ID)),
			))
		t.content.setToolText(s.tools[e.ID], toolArguments, s.arguments[e.ID])
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		if span := s.tools[e.ID]; span != nil {
			t.content.setToolText(span, toolResult, e.Result)
		}
		s.endTool(&e)
	case agent.RunCompleted, agent.RunFailed, agent.RunInterrupted:
		if t.content != nil && e.Result != "" {
			t.content.setMessage(s.run, outputMessages, "assistant", string(e.StopReason), t.content.textPart(e.Result))
		}
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
	if e.TraceParent != "" { // one that is malformed is ignored, as the standard says
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
			"traceparent": e.TraceParent, "tracestate": e.TraceState,
		})
	}
	for _, above := range t.runs { // a sub-agent belongs to the trace of its parent
		if e.ParentID != "" && above.session == e.ParentID {
			ctx = above.ctx
		}
	}
	s := &runSpans{session: e.SessionID, tools: map[string]trace.Span{}, arguments: map[string]string{}}
	s.ctx, s.run = t.tracer.Start(ctx, "invoke_agent rkat", trace.WithTimestamp(e.TS),
		trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			operation.String("invoke_agent"), agentName.String(agentNameValue),
			conversation.String(string(e.SessionID)), attribute.String("rkat.run.id", e.RunID),
		))
	s.run.SetAttributes(agentKindKey.String(agentKind(&e)))
	if e.ParentID != "" {
		s.run.SetAttributes(operationID.String(string(e.SessionID)), parentSession.String(string(e.ParentID)))
	}
	if t.content != nil && e.Prompt != "" {
		t.content.setMessage(s.run, inputMessages, "user", "", t.content.textPart(e.Prompt))
	}
	t.runs[e.RunID] = s
}

// noteFirstDelta records how long the first delta of a turn took.
func (s *runSpans) noteFirstDelta(e *agent.Event) {
	if s.turn != nil && !s.streams {
		s.streams = true
		s.turn.SetAttributes(firstChunk.Float64(e.TS.Sub(s.turnBegan).Seconds()))
	}
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
	setUsage(s.turn, s.provider, e)
	s.turn.End(trace.WithTimestamp(e.TS))
	s.turn = nil
}

// setUsage records tokens. Input includes what the cache held, also for providers that
// count it apart.
func setUsage(span trace.Span, provider string, e *agent.Event) {
	if e.Usage == nil {
		return
	}
	span.SetAttributes(inputTokens.Int64(int64(allInputTokens(provider, e.Usage))),
		outputTokens.Int64(int64(e.Usage.OutputTokens))) //nolint:gosec // counts
	for key, n := range map[attribute.Key]*uint64{
		cacheRead: e.Usage.CacheReadTokens, cacheCreation: e.Usage.CacheCreationTokens,
		reasoning: e.Usage.ReasoningTokens,
	} {
		if n != nil {
			span.SetAttributes(key.Int64(int64(*n))) //nolint:gosec // a count
		}
	}
}

// allInputTokens adds cached input where the provider counts it beside the rest.
func allInputTokens(provider string, u *transcript.Usage) uint64 {
	n := u.InputTokens
	if catalog.ProviderNamed(provider).Traits.CacheBesideInput {
		n += valueOrZero(u.CacheReadTokens) + valueOrZero(u.CacheCreationTokens)
	}
	return n
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
	if kind := toolErrorKind(e); kind != "" {
		markFailed(span, kind)
	}
	span.End(trace.WithTimestamp(e.TS))
	delete(s.tools, e.ID)
}

// toolErrorKind returns how a tool failed, "" if it did not.
func toolErrorKind(e *agent.Event) string {
	switch {
	case e.Type == agent.ToolExecutionTimedOut:
		return "timeout"
	case e.IsError != nil && *e.IsError:
		return "tool_error"
	}
	return ""
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
	setUsage(s.run, s.provider, e)
	s.run.End(trace.WithTimestamp(e.TS))
}

// markFailed marks a span with the kind of an error. The text of an error may quote a
// user or a model and is left out.
func markFailed(span trace.Span, kind string) {
	span.SetAttributes(errorType.String(kind))
	span.SetStatus(codes.Error, kind)
}
