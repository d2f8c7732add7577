package rkat

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

// options are the flags that run and resume share.
type options struct {
	model, provider, baseURL  string
	system, effort            string
	maxOutputTokens, maxTurns int
	unary, unlisted, conform  bool
	last                      bool // resume only
}

func (o *options) bind(cmd *cobra.Command, f *format) {
	flags := cmd.Flags()
	flags.StringVarP(&o.model, "model", "m", "", "model; see rkat models")
	flags.StringVar(&o.provider, "provider", "", "anthropic, openai or gemini (default: that of the model)")
	flags.StringVar(&o.baseURL, "base-url", "", "address of the API instead of the provider's own")
	flags.StringVar(&o.system, "system", "", "system prompt; fixed with the first turn")
	flags.StringVar(&o.effort, "effort", "", "none, low, medium, high, xhigh or max")
	flags.IntVar(&o.maxOutputTokens, "max-output-tokens", 0, "limit of each reply (default: the model's)")
	flags.IntVar(&o.maxTurns, "max-turns", agent.DefaultMaxTurns, "model calls of this run")
	flags.BoolVar(&o.unary, "unary", false, "ask for whole replies instead of streams")
	flags.BoolVar(&o.unlisted, "allow-unlisted-model", false, "take a model that is not allowed; the session is marked")
	flags.BoolVar(&o.conform, "conform-tools", false, "offer the tools of the conformance scenarios")
	flags.Lookup("conform-tools").Hidden = true
	flags.VarP(f, "output", "o", "text, json or json-stream")
}

func (o *options) check() error {
	switch {
	case o.maxTurns < 1:
		return usage("--max-turns %d: a run has at least one turn", o.maxTurns)
	case o.maxOutputTokens < 0:
		return usage("--max-output-tokens %d: it cannot be negative; 0 is the model's own limit", o.maxOutputTokens)
	case o.provider != "" && !slices.Contains(providers, o.provider):
		return usage("--provider %s: unknown; one of %s", o.provider, strings.Join(providers, ", "))
	}
	return nil
}

func (a *app) runCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "run PROMPT", Short: "Start a session; - reads the prompt from stdin",
		Args: arguments(1, 1, "one prompt, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), &o, args[0]) },
	}
	o.bind(cmd, &a.format)
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "resume [ID] [PROMPT]", Short: "Go on with a session, with or without a new prompt",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.last {
				return arguments(0, 1, "at most a prompt after --last")(cmd, args)
			}
			return arguments(1, 2, "a session id, or --last, and perhaps a prompt")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.resume(cmd.Context(), &o, args) },
	}
	o.bind(cmd, &a.format)
	cmd.Flags().BoolVar(&o.last, "last", false, "the session that was updated last")
	return cmd
}

func (a *app) run(ctx context.Context, o *options, prompt string) error {
	if err := o.check(); err != nil {
		return err
	}
	text, err := a.prompt(prompt)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return usage("prompt: it is empty; say something")
	}
	store, err := a.store()
	if err != nil {
		return err
	}
	return a.with(o, store, func(agent *meerkat.Agent) (meerkat.RunResult, error) { return agent.Run(ctx, text) })
}

func (a *app) resume(ctx context.Context, o *options, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	store, err := a.store()
	if err != nil {
		return err
	}
	id, args, err := pick(ctx, store, o.last, args)
	if err != nil {
		return err
	}
	text := ""
	if len(args) > 0 {
		if text, err = a.prompt(args[0]); err != nil {
			return err
		}
	}
	stored, err := store.Load(ctx, id)
	if err != nil {
		return err
	}
	o.inherit(&stored)
	return a.with(o, store, func(agent *meerkat.Agent) (meerkat.RunResult, error) { return agent.Resume(ctx, id, text) })
}

// pick returns the session that --last or the first argument means, and the
// other arguments.
func pick(ctx context.Context, store session.Store, last bool, args []string) (session.ID, []string, error) {
	if last {
		id, err := session.Newest(ctx, store)
		return id, args, err
	}
	id, err := session.Find(ctx, store, args[0])
	return id, args[1:], err
}

// inherit fills in what a resumed session knows itself. A model that was let in
// once stays let in; every other is checked again (DESIGN §3.10).
func (o *options) inherit(s *session.Session) {
	if o.model == "" {
		o.model = s.Model
	}
	if o.provider == "" && o.model == s.Model {
		o.provider = s.Provider
	}
	if marked, ok := s.Marked(session.MarkAllowUnlisted); ok && marked == o.model {
		o.unlisted = true
	}
}

// with builds the agent, runs it and prints what came of it.
func (a *app) with(o *options, store session.Store, do func(*meerkat.Agent) (meerkat.RunResult, error)) error {
	client, err := a.env.httpClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	agent, err := a.build(o, store, client)
	if err != nil {
		return err
	}
	result, err := do(agent)
	return a.tell(result, err)
}

func (a *app) build(o *options, store session.Store, client *http.Client) (*meerkat.Agent, error) {
	b := meerkat.NewAgent().WithStore(store).WithModel(o.model).WithSystemPrompt(o.system).WithEffort(o.effort).
		WithMaxOutputTokens(o.maxOutputTokens).WithMaxTurns(o.maxTurns).WithHTTPClient(client).WithEvents(a.event)
	if o.unary {
		b.WithUnary()
	}
	if o.unlisted {
		b.WithUnlistedModel()
	}
	if o.conform {
		for _, t := range conformTools() {
			b.WithTool(t)
		}
	}
	provider, err := o.providerOf(a.env)
	if err != nil {
		return nil, err
	}
	base := o.baseURL
	if base == "" {
		base = a.env.baseURL(provider)
	}
	agent, err := b.WithKey(provider, a.env.key(provider)).WithBaseURL(base).Build()
	if _, _, denied := ofModel(err); err != nil && !denied {
		return nil, usageError{err} // whatever else Build refuses came from flags or environment
	}
	return agent, err
}

// providerOf decides whom to speak to: the flag, the model's provider, the
// first with a key.
func (o *options) providerOf(env environ) (string, error) {
	if o.model != "" {
		entry, err := lookup(o.model, o.unlisted)
		if err != nil {
			return "", err
		}
		if o.provider != "" && o.provider != entry.Provider {
			return "", usage("--provider %s: model %s is one of %s; drop one of the flags", o.provider, o.model, entry.Provider)
		}
		return entry.Provider, nil
	}
	if o.provider != "" {
		return o.provider, nil
	}
	for _, p := range providers {
		if env.key(p) != "" {
			return p, nil
		}
	}
	return providers[0], nil
}

func lookup(model string, unlisted bool) (catalog.Entry, error) {
	if unlisted {
		return catalog.Unlisted(model)
	}
	return catalog.Lookup(model)
}

func (a *app) store() (*jsonl.Store, error) {
	dir := a.sessionDir
	if dir == "" {
		var err error
		if dir, err = a.env.sessions(); err != nil {
			return nil, err
		}
	}
	return jsonl.New(dir, nil), nil
}

// maxPrompt bounds what is read from stdin.
const maxPrompt = 32 << 20

// prompt returns arg, or stdin if arg is "-".
func (a *app) prompt(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.stdin, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("prompt: stdin cannot be read: %w", err)
	}
	if len(text) > maxPrompt {
		return "", usage("prompt: stdin holds more than %d MB; no model takes that", maxPrompt>>20)
	}
	return string(text), nil
}
