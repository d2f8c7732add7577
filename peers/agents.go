package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// talk is one conversation: loops calls of one tool, one after the other.
const (
	loops    = 10
	question = "Echo the herons."
	goodbye  = "All herons are here."
)

// models are question for by all agents alike.
var models = []specs.Target{
	{Provider: "anthropic", Model: "claude-opus-4-6"}, {Provider: "openai", Model: "gpt-5.2"},
	{Provider: "gemini", Model: "gemini-3-flash-preview"},
}

func modelOf(provider string) string {
	return models[slices.IndexFunc(models, func(t specs.Target) bool { return t.Provider == provider })].Model
}

// talk is the script of all agents: a thought, words and a call in each reply,
// then the last words.
func talk(call specs.Block) *specs.Scenario {
	s := &specs.Scenario{Name: "herons", Targets: models}
	for n := range loops {
		call.Kind = specs.KindCall
		if call.Args == nil {
			call.Fill = fmt.Sprintf("heron-%d", n+1)
		}
		s.Turns = append(s.Turns, specs.Turn{Emit: []specs.Block{
			{Kind: specs.KindThinking,
				Parts: []string{fmt.Sprintf("I echo heron number %d and look at what comes back.", n+1)}},
			{Kind: specs.KindText, Text: fmt.Sprintf("Heron %d.", n+1)}, call,
		}})
	}
	s.Turns = append(s.Turns, specs.Turn{Emit: []specs.Block{{Kind: specs.KindText, Text: goodbye}}})
	return s
}

// counted is a simulator that counts the replies it gave.
type counted struct {
	http.Handler
	served atomic.Int64
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		c.served.Add(1)
	}
	c.Handler.ServeHTTP(w, r)
}

// provider serves the script to one agent.
func (a *agent) provider() (*simulator.Server, *counted, error) {
	c := &counted{Handler: simulator.New(simulator.Config{Scenario: talk(a.call), Seed: "peers"})}
	s, err := simulator.Open(simulator.ListenConfig{Plain: true}, c)
	return s, c, err
}

// agentsTables runs the agents in turns, apart from any network, and prints what
// starting them and a conversation cost.
func agentsTables(ctx context.Context, o options, work string) error {
	if o.rkat == "" {
		return errors.New("-rkat: missing; name the binary (make bench-agents does)")
	}
	agents := chosenAgents(o, agents(o))
	for _, a := range agents {
		if err := a.prepare(work); err != nil {
			return err
		}
	}
	started, err := takeTurns(ctx, o.rounds*5, agents,
		func(ctx context.Context, a *agent) (figures, error) { return a.start(ctx) })
	if err != nil {
		return err
	}
	startTable(agents, started)
	talked, err := takeTurns(ctx, o.rounds, agents,
		func(ctx context.Context, a *agent) (figures, error) { return a.run(ctx) })
	if err != nil {
		return err
	}
	talkTable(agents, talked)
	return nil
}

func chosenAgents(o options, all []*agent) (some []*agent) {
	for _, a := range all {
		if o.only == "" || strings.Contains(","+o.only+",", ","+a.name+",") {
			some = append(some, a)
		}
	}
	return some
}

// prepare makes the folders of an agent: a home, and a place to work in.
func (a *agent) prepare(work string) error {
	a.dir = filepath.Join(work, "agent-"+a.name)
	for _, dir := range []string{a.home(), a.project()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) home() string    { return filepath.Join(a.dir, "home") }
func (a *agent) project() string { return filepath.Join(a.dir, "project") }

// start is what --version costs.
func (a *agent) start(ctx context.Context) (figures, error) {
	f, out, err := measure(ctx, a.command(ctx, "", "--version"))
	if err != nil {
		return f, fmt.Errorf("--version: %w: %s", err, lastWords(out))
	}
	a.version = versionIn(out)
	return f, nil
}

// run is what the conversation costs. One that did not take place is an error.
func (a *agent) run(ctx context.Context) (figures, error) {
	server, c, err := a.provider()
	if err != nil {
		return figures{}, err
	}
	defer server.Close()
	for path, content := range a.files(a, server.URL) {
		path = filepath.Join(a.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return figures{}, err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return figures{}, err
		}
	}
	f, out, err := measure(ctx, a.command(ctx, server.URL, a.args(a)...))
	a.requests = c.served.Load()
	switch {
	case err != nil:
		return f, fmt.Errorf("%w: %s", err, lastWords(out))
	case !strings.Contains(out, goodbye) || a.requests < loops+1:
		return f, fmt.Errorf("%d requests, no %q: %s", a.requests, goodbye, lastWords(out))
	}
	return f, nil
}

// lastWords is the end of what a program said, on one line.
func lastWords(out string) string {
	out = strings.Join(strings.Fields(out), " ")
	return out[max(0, len(out)-400):]
}

// versionIn is the first word of out that begins with a digit.
func versionIn(out string) string {
	for _, w := range strings.Fields(out) {
		if w = strings.TrimPrefix(w, "v"); w[:1] >= "0" && w[:1] <= "9" {
			return w
		}
	}
	return "?"
}
