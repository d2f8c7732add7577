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

// maxSeries bounds the series of one metric: a model may call tools that do not exist, each
// time by another name. Further ones are counted together, with otel.metric.overflow.
const maxSeries = 256

// Measure returns a listener that records metrics: those of OpenTelemetry's conventions for
// generative AI, and beside them what the conventions do not have, under names that begin with
// rkat. The times are those of the events. The meter's provider bounds the number of series.
func Measure(meter metric.Meter) (observe.Listener, error) {
	i := &instruments{runs: map[string]*measuredRun{}}
	var errs []error
	seconds := func(name, help string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(
			name, metric.WithUnit("s"), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...),
		)
		errs = append(errs, err)
		return h
	}
	numbers := func(name, unit, help string, bounds ...float64) metric.Int64Histogram {
		h, err := meter.Int64Histogram(
			name, metric.WithUnit(unit), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...),
		)
		errs = append(errs, err)
		return h
	}
	count := func(name, help string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(help))
		errs = append(errs, err)
		return c
	}
	short := []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	i.calls = seconds("gen_ai.client.operation.duration", "GenAI operation duration.", short...)
	i.first = seconds("gen_ai.client.operation.time_to_first_chunk", "Time to receive the first chunk.", short...)
	i.tools = seconds("gen_ai.execute_tool.duration", "The duration of a single tool execution.", short...)
	i.agents = seconds("gen_ai.invoke_agent.duration", "The end-to-end duration of a single agent invocation.",
		.1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
	i.usage = numbers("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.",
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
	i.runTokens = numbers("rkat.run.tokens", "",
		"Input and output tokens of a run, by agent (main, or sub_agent for that of an operation).",
		64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
	i.ended = count("rkat.runs", "Runs that ended, by outcome: completed, failed or interrupted, and kind of error.")
	i.turns = count("rkat.turns", "Model calls that were answered.")
	i.tokens = count(
		"rkat.tokens",
		"Tokens that providers counted, by kind: input, output, reasoning (a part of output), cache_read, cache_creation.",
	)
	i.retries = count("rkat.retries", "Model calls that were made again, by kind of error.")
	i.losses = count("rkat.degradations", "Losses of a hand-off, by rule.")
	i.warnings = count("rkat.budget_warnings", "Budgets that were nearly spent.")
	i.operations = count(
		"rkat.operations", "Sub-agents that ended, by status: completed, failed, cancelled or interrupted.",
	)
	var err error
	i.active, err = meter.Int64UpDownCounter(
		"rkat.runs.active", metric.WithDescription("Runs that have begun and not ended."),
	)
	errs = append(errs, err)
	i.left, err = meter.Int64Gauge("rkat.rate_limit_remaining",
		metric.WithDescription("What a provider said last is left of a window: requests, tokens, input-tokens, output-tokens."))
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	i.active.Add(context.Background(), 0) // shown before the first run begins
	return i.handleEvent, nil
}

// instruments record what runs do.
type instruments struct {
	calls, first, tools, agents                                 metric.Float64Histogram
	usage, runTokens                                            metric.Int64Histogram
	ended, turns, tokens, retries, losses, warnings, operations metric.Int64Counter
	active                                                      metric.Int64UpDownCounter
	left                                                        metric.Int64Gauge

	mu   sync.Mutex
	runs map[string]*measuredRun // by run id
}

// measuredRun is a run that has not ended: its first event, the turn that is open, and the
// tokens so far.
type measuredRun struct {
	began  agent.Event
	turn   *agent.Event // nil between turns
	delta  bool         // the turn has shown something
	tokens uint64
}

// The attributes of the metrics that begin with rkat.
const (
	errorKind    = attribute.Key("error_kind")
	turnProvider = attribute.Key("provider")
	turnModel    = attribute.Key("model")
)

// outcomes names how runs end.
var outcomes = map[agent.EventType]string{
	agent.RunCompleted: "completed", agent.RunFailed: "failed", agent.RunInterrupted: "interrupted",
}

func (i *instruments) handleEvent(e agent.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx := context.Background()
	if e.Type == agent.RunStarted {
		i.runs[e.RunID] = &measuredRun{began: e}
		i.active.Add(ctx, 1)
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
			i.first.Record(ctx, e.TS.Sub(r.turn.TS).Seconds(), conventionAttributes(r.turn))
		}
	case agent.Retrying:
		i.retries.Add(ctx, 1, shortAttributes(r.turn), metric.WithAttributes(errorKind.String(e.ErrorKind)))
	case agent.TurnCompleted:
		i.countTurn(ctx, r, &e)
		i.endTurn(ctx, r, &e, "")
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		if e.DurationMS != nil {
			i.tools.Record(ctx, float64(*e.DurationMS)/1000, failedBy(toolErrorKind(&e)),
				metric.WithAttributes(
					toolKey.String(observe.ToolLabel(e.Name)), toolType.String("function"),
					agentName.String(agentNameValue),
				))
		}
	case agent.OperationEnded:
		i.operations.Add(ctx, 1, metric.WithAttributes(attribute.String("status", e.Status)))
	case agent.Degraded:
		i.losses.Add(ctx, 1, metric.WithAttributes(attribute.String("rule", e.Rule)))
	case agent.BudgetWarning:
		i.warnings.Add(ctx, 1, metric.WithAttributes(attribute.String("budget", string(e.BudgetType))))
	case agent.RunCompleted, agent.RunFailed, agent.RunInterrupted:
		i.endRun(ctx, r, &e)
		delete(i.runs, e.RunID)
	default: // nothing to measure
	}
}

// conventionAttributes name provider and model as the conventions do.
func conventionAttributes(turn *agent.Event) metric.MeasurementOption {
	return metric.WithAttributes(operation.String("chat"),
		providerName.String(catalog.ProviderNamed(turn.Provider).TelemetryName),
		requestModel.String(observe.Label(turn.Model)))
}

// shortAttributes name provider and model for the metrics that begin with rkat; both are empty
// between turns.
func shortAttributes(turn *agent.Event) metric.MeasurementOption {
	if turn == nil {
		turn = &agent.Event{}
	}
	return metric.WithAttributes(turnProvider.String(turn.Provider), turnModel.String(observe.Label(turn.Model)))
}

// failedBy is the attribute of a kind of error, none for "".
func failedBy(kind string) metric.MeasurementOption {
	if kind == "" {
		return metric.WithAttributes()
	}
	return metric.WithAttributes(errorType.String(kind))
}

func (i *instruments) endTurn(ctx context.Context, r *measuredRun, e *agent.Event, kind string) {
	if r.turn != nil {
		i.calls.Record(ctx, e.TS.Sub(r.turn.TS).Seconds(), conventionAttributes(r.turn), failedBy(kind))
		r.turn = nil
	}
}

func (i *instruments) countTurn(ctx context.Context, r *measuredRun, e *agent.Event) {
	if r.turn == nil {
		return
	}
	short := shortAttributes(r.turn)
	i.turns.Add(ctx, 1, short, metric.WithAttributes(attribute.String("stop_reason", string(e.StopReason))))
	for _, l := range e.RateLimits {
		i.left.Record(ctx, l.Remaining, short, metric.WithAttributes(attribute.String("window", l.Name)))
	}
	if e.Usage == nil {
		return
	}
	r.tokens += e.Usage.InputTokens + e.Usage.OutputTokens
	for kind, n := range map[string]uint64{
		"input": e.Usage.InputTokens, "output": e.Usage.OutputTokens, "reasoning": valueOrZero(e.Usage.ReasoningTokens),
		"cache_read": valueOrZero(e.Usage.CacheReadTokens), "cache_creation": valueOrZero(e.Usage.CacheCreationTokens),
	} {
		if n > 0 {
			i.tokens.Add(ctx, int64(n), short,
				metric.WithAttributes(attribute.String("kind", kind))) //nolint:gosec // a count
		}
	}
	for kind, n := range map[string]uint64{
		"input": allInputTokens(r.turn.Provider, e.Usage), "output": e.Usage.OutputTokens,
	} {
		i.usage.Record(ctx, int64(n), conventionAttributes(r.turn),
			metric.WithAttributes(tokenType.String(kind))) //nolint:gosec // a count
	}
}

func (i *instruments) endRun(ctx context.Context, r *measuredRun, e *agent.Event) {
	kind := e.ErrorKind
	if kind == "" && e.Type != agent.RunCompleted {
		kind = string(e.Type)
	}
	i.endTurn(ctx, r, e, kind)
	who := agentKind(&r.began)
	i.active.Add(ctx, -1)
	i.ended.Add(ctx, 1, metric.WithAttributes(
		attribute.String("outcome", outcomes[e.Type]), errorKind.String(e.ErrorKind),
	))
	i.agents.Record(
		ctx, e.TS.Sub(r.began.TS).Seconds(), failedBy(kind),
		metric.WithAttributes(agentName.String(agentNameValue), agentKindKey.String(who)),
	)
	i.runTokens.Record(ctx, int64(r.tokens),
		metric.WithAttributes(attribute.String("agent", who))) //nolint:gosec // a count
}

// agentKind names the agent of an event: one that a user started, or the sub-agent of an
// operation.
func agentKind(e *agent.Event) string {
	if e.ParentID != "" {
		return "sub_agent"
	}
	return "main"
}

func valueOrZero(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
