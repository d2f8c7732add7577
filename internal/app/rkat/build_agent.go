package rkat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/simulator"
)

// preparedRun holds what one run needs. The caller of prepareRun calls closeAll.
type preparedRun struct {
	options *options
	cfg     *config.Loaded
	store   session.Store
	// artifacts are those of all runs of a server; nil: they are opened for this run.
	artifacts artifact.Store
	stopSweep func() // nil: artifacts are not opened, or are those of a server
	choice    modelChoice
	resumed   bool // the session exists already
	// hasSubAgents is set for a session that began with the tools for sub-agents.
	hasSubAgents bool
	schema       *outputSchema
	client       *http.Client
	agent        *meerkat.Agent
	demo         *simulator.Server
	// request is that of a server; listen hears its events instead of the command's
	// own output.
	request server.Request
	listen  observe.Listener
	// exporters write the files of --metrics-file and --trace-file.
	exporters []exporter
}

// closeAll ends what the run started, at once when ctx has ended.
func (w *preparedRun) closeAll(ctx context.Context) {
	if w.agent != nil {
		w.agent.CloseContext(ctx)
	}
	for _, e := range w.exporters { // of a run that never began
		if e.optional {
			_ = e.finish(context.Background()) //nolint:contextcheck // what was measured leaves although the run was interrupted
		}
	}
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
	if w.demo != nil {
		w.demo.Close()
	}
	if w.stopSweep != nil {
		w.stopSweep()
	}
	if w.store != nil {
		closeStore(w.store)
	}
}

// prepareRun reads the configuration and opens the store.
func (a *app) prepareRun(cmd *cobra.Command, o *options) (*preparedRun, error) {
	cfg, err := a.loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	if isSetByFlag(cfg, "agent.max_turns") && cfg.Agent.MaxTurns < 1 {
		return nil, cli.Usage("--max-turns %d: a run has at least one turn", cfg.Agent.MaxTurns)
	}
	w := &preparedRun{options: o, cfg: cfg}
	if w.schema, err = readSchema(o.schemaFile); err != nil {
		return nil, err
	}
	if w.exporters, err = a.openExporters(o, cfg); err != nil {
		return nil, err
	}
	switch {
	case o.shared && cfg.Database != "":
		w.store, err = a.openDatabase(cmd.Context(), cfg)
	case o.demo:
		w.store, err = a.openDemoStore(cfg)
	default:
		w.store, err = a.openStore(cfg)
	}
	return w, err
}

// buildAgent builds the agent of a run. It starts the tool servers.
func (a *app) buildAgent(ctx context.Context, w *preparedRun) (*meerkat.Agent, error) {
	b, err := a.newBuilder(w) //nolint:contextcheck // a listener logs what happens, also when the run was cancelled
	if err != nil {
		return nil, err
	}
	if w.agent, err = b.BuildContext(ctx); err != nil {
		return nil, classifyBuildError(err)
	}
	// Say which tools of the servers are not on offer, and why.
	for _, p := range w.agent.ToolProblems() {
		name := "tool " + p.Tool
		if p.Server != "" {
			name = strings.TrimSuffix("mcp server "+p.Server+": "+name, ": tool ")
		}
		a.noteLine("%s: not on offer: %s", name, strings.Join(strings.Fields(p.Why), " "))
	}
	return w.agent, nil
}

// classifyBuildError marks what Build refuses as wrong usage: it comes from
// flags, files or the environment, unless a model, a key or a tool server is at
// fault.
func classifyBuildError(err error) error {
	if isError[*meerkat.MissingKeyError](err) {
		return fmt.Errorf("%w; without a key, try: rkat run --demo \"hi\"", err)
	}
	_, _, denied := modelCode(err)
	if _, _, unavailable := toolServerCode(err); denied || unavailable || errors.Is(err, context.Canceled) {
		return err
	}
	return &cli.UsageError{Err: err}
}

