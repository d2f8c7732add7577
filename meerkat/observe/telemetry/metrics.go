// Package telemetry exports what agents do to Prometheus and OpenTelemetry. It is
// apart from package observe so that a program without either does not link them.
//
//	metrics := telemetry.NewMetrics()
//	http.Handle("/metrics", metrics.Handler())
//	agent, err := meerkat.NewAgent().WithEnv(os.Environ()).WithEvents(metrics.Listen).Build()
//
// [Metrics] counts for Prometheus, [Trace] makes spans and [Measure] metrics of
// OpenTelemetry; all are listeners for
// meerkat.AgentBuilder.WithEvents, joined by observe.All. Their labels and
// attributes hold providers, models, tools and kinds of errors, but no key and no
// text of a user, model or tool; [TraceContent] adds the texts. Package otlp sends
// spans and metrics to a collector.
package telemetry

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// Metrics counts what agents do, for Prometheus. Names of metrics begin with rkat_.
// It is safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	runs       *prometheus.CounterVec
	active     prometheus.Gauge
	turns      *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	calls      *prometheus.HistogramVec
	first      *prometheus.HistogramVec
	tools      *prometheus.HistogramVec
	retries    *prometheus.CounterVec
	losses     *prometheus.CounterVec
	warnings   *prometheus.CounterVec
	left       *prometheus.GaugeVec
	operations *prometheus.CounterVec
	runTimes   *prometheus.HistogramVec
	runTokens  *prometheus.HistogramVec

	mu         sync.Mutex
	openTurns  map[string]*turn // by run
	openRuns   map[string]*openRun
	toolLabels map[string]bool // names of tools that are labels
}

// maxTools is the number of tool names that become labels. A model may call tools
// that do not exist, each time by another name.
const maxTools = 256

const manyTools = "(others)"

// turn is a model call that has not ended.
type turn struct {
	provider, model string
	began           time.Time
	hasDelta        bool
}

// openRun is a run that has not ended.
type openRun struct {
	agent  string // main or sub_agent
	began  time.Time
	tokens uint64
}

// agentKind is the label of the agent of an event: one that a user started, or the
// sub-agent of an operation.
func agentKind(e *agent.Event) string {
	if e.ParentID != "" {
		return "sub_agent"
	}
	return "main"
}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() *Metrics {
	seconds := []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		openTurns:  map[string]*turn{},
		openRuns:   map[string]*openRun{},
		toolLabels: map[string]bool{},
		active:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "rkat_runs_active", Help: "Runs that have begun and not ended."}),
		runs:       newCounter("rkat_runs_total", "Runs that ended, by outcome: completed, failed or interrupted, and kind of error.", "outcome", "error_kind"),
		turns:      newCounter("rkat_turns_total", "Model calls that were answered.", "provider", "model", "stop_reason"),
		tokens:     newCounter("rkat_tokens_total", "Tokens that providers counted, by kind: input, output, reasoning (a part of output), cache_read, cache_creation.", "provider", "model", "kind"),
		calls:      newHistogram("rkat_turn_duration_seconds", "From a turn's first request to its last byte, retries included.", seconds, "provider", "model"),
		first:      newHistogram("rkat_first_token_seconds", "From a turn's first request to the first delta.", seconds, "provider", "model"),
		tools:      newHistogram("rkat_tool_duration_seconds", "How long tools took, by status.", seconds, "tool", "status"),
		retries:    newCounter("rkat_retries_total", "Model calls that were made again, by kind of error.", "provider", "model", "error_kind"),
		losses:     newCounter("rkat_degradations_total", "Losses of a hand-off, by rule.", "rule"),
		warnings:   newCounter("rkat_budget_warnings_total", "Budgets that were nearly spent.", "budget"),
		runTimes:   newHistogram("rkat_run_duration_seconds", "How long runs took, by agent (main, or sub_agent for that of an operation) and outcome.", append(seconds, 1800, 3600), "agent", "outcome"),
		runTokens:  newHistogram("rkat_run_tokens", "Input and output tokens of a run, by agent (main, or sub_agent for that of an operation).", prometheus.ExponentialBuckets(64, 4, 10), "agent"),
		operations: newCounter("rkat_operations_total", "Sub-agents that ended, by status: completed, failed, cancelled or interrupted.", "status"),
	}
	m.left = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rkat_rate_limit_remaining", Help: "What a provider said last is left of a window: requests, tokens, input-tokens, output-tokens.",
	}, []string{"provider", "model", "window"})
	m.registry.MustRegister(m.left, m.active, m.runs, m.turns, m.tokens, m.calls, m.first, m.tools, m.retries, m.losses, m.warnings, m.operations, m.runTimes, m.runTokens)
	return m
}

func newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func newHistogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Registry returns the registry that holds the metrics, to serve or gather them.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Handler serves the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// AddGauge adds a number that is asked for at each scrape. The name is registered once.
func (m *Metrics) AddGauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Listen is the Listener that counts.
func (m *Metrics) Listen(e agent.Event) {
	switch e.Type {
	case agent.RunStarted:
		m.beginRun(&e)
	case agent.RunCompleted, agent.RunFailed, agent.RunInterrupted:
		m.countRunEnd(&e)
	case agent.TurnStarted:
		m.beginTurn(&e)
	case agent.TextDelta, agent.ReasoningDelta, agent.ToolCallDelta:
		m.recordFirstDelta(&e)
	case agent.TurnCompleted:
		m.countTurn(&e)
	case agent.Retrying:
		t := m.openTurn(e.RunID)
		m.retries.WithLabelValues(t.provider, t.model, e.ErrorKind).Inc()
	case agent.ToolExecutionCompleted, agent.ToolExecutionTimedOut:
		if e.DurationMS != nil {
			m.tools.WithLabelValues(m.toolLabel(e.Name), e.Status).Observe(float64(*e.DurationMS) / 1000)
		}
	case agent.OperationEnded:
		m.operations.WithLabelValues(e.Status).Inc()
	case agent.Degraded:
		m.losses.WithLabelValues(e.Rule).Inc()
	case agent.BudgetWarning:
		m.warnings.WithLabelValues(string(e.BudgetType)).Inc()
	default: // the other events add nothing to count
	}
}

// toolLabel is the label of a tool.
func (m *Metrics) toolLabel(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return boundedToolLabel(m.toolLabels, name)
}

// boundedToolLabel returns the label of a tool and keeps it in known, which never has
// more than maxTools.
func boundedToolLabel(known map[string]bool, name string) string {
	name = observe.ToolLabel(name)
	switch {
	case known[name]:
	case len(known) < maxTools:
		known[name] = true
	default:
		return manyTools
	}
	return name
}

// outcomes names how runs end.
var outcomes = map[agent.EventType]string{agent.RunCompleted: "completed", agent.RunFailed: "failed", agent.RunInterrupted: "interrupted"}

func (m *Metrics) beginRun(e *agent.Event) {
	m.active.Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.openRuns[e.RunID] = &openRun{agent: agentKind(e), began: e.TS}
}

func (m *Metrics) countRunEnd(e *agent.Event) {
	m.active.Dec()
	m.runs.WithLabelValues(outcomes[e.Type], e.ErrorKind).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.openTurns, e.RunID)
	if r := m.openRuns[e.RunID]; r != nil {
		m.runTimes.WithLabelValues(r.agent, outcomes[e.Type]).Observe(e.TS.Sub(r.began).Seconds())
		m.runTokens.WithLabelValues(r.agent).Observe(float64(r.tokens))
		delete(m.openRuns, e.RunID)
	}
}

func (m *Metrics) beginTurn(e *agent.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.openTurns[e.RunID] = &turn{provider: e.Provider, model: observe.Label(e.Model), began: e.TS}
}

// openTurn returns a copy of the turn that has not ended; the zero turn if none.
func (m *Metrics) openTurn(run string) turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.openTurns[run]; t != nil {
		return *t
	}
	return turn{}
}

func (m *Metrics) recordFirstDelta(e *agent.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.openTurns[e.RunID]; t != nil && !t.hasDelta {
		t.hasDelta = true
		m.first.WithLabelValues(t.provider, t.model).Observe(e.TS.Sub(t.began).Seconds())
	}
}

func (m *Metrics) countTurn(e *agent.Event) {
	t := m.openTurn(e.RunID)
	m.turns.WithLabelValues(t.provider, t.model, string(e.StopReason)).Inc()
	m.calls.WithLabelValues(t.provider, t.model).Observe(e.TS.Sub(t.began).Seconds())
	for _, l := range e.RateLimits {
		m.left.WithLabelValues(t.provider, t.model, l.Name).Set(float64(l.Remaining))
	}
	if e.Usage == nil {
		return
	}
	m.addRunTokens(e)
	add := func(kind string, n uint64) {
		if n > 0 {
			m.tokens.WithLabelValues(t.provider, t.model, kind).Add(float64(n))
		}
	}
	add("input", e.Usage.InputTokens)
	add("output", e.Usage.OutputTokens)
	add("reasoning", valueOrZero(e.Usage.ReasoningTokens))
	add("cache_read", valueOrZero(e.Usage.CacheReadTokens))
	add("cache_creation", valueOrZero(e.Usage.CacheCreationTokens))
}

func (m *Metrics) addRunTokens(e *agent.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.openRuns[e.RunID]; r != nil {
		r.tokens += e.Usage.InputTokens + e.Usage.OutputTokens
	}
}

func valueOrZero(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// WriteFile writes all metrics to a file in Prometheus' text format, at once:
// a collector that reads text files never sees half of it.
func (m *Metrics) WriteFile(path string) error {
	if err := prometheus.WriteToTextfile(path, m.registry); err != nil {
		return fmt.Errorf("metrics file %s: %w", path, err)
	}
	return nil
}
