package rkat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/budget"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/simulator"
)

// work is what one run needs. Whoever opens it closes it.
type work struct {
	options *options
	cfg     *config.Loaded
	store   session.Store
	choice  choice
	resumed bool // the session exists: only flags change what it began with
	schema  *outputSchema
	client  *http.Client
	tools   *toolbox
	demo    *simulator.Server
	metrics *observe.Metrics
	trace   *traceFile
}

func (w *work) close() {
	if w.tools != nil {
		w.tools.close()
	}
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
	if w.demo != nil {
		w.demo.Close()
	}
	if w.store != nil {
		closeStore(w.store)
	}
}

// open reads the configuration and opens the store.
func (a *app) open(cmd *cobra.Command, o *options) (*work, error) {
	cfg, err := a.load(cmd)
	if err != nil {
		return nil, err
	}
	if byFlag(cfg, "agent.max_turns") && cfg.Agent.MaxTurns < 1 {
		return nil, usage("--max-turns %d: a run has at least one turn", cfg.Agent.MaxTurns)
	}
	w := &work{options: o, cfg: cfg}
	if w.schema, err = readSchema(o.schemaFile); err != nil {
		return nil, err
	}
	if o.metricsFile != "" {
		w.metrics = observe.NewMetrics()
	}
	if w.trace, err = createTrace(o.traceFile); err != nil {
		return nil, err
	}
	if o.demo {
		w.store, err = demoStore(cfg, a.env)
	} else {
		w.store, err = openStore(cfg, a.env)
	}
	return w, err
}

// assemble makes the agent of a run, with its tools started.
func (a *app) assemble(ctx context.Context, w *work) (*meerkat.Agent, error) {
	b, err := a.builder(w) //nolint:contextcheck // a listener logs what happens, also when the run was cancelled
	if err != nil {
		return nil, err
	}
	// Before any tool server starts, everything else must be right.
	if _, err := b.Build(); err != nil { //nolint:contextcheck // nothing is started
		return nil, refused(err)
	}
	if w.tools, err = a.openTools(ctx, w.cfg, w.options, w.client); err != nil {
		return nil, err
	}
	if w.tools.Dispatcher != nil {
		b.WithDispatcher(w.tools.Dispatcher)
	}
	if w.tools.router != nil {
		b.WithToolsNow(meerkat.ToolsNow(w.tools.Dispatcher, w.tools.router, policyOf(w.cfg)))
	}
	made, err := b.Build() //nolint:contextcheck // the tools are started already
	return made, refused(err)
}

// refused is what Build says: whatever is not about the model or the key came
// from flags, files or environment.
func refused(err error) error {
	var missing *meerkat.MissingKeyError
	if errors.As(err, &missing) {
		return fmt.Errorf("%w; without a key, try: rkat run --demo \"hi\"", err)
	}
	if _, _, denied := ofModel(err); err != nil && !denied {
		return usageError{err}
	}
	return err
}

// builder makes all of the agent but its tools.
func (a *app) builder(w *work) (*meerkat.AgentBuilder, error) {
	cfg, o := w.cfg, w.options
	b := meerkat.NewAgent().WithStore(w.store).WithModel(w.choice.model).
		WithMaxOutputTokens(cfg.Agent.MaxTokensPerTurn).WithMaxTurns(cfg.Agent.MaxTurns).WithMaxParallelTools(cfg.Tools.MaxConcurrent).
		WithCacheTTL(cfg.Agent.CacheTTL).WithOnInterrupted(agent.Policy(cfg.Agent.OnInterrupted)).
		WithLimits(limitsOf(cfg)).WithWarnAt(warnAt(cfg)).WithRetry(retryOf(cfg)).
		WithCompaction(agent.Compaction{Threshold: cfg.Compaction.Threshold}).
		WithOutputSchema(w.schema.bytes()).WithEvents(a.listen(w))
	if a.format == formatStream {
		b.WithEventBuffer(eventBuffer)
	}
	if cfg.Agent.Temperature != nil {
		b.WithTemperature(*cfg.Agent.Temperature)
	}
	if n := cfg.Agent.RequestsPerMinute; n > 0 {
		b.WithThrottle(rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), 1))
	}
	if o.unary {
		b.WithUnary()
	}
	if w.choice.unlisted {
		b.WithUnlistedModel()
	}
	if o.keyless {
		b.WithoutKey()
	}
	images, err := readImages(o.images)
	if err != nil {
		return nil, err
	}
	if err := w.character(b.WithAttached(images...)); err != nil {
		return nil, err
	}
	return b, a.connect(w, b)
}

// eventBuffer is how many events a slow reader of json-stream may be behind
// before deltas are dropped.
const eventBuffer = 4096

// character sets what a session is started with. Of one that exists only the
// command line changes it: what holds for new sessions does not concern it.
func (w *work) character(b *meerkat.AgentBuilder) error {
	system, flag, err := systemPrompt(w.cfg)
	if err != nil {
		return err
	}
	if !w.resumed || flag {
		b.WithSystemPrompt(system)
	}
	if !w.resumed || byFlag(w.cfg, "agent.effort") {
		b.WithEffort(w.cfg.Agent.Effort)
	}
	return nil
}

// connect sets how the provider is reached.
func (a *app) connect(w *work, b *meerkat.AgentBuilder) (err error) {
	if w.client, err = a.env.httpClient(); err != nil {
		return err
	}
	p := w.choice.provider
	key, address := w.cfg.Key(p), cmp.Or(w.options.baseURL, w.cfg.BaseURL(p))
	if w.options.demo {
		if w.demo, err = a.startDemo(); err != nil {
			return err
		}
		key, address = demoKey, w.demo.URL
	}
	b.WithKey(p, key).WithBaseURL(address).WithHTTPClient(w.client)
	return nil
}

func limitsOf(cfg *config.Loaded) budget.Limits {
	return budget.Limits{
		MaxTokens: cfg.Budget.MaxTokens, MaxDuration: cfg.Budget.MaxDuration,
		MaxToolCalls: cfg.Budget.MaxToolCalls, MaxTurns: cfg.Budget.MaxTurns,
	}
}

// warnAt is the share of a budget that warns; 0 in the configuration never does.
func warnAt(cfg *config.Loaded) float64 {
	if cfg.Agent.BudgetWarningThreshold == 0 {
		return -1
	}
	return cfg.Agent.BudgetWarningThreshold
}

func retryOf(cfg *config.Loaded) provider.RetryPolicy {
	return provider.RetryPolicy{
		MaxRetries: cfg.Retry.MaxRetries, InitialDelay: cfg.Retry.InitialDelay, MaxDelay: cfg.Retry.MaxDelay,
		Multiplier: cfg.Retry.Multiplier, Jitter: provider.DefaultRetry.Jitter,
	}
}
