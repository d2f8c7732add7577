package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// Measure returns a listener that records metrics by the conventions of OpenTelemetry
// for generative AI, and the counters rkat.runs.started, rkat.runs.ended and
// rkat.retries. The times are those of the events.
func Measure(meter metric.Meter) (observe.Listener, error) {
	i := &instruments{runs: map[string]*measuredRun{}, toolLabels: map[string]bool{}}
	var errs [8]error
	seconds := func(at int, name, help string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...))
		errs[at] = err
		return h
	}
	count := func(at int, name, unit, help string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(help))
		errs[at] = err
		return c
	}
	short := []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	i.calls = seconds(0, "gen_ai.client.operation.duration", "GenAI operation duration.", short...)
	i.first = seconds(1, "gen_ai.client.operation.time_to_first_chunk", "Time to receive the first chunk.", short...)
	i.tools = seconds(2, "gen_ai.execute_tool.duration", "The duration of a single tool execution.", short...)
	i.agent = seconds(3, "gen_ai.invoke_agent.duration", "The end-to-end duration of a single agent invocation.", .1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
	i.tokens, errs[4] = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864))
	i.started = count(5, "rkat.runs.started", "{run}", "Runs that have begun.")
	i.ended = count(6, "rkat.runs.ended", "{run}", "Runs that have ended, by outcome: completed, failed or interrupted.")
	i.retries = count(7, "rkat.retries", "{request}", "Model calls that were made again.")
	return i.handleEvent, errors.Join(errs[:]...)
}

// instruments record what runs do.
type instruments struct {
	calls, first, tools, agent metric.Float64Histogram
	tokens                     metric.Int64Histogram
	started, ended, retries    metric.Int64Counter

	mu         sync.Mutex
	runs       map[string]*measuredRun // by run id
	toolLabels map[string]bool
}

// measuredRun is a run that has not ended: its first event, and the turn that is open.
type measuredRun struct {
	began agent.Event
	turn  *agent.Event // nil between turns
	delta bool         // the turn has shown something
}

func (i *instruments) handleEvent(e agent.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx := context.Background()
	if e.Type == agent.RunStarted {
		i.runs[e.RunID] = &measuredRun{began: e}
		i.started.Add(ctx, 1)
		return
	}
	r := i.runs[e.RunID]
	if r == nil {
		return
	}
	switch e.Type {
	case agent.TurnStarted:
		i.endTurn(ctx, r, &e, "abandoned")
		r.turn, r.delta = &e, false
	case agent.TextDelta, agent.ReasoningDelta, agent.ToolCallDelta:
		if r.turn != nil && !r.delta {
			r.delta = true
			i.first.Record(ctx, e.TS.Sub(r.turn.TS).Seconds(), metric.WithAttributes(turnAttributes(r.turn)...))
		}
	case agent.Retrying:
		i.retries.Add(ctx, 1, metric.WithAttributes(errorType.String(e.ErrorKind)))
	case agent.TurnCompleted:
		i.recordTokens(ctx, r, &e)
		i.endTurn(ctx, r, &e, "")
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		i.recordTool(ctx, &e)
	case agent.RunCompleted, agent.RunFailed, agent.RunInterrupted:
		i.endRun(ctx, r, &e)
		delete(i.runs, e.RunID)
	default: // nothing to measure
	}
}

// turnAttributes are those of all metrics of model calls.
func turnAttributes(turn *agent.Event) []attribute.KeyValue {
	return []attribute.KeyValue{operation.String("chat"), providerName.String(catalog.ProviderNamed(turn.Provider).TelemetryName), requestModel.String(observe.Label(turn.Model))}
}

func (i *instruments) endTurn(ctx context.Context, r *measuredRun, e *agent.Event, kind string) {
	if r.turn == nil {
		return
	}
	with := turnAttributes(r.turn)
	if kind != "" {
		with = append(with, errorType.String(kind))
	}
	i.calls.Record(ctx, e.TS.Sub(r.turn.TS).Seconds(), metric.WithAttributes(with...))
	r.turn = nil
}

func (i *instruments) recordTokens(ctx context.Context, r *measuredRun, e *agent.Event) {
	if r.turn == nil || e.Usage == nil {
		return
	}
	with := turnAttributes(r.turn)
	i.tokens.Record(ctx, int64(allInputTokens(r.turn.Provider, e.Usage)), metric.WithAttributes(append(with, tokenType.String("input"))...)) //nolint:gosec // a count
	i.tokens.Record(ctx, int64(e.Usage.OutputTokens), metric.WithAttributes(append(with, tokenType.String("output"))...))                    //nolint:gosec // a count
}

func (i *instruments) recordTool(ctx context.Context, e *agent.Event) {
	if e.DurationMS == nil {
		return
	}
	with := []attribute.KeyValue{toolKey.String(boundedToolLabel(i.toolLabels, e.Name)), toolType.String("function"), agentName.String(agentNameValue)}
	if kind := toolErrorKind(e); kind != "" {
		with = append(with, errorType.String(kind))
	}
	i.tools.Record(ctx, float64(*e.DurationMS)/1000, metric.WithAttributes(with...))
}

func (i *instruments) endRun(ctx context.Context, r *measuredRun, e *agent.Event) {
	kind := e.ErrorKind
	if kind == "" && e.Type != agent.RunCompleted {
		kind = string(e.Type)
	}
	i.endTurn(ctx, r, e, kind)
	with := []attribute.KeyValue{agentName.String(agentNameValue), agentKindKey.String(agentKind(&r.began))}
	if kind != "" {
		with = append(with, errorType.String(kind))
	}
	i.agent.Record(ctx, e.TS.Sub(r.began.TS).Seconds(), metric.WithAttributes(with...))
	i.ended.Add(ctx, 1, metric.WithAttributes(append(with, attribute.String("outcome", outcomes[e.Type]))...))
}
