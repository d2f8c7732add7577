// Package program makes specs of plays and rules: one Ginkgo spec for each rule
// on each play it speaks of. The specs of go test and of conform run are the
// same.
//
// Ginkgo's tree of specs is global, so a process runs one program at a time.
package program

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

// Config describes a Program. Subject is mandatory.
type Config struct {
	Subject play.Subject
	// Tapes holds the cassettes by the paths of scenario.Play.Cassette. Nil: the
	// simulator answers.
	Tapes fs.FS
	// Filter selects specs by their labels, in Ginkgo's language; empty is all.
	// Labels are the requirement's id, area and level, the provider and the
	// scenario's name.
	Filter string
	// Workers is how many plays run at once. 0: twice the processors.
	Workers int
	// Log receives Ginkgo's own output; nil discards it.
	Log io.Writer
	// Progress, if not nil, is called after each spec.
	Progress func(done, total int)
}

// Program is a set of plays and the rules to judge them by. It runs once.
type Program struct {
	cfg   Config
	plays []scenario.Play
	rules []report.Rule
	// claims holds "play requirement" for what each play was written to show.
	claims map[string]bool
	ahead  *ahead

	// Ginkgo runs one spec after the other, so the rest needs no lock.
	judged      map[string]map[string]report.Result // by play and check
	outcome     Outcome
	faults      []error
	done, total int
}

// New reads the embedded requirements and scenarios.
func New(cfg Config) (*Program, error) {
	if err := checkFilter(cfg.Filter); err != nil {
		return nil, err
	}
	catalogue, err := specs.Requirements()
	if err != nil {
		return nil, err
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		return nil, err
	}
	scenarios, err := specs.Scenarios()
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	cfg.Workers = cmp.Or(cfg.Workers, 2*runtime.GOMAXPROCS(0))
	p := &Program{
		cfg: cfg, rules: rules, plays: scenario.Plays(scenarios),
		claims: map[string]bool{}, judged: map[string]map[string]report.Result{},
	}
	for _, pl := range p.plays {
		for _, id := range pl.Scenario.Requirements {
			p.claims[pl.Name()+" "+id] = true
		}
	}
	return p, nil
}

// Plays returns what is played. The slice is the caller's.
func (p *Program) Plays() []scenario.Play { return slices.Clone(p.plays) }

// Tapes returns where the cassettes are; nil when the simulator answers.
func (p *Program) Tapes() fs.FS { return p.cfg.Tapes }

// source is what answers the agent.
func (p *Program) source() string {
	if p.cfg.Tapes == nil {
		return string(evidence.SourceSimulator)
	}
	return string(evidence.SourceCassette)
}

// Specs registers the specs of one area with Ginkgo.
func (p *Program) Specs(area string) {
	ginkgo.Describe(area, ginkgo.Label(area), func() {
		for _, pl := range p.plays {
			ginkgo.Describe(pl.Name(), ginkgo.Label(pl.Target.Provider, pl.Scenario.Name), func() {
				for _, rule := range p.rules {
					if rule.Requirement.Area() == area && rule.Requirement.Applies.To(pl.Target.Provider, p.source()) {
						p.spec(pl, rule)
					}
				}
			})
		}
	})
}

func (p *Program) spec(pl scenario.Play, rule report.Rule) {
	labels := ginkgo.Label(rule.Requirement.ID, string(rule.Requirement.Level))
	ginkgo.It(rule.Check.ID+" "+rule.Requirement.Title, labels, func(ctx ginkgo.SpecContext) {
		result, seen, err := p.judge(ctx, pl, rule)
		if err != nil {
			ginkgo.AbortSuite(err.Error())
		}
		if !seen {
			ginkgo.Skip("this play does not show it")
		}
		gomega.Expect(result).To(hold())
	})
}

// harness labels the specs about ourselves.
const harness = "harness"

// Sound registers a spec about something the verdicts rest on. If it fails the
// agent is not to blame: Run returns the error.
func (p *Program) Sound(object, sentence string, check func() error) {
	ginkgo.Describe(object, ginkgo.Label(harness), func() {
		ginkgo.It(sentence, func() {
			err := check()
			p.step()
			if err != nil {
				p.faults = append(p.faults, err)
			}
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
		})
	})
}

func (p *Program) step() {
	p.done++
	if p.cfg.Progress != nil {
		p.cfg.Progress(p.done, p.total)
	}
}

// judge returns what rule says of a play. The play is judged by all rules when
// the first of them asks.
func (p *Program) judge(ctx context.Context, pl scenario.Play, rule report.Rule) (r report.Result, seen bool, err error) {
	done, err := p.ahead.await(ctx, pl.Name())
	if err != nil {
		return r, false, err
	}
	if p.judged[pl.Name()] == nil {
		p.judged[pl.Name()] = Judge(done, p.rules)
	}
	if r, seen = p.judged[pl.Name()][rule.Check.ID]; seen {
		p.outcome.Results = append(p.outcome.Results, r)
	}
	p.step()
	return r, seen, nil
}

// complaint says why a result is red, empty if it is not.
func complaint(r report.Result) string {
	switch r.Verdict {
	case report.Fail:
		var all []string
		for _, f := range r.Findings {
			all = append(all, fmt.Sprintf("exchange %d %s: %s", f.Exchange, f.Path, f.Message))
		}
		return strings.Join(all, "\n")
	case report.NotTestable, report.HarnessError:
		return string(r.Verdict) + ": " + r.Reason
	default: // the rest is green
		return ""
	}
}
