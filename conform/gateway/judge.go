// Package gateway judges a gateway from both sides: a driver asks it, and the strict simulator
// answers behind it. What the client sent is compared with what arrived at the simulator, and what
// the simulator answered with what the client got:
//
//	process, err := gateway.Start(ctx, gateway.Command{Args: argv, Upstream: up.URL})
//	run, err := gateway.Judge(ctx, gateway.Config{Wire: wire, Upstream: up, Base: process.URL})
//
// No key, no model and no network are needed. The duties of gateways stand in specs/duties; every
// finding has the id of one, and shows both sides where they differ first.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Config says how a gateway that runs is judged.
type Config struct {
	// Wire is what clients speak to the gateway, UpstreamWire what it speaks to the provider.
	Wire, UpstreamWire *wires.Wire
	Upstream           *Upstream
	// Base is the base URL for clients of the gateway.
	Base string
	// Model is what clients ask for; "" for the models of the scenarios.
	Model string
	// ClientKey and UpstreamKey are made-up keys. PassesKey says that the gateway has no key of its own.
	ClientKey, UpstreamKey string
	PassesKey              bool
	// Header is added to the client's requests.
	Header http.Header
	// Timeout bounds one exchange, 0 for 15 seconds.
	Timeout time.Duration
	// Only, if not nil, selects cases by their names.
	Only func(name string) bool
	// Progress, if not nil, is told how many cases have ended.
	Progress func(done, total int)
	// Ended, if not nil, returns an error once the gateway's process has ended by itself, as [Process.Ended] does.
	Ended func() error
}

type judge struct {
	Config
	transport http.RoundTripper
	// models are those that the gateway asks for, by those that clients ask for.
	models map[string]string
}

// learnModels asks once for each model, to learn which one the gateway asks for. The error says what
// came back where nothing arrived upstream.
func (j *judge) learnModels(ctx context.Context, scenarios []*specs.Scenario) error {
	j.models = map[string]string{}
	for _, s := range scenarios {
		talk := j.newConversation(s, false)
		if _, isKnown := j.models[talk.Model]; isKnown {
			continue
		}
		j.Upstream.Serve(newSimulator(nil, 0))
		talk.Tools, talk.MaxRounds = nil, 1
		a := talk.Say(ctx, "Say hello.")[0]
		seen := j.Upstream.listReceived(ctx)
		switch {
		case len(seen) > 0:
			j.models[talk.Model] = cmp.Or(seen[0].asked.Model, talk.Model)
		case len(j.models) > 0:
			j.models[talk.Model] = talk.Model // the gateway may not have this one
		case a.Err != nil && a.Response.Status == 0:
			return fmt.Errorf("POST %s: the gateway gave no answer and asked nothing upstream: %w",
				a.Request.URL, a.Err)
		default:
			return fmt.Errorf("POST %s: the gateway answered %d and asked nothing upstream, so its configuration does not lead there: %s",
				a.Request.URL, a.Response.Status, report.Shorten(string(a.Response.Body)))
		}
	}
	return nil
}

// defaultTimeout bounds one exchange.
const defaultTimeout = 15 * time.Second

// ErrNothingSelected says that no case is left to play.
var ErrNothingSelected = errors.New("selects no case; leave it out to see their names")

// Outcome is what a gateway showed, case by case, and how long each case took.
type Outcome struct {
	Cases []*report.DutyCase
	Took  []time.Duration
	// Ended says in which case the gateway's process ended, and how; nil if it did not. The cases are
	// those before it.
	Ended error
}

// Judge plays all cases. It returns early with what it has when the context ends.
func Judge(ctx context.Context, c Config) (*Outcome, error) {
	transport := client.NewTransport()
	defer transport.CloseIdleConnections()
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	j := &judge{Config: c, transport: transport}
	scenarios, err := scenariosFor(c.Wire, c.UpstreamWire)
	if err != nil {
		return nil, err
	}
	if len(scenarios) == 0 {
		return nil, fmt.Errorf("no scenario is played on %s with %s behind the gateway", c.Wire.Title,
			c.UpstreamWire.Title)
	}
	cases := slices.DeleteFunc(j.listCases(ctx, scenarios),
		func(k gatewayCase) bool { return c.Only != nil && !c.Only(k.name) })
	if len(cases) == 0 {
		return nil, ErrNothingSelected
	}
	if err := j.learnModels(ctx, scenarios); err != nil {
		return nil, err
	}
	out := &Outcome{}
	for i, k := range cases {
		if ctx.Err() != nil {
			break
		}
		began, f := time.Now(), report.NewDutyCase(k.name, c.Wire.Name)
		k.play(ctx, f)
		out.Cases, out.Took = append(out.Cases, f), append(out.Took, time.Since(began))
		if c.Progress != nil {
			c.Progress(i+1, len(cases))
		}
		if c.Ended == nil {
			continue
		}
		if err := c.Ended(); err != nil {
			for n := len(out.Cases); n > 0 && !isAnswered(out.Cases[n-1]); n-- { // its end may show one case late
				out.Cases, out.Took = out.Cases[:n-1], out.Took[:n-1]
			}
			n := len(out.Cases)
			out.Ended = fmt.Errorf("%w, in case %s; the %d cases from it on are not judged", err, cases[min(n, i)].name,
				len(cases)-n)
			break
		}
	}
	return out, nil
}

// isAnswered reports whether the gateway answered all requests of a case.
func isAnswered(f *report.DutyCase) bool {
	return !slices.ContainsFunc(f.Exchanges, func(x evidence.Exchange) bool { return x.Response.Status == 0 })
}

// gatewayCase is a scenario or a probe with the wires of both sides.
type gatewayCase struct {
	name string
	play func(ctx context.Context, f *report.DutyCase)
}

func (j *judge) listCases(ctx context.Context, scenarios []*specs.Scenario) (list []gatewayCase) {
	for _, s := range scenarios {
		if !j.isPlayable(ctx, s) {
			continue
		}
		name := s.Name + "/" + j.wirePair()
		list = append(list, gatewayCase{name,
			func(ctx context.Context, f *report.DutyCase) { j.playCase(ctx, f, s, true) }})
		if !isBroken(s) {
			list = append(list, gatewayCase{name + "/unary",
				func(ctx context.Context, f *report.DutyCase) { j.playCase(ctx, f, s, false) }})
		}
	}
	plain := scenarios[slices.IndexFunc(scenarios, func(s *specs.Scenario) bool { return s.Name == plainScenario })]
	for _, p := range allProbes() {
		if j.Wire == j.UpstreamWire || p.isForeign {
			list = append(list, gatewayCase{p.name + "/" + j.wirePair(),
				func(ctx context.Context, f *report.DutyCase) { p.ask(j, ctx, plain, f) }})
		}
	}
	return list
}

// plainScenario is what probes ask.
const plainScenario = "thinking-tool-loop"

// wirePair names the wires of a case.
func (j *judge) wirePair() string {
	if j.Wire == j.UpstreamWire {
		return j.Wire.Name
	}
	return fmt.Sprintf("%s-to-%s", j.Wire.Name, j.UpstreamWire.Name)
}