// newBuilder returns a builder with all that flags and settings say.
func (a *app) newBuilder(w *preparedRun) (*meerkat.AgentBuilder, error) {
	settings, err := w.agentSettings()
	if err != nil {
		return nil, err
	}
	a.dropTemperature(w, &settings)
	attached, err := readAttachments(w.options.attached)
	if err != nil {
		return nil, err
	}
	cfg := *w.cfg
	cfg.Agent, cfg.SystemPromptFile = settings, ""
	cfg.MCPServers, cfg.HostedTools = nil, nil            // see offerTools
	cfg.Provider, cfg.Agent.Model = w.choice.provider, "" // chosen already
	b, err := cfg.NewAgent(w.store)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	b.WithModel(w.choice.model).WithAttached(slices.Concat(attached,
		w.request.Attached)...).WithOutputSchema(w.schema.schemaText()).WithToolChoice(w.options.toolChoice).WithEvents(a.eventListener(w))
	if a.format == formatStream && w.cfg.From("agent.event_buffer").Layer == "" {
		b.WithEventBuffer(eventBuffer)
	}
	if w.request.Approve != nil {
		b.WithApproval(w.request.Approve)
	}
	if ids := w.request.IDs(); ids != nil {
		b.WithNewID(ids)
	}
	if id := w.request.RunID; id != "" {
		b.WithNewRunID(func() (string, error) { return id, nil })
	}
	b.WithTraceContext(w.request.TraceParent, w.request.TraceState).WithSteering(w.request.Steering)
	if w.options.unary {
		b.WithUnary()
	}
	if w.choice.unlisted {
		b.WithUnlistedModel()
	}
	if w.options.keyless {
		b.WithoutKey()
	}
	if err := a.connectProvider(w, b); err != nil {
		return nil, err
	}
	if w.cfg.SubAgents || w.hasSubAgents {
		if err := a.offerSubAgents(w, b); err != nil {
			return nil, err
		}
	}
	return b, a.offerTools(w, b)
}

// eventBuffer is how many events a slow reader of json-stream may be behind
// before deltas are dropped.
const eventBuffer = 4096

// agentSettings returns the settings of the agent. In a session that exists, only
// the command line changes system prompt, effort and metadata: all other layers apply to new
// sessions.
func (w *preparedRun) agentSettings() (agent.Config, error) {
	settings := w.cfg.Agent
	prompt, byFlag, err := systemPrompt(w.cfg)
	if err != nil {
		return settings, err
	}
	settings.System = prompt
	if w.resumed && !byFlag {
		settings.System = ""
	}
	if w.resumed && !isSetByFlag(w.cfg, "agent.effort") {
		settings.Effort = ""
	}
	if w.resumed && !isSetByFlag(w.cfg, "session.metadata") {
		settings.Metadata = nil
	}
	if len(w.request.Metadata) > 0 {
		changed := map[string]string{}
		maps.Copy(changed, settings.Metadata)
		maps.Copy(changed, w.request.Metadata) // "" removes a name
		settings.Metadata = changed
	}
	settings.Limits = settings.Limits.OverriddenBy(w.request.Limits)
	return settings, nil
}

// dropTemperature leaves out a temperature that is meant for all models where this one
// takes none, and says so. One of the command line stays, and is refused.
func (a *app) dropTemperature(w *preparedRun, settings *agent.Config) {
	if settings.Temperature == nil || isSetByFlag(w.cfg, "agent.temperature") {
		return
	}
	entry, err := lookupModel(w.choice.model, w.choice.unlisted)
	if w.choice.model == "" {
		entry, _ = catalog.Default(w.choice.provider)
	} else if err != nil {
		return // the builder says so
	}
	if !entry.TakesTemperature(settings.Effort) {
		settings.Temperature = nil
		a.noteLine("agent.temperature is not sent: %s takes none with this effort", entry.Model)
	}
}

// connectProvider sets key, address and HTTP client of the provider.
func (a *app) connectProvider(w *preparedRun, b *meerkat.AgentBuilder) (err error) {
	if w.client, err = a.env.httpClient(w.cfg.HeaderBytes); err != nil {
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

// offerTools sets the tools of the agent: those of this program, and those of MCP servers.
func (a *app) offerTools(w *preparedRun, b *meerkat.AgentBuilder) error {
	servers, err := a.mcpServers(w.cfg, w.options)
	if err != nil {
		return err
	}
	servers = slices.DeleteFunc(servers, func(s mcp.Server) bool {
		return slices.ContainsFunc(w.request.Servers, func(own mcp.Server) bool { return own.Name == s.Name })
	})
	servers = slices.Concat(servers, w.request.Servers)
	b.WithTool(w.options.ownTools()...).WithTool(w.request.Tools...)
	b.WithMCP(mcp.Options{
		Environ: a.Environ, Log: a.Log(), HTTPClient: w.client, Version: cli.Version(), MaxMessage: w.cfg.MCPBytes,
		DeferAbove: w.cfg.DeferAbove,
	}, servers...)
	b.WithHostedTools(w.cfg.HostedTools...)
	return nil
}

// ownTools returns the tools that are part of this program.
func (o *options) ownTools() []tool.Tool {
	switch {
	case o.conformTools || len(o.conformExtra) > 0:
		return conformTools(o.conformExtra)
	case o.demo:
		return demoTools()
	}
	return nil
}
