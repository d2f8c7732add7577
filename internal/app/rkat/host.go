package rkat

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// agentHost builds the agents of a server. Each request is read like a command line of
// its own, so that the settings of run and resume mean the same there.
type agentHost struct {
	app     *app
	cmd     *cobra.Command
	options *options
	store   session.Store
	base    *preparedRun // holds what all agents share
}

// openHost checks the configuration, and opens what all agents of a server share. The
// caller calls closeHost.
func (a *app) openHost(cmd *cobra.Command, o *options) (*agentHost, error) {
	w, err := a.prepareRun(cmd, o)
	if err != nil {
		if w != nil {
			w.closeAll(cmd.Context())
		}
		return nil, err
	}
	if _, err = chooseModel(w.cfg, o.unlisted); err != nil {
		w.closeAll(cmd.Context())
		return nil, err
	}
	// Without a folder for them only the agents that need artifacts fail.
	if w.artifacts, err = a.openArtifacts(w); err != nil && w.cfg.SubAgents {
		w.closeAll(cmd.Context())
		return nil, err
	}
	return &agentHost{a, cmd, o, w.store, w}, nil
}

func (h *agentHost) closeHost(ctx context.Context) error {
	err := h.base.finishExports(ctx, h.app.noteLine)
	h.base.closeAll(ctx)
	return err
}

// serverHost returns what a server needs of h.
func (h *agentHost) serverHost() server.Host {
	return server.Host{Store: h.store, Artifacts: h.base.artifacts, Version: cli.Version(), Open: h.openAgent}
}

// openAgent implements server.Host.
func (h *agentHost) openAgent(ctx context.Context, r server.Request) (*meerkat.Agent, func(), error) {
	cfg, err := h.app.loadConfigFor(h.cmd, requestSettings(r))
	if err != nil {
		return nil, nil, err
	}
	listen := []observe.Listener{}
	if r.Listen != nil {
		listen = append(listen, observe.Listener(r.Listen))
	}
	for _, e := range h.base.exporters {
		listen = append(listen, e.listen)
	}
	w := &preparedRun{
		options: h.options, cfg: cfg, store: keptStore{h.store}, schema: h.base.schema, artifacts: h.base.artifacts,
		listen: observe.All(listen...), request: r,
	}
	if w.choice, err = h.chooseModel(ctx, w, r); err == nil {
		w.agent, err = h.app.buildAgent(ctx, w)
	}
	if err != nil {
		w.closeAll(ctx)
		return nil, nil, err
	}
	return w.agent, func() { w.closeAll(h.cmd.Context()) }, nil
}

// chooseModel returns the model of a request.
func (h *agentHost) chooseModel(ctx context.Context, w *preparedRun, r server.Request) (modelChoice, error) {
	if r.Session == "" {
		return chooseModel(w.cfg, h.options.unlisted)
	}
	w.resumed = true
	s, err := h.store.Load(ctx, r.Session)
	if err != nil {
		return modelChoice{}, err
	}
	return chooseResumedModel(w.cfg, h.options.unlisted, &s)
}

// keptStore is a store that stays open when a run ends.
type keptStore struct{ session.Store }

// requestSettings returns what a request changes in the settings of the command line:
// a value replaces a flag, and "" removes it.
func requestSettings(r server.Request) map[string]string {
	changed := map[string]string{}
	for key, value := range map[string]string{
		keyModel: r.Model, "agent.effort": r.Effort, "agent.system_prompt": r.System,
	} {
		if value != "" || r.Session != "" { // a session keeps its own
			changed[key] = value
		}
	}
	if _, named := changed[keyModel]; named {
		changed[keyProvider] = "" // the model says which
	}
	if _, named := changed["agent.system_prompt"]; named {
		changed["agent.system_prompt_file"] = ""
	}
	if r.Session != "" {
		changed["session.metadata"] = ""
	}
	return changed
}

// loadConfigFor is loadConfig for one request of a server.
func (a *app) loadConfigFor(cmd *cobra.Command, changed map[string]string) (*config.Loaded, error) {
	o := a.configOptions(cmd)
	for key, value := range changed {
		delete(o.Flags, key)
		if value != "" {
			o.Flags[key], o.Names[key] = value, key
		}
	}
	cfg, err := config.Load(o)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return cfg, nil
}

// bindServerFlags adds the flags that servers share with run.
func (a *app) bindServerFlags(cmd *cobra.Command, o *options) {
	a.bindRequestFlags(cmd, o)
	cli.BindSettings(cmd, cmd.Flags(), a.settings, config.RunCommands)
}
