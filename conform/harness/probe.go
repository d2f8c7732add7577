package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Probe is what an agent is asked outside of any case. It is answered by a model
// without a script, whatever the provider.
type Probe struct {
	// Prompts are given one after the other. Each but the first resumes the session.
	Prompts []string
	// Provider is the one that the agent is led to. "" leaves the choice to the agent.
	Provider string
	// Ingress is the way in. "" is proxy.MITM.
	Ingress string
	// Before and After, where not nil, run in the room before the agent and after it.
	Before, After func(context.Context, Room)
}

// Probed is what came of a Probe. It is plain data.
type Probed struct {
	Processes []evidence.Process
	// Interactions are all requests that arrived, without secrets. Early is how many of
	// them came before the agent was asked.
	Interactions []cassette.Interaction
	Early        int
	// Notices say what the proxy did not let through.
	Notices []proxy.Notice
	// Notes say what did not go as it should, Effects what the agent did beside.
	Notes, Effects []string
	// Err is a fault of the harness, or says why the agent could not be started.
	Err  error
	Took time.Duration
}

// Probe asks the agent in a fresh room.
func (r *Runner) Probe(ctx context.Context, p Probe) (probed Probed) {
	began := time.Now()
	ctx, release := r.guard.attachContext(ctx)
	defer release()
	steps := make([]specs.Step, len(p.Prompts))
	for i, prompt := range p.Prompts {
		steps[i] = specs.Step{Prompt: prompt, Resume: i > 0}
	}
	permutation := Permutation{
		Case: Case{Scenario: &specs.Scenario{Name: "preflight", Steps: steps},
			Target: specs.Target{Provider: p.Provider}},
		Source: evidence.SourceSimulator, Ingress: p.Ingress,
	}
	kept := newCapture(permutation, r.Seed, r.Subject.About())
	model := simulator.New(simulator.Config{Seed: r.Seed, Level: rule.Live})
	kept.steps = &stepRecorder{capture: kept,
		config: record.Config{Transport: simulator.Transport(model), Redactor: redact.New(nil)}}
	defer func() {
		if cause := recover(); cause != nil {
			probed.Err = fmt.Errorf("probe: the harness panicked: %v", cause)
		}
		probed.Took = time.Since(began)
	}()
	processes, err := r.inRoom(ctx, permutation, kept.countRequests(kept.steps), kept,
		func(ctx context.Context, room Room) ([]evidence.Process, error) {
			if p.Before != nil {
				kept.beginStep(0)
				kept.requests = math.MinInt // an agent that takes --version for a prompt has its own limit
				p.Before(ctx, room)
				probed.Early = kept.countInteractions()
			}
			if p.After != nil {
				defer p.After(ctx, room)
			}
			return r.runStepsInRoom(ctx, room, kept)
		})
	probed.Err = errors.Join(err, kept.steps.close())
	probed.Processes, probed.Interactions, probed.Notices = processes, interactionsOf(kept.inOrder()), kept.notices
	probed.Notes, probed.Effects = kept.notes, kept.effects
	return probed
}

// countInteractions waits for the requests of the step and counts all until now.
func (c *capture) countInteractions() int {
	c.steps.beginStep()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = 0
	return len(c.passed)
}
