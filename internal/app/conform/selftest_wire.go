package conform

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
)

// A selftest on the wire breaks requirements one by one: an agent that does everything right runs
// its cases, and one of its requests is changed on the way to the referee, as a defective agent
// would have sent it. The referee must fail the agent by the requirement that is broken. Package
// mutate changes evidence that is whole; here all of the harness takes part: the proxy, the
// simulator that may refuse the request, the agent that gets the refusal, and the verdict.

// breach says how one requirement was broken on the wire. It is plain data.
type breach struct {
	Requirement string `json:"requirement"`
	// Mutant and Case name the change and the case in which the referee noticed it, ""
	// where it never did.
	Mutant string `json:"mutant,omitempty"`
	Case   string `json:"case,omitempty"`
	// Unbroken says why no request can break the requirement, "" for one that can.
	Unbroken string `json:"unbroken,omitempty"`
	// Tried counts the changes that were made before one was noticed.
	Tried int `json:"-"`
}

// isNoticed reports whether the referee noticed the breach.
func (b breach) isNoticed() bool { return b.Case != "" }

// maxTries bounds how many changes are tried for one requirement.
const maxTries = 12

// breakOnWire breaks each requirement that an agent can break. The agent of config must do
// everything right.
func breakOnWire(ctx context.Context, config harness.Config) ([]breach, error) {
	rules, err := harness.Rules()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range rules {
		if id := r.Requirement.ID; !r.Check.Source && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	good, err := goodCases()
	if err != nil {
		return nil, err
	}
	list := make([]breach, len(ids))
	var group errgroup.Group
	group.SetLimit(4)
	for i, id := range ids {
		group.Go(func() (err error) {
			own := slices.DeleteFunc(slices.Clone(rules),
				func(r report.Rule) bool { return r.Requirement.ID != id || r.Check.Source })
			list[i], err = breakOne(ctx, config, id, own, good)
			return err
		})
	}
	return list, group.Wait()
}

// goodCase is a case and what the agent sends in it, nil where no recording says it.
type goodCase struct {
	harness.Case
	evidence *evidence.Evidence
}

// goodCases are those with a committed recording, which shows before anything is run what
// can be changed, and then the others.
func goodCases() (list []goodCase, err error) {
	all, err := harness.AllCases()
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if !c.HasCassette() {
			list = append(list, goodCase{Case: c})
			continue
		}
		ev, err := harness.RecordedEvidence(c, cassettes.FS)
		if err != nil {
			return nil, err
		}
		list = append(list, goodCase{c, &ev})
	}
	return list, nil
}

// breakOne tries the mutants of a requirement until the referee notices one.
func breakOne(ctx context.Context, config harness.Config, id string, rules []report.Rule,
	good []goodCase) (breach, error) {
	b := breach{Requirement: id, Unbroken: unbroken[id]}
	mutants := slices.DeleteFunc(append(mutate.All(), mutate.WireOnly()...),
		func(m mutate.Mutant) bool { return !slices.Contains(m.Kills, id) })
	if b.Unbroken != "" {
		return b, nil
	}
	for _, c := range good {
		for _, m := range mutants {
			if b.Tried == maxTries || b.isNoticed() || ctx.Err() != nil {
				return b, ctx.Err()
			}
			if !mayBreak(m, c, id, rules, config.Subject.About()) {
				continue
			}
			changed, noticed, err := tryMutant(ctx, config, m, c.Case, rules)
			if err != nil {
				return b, err
			}
			if changed {
				b.Tried++
			}
			if noticed {
				b.Mutant, b.Case = m.ID, c.Name()
			}
		}
	}
	if b.Tried == 0 {
		b.Unbroken = notSent
	}
	return b, ctx.Err()
}

// mayBreak reports whether it is worth the time to run the case with the mutant. Without
// a recording only the cases that were written to show the requirement are tried.
func mayBreak(m mutate.Mutant, c goodCase, id string, rules []report.Rule, about harness.About) bool {
	if c.evidence != nil {
		return breaksRequest(m, *c.evidence, rules)
	}
	p := harness.Permutation{Case: c.Case, Source: evidence.SourceSimulator}
	return c.HasTraffic() && slices.Contains(c.Scenario.Requirements, id) && p.UnsupportedReason(about) == ""
}

// breaksRequest reports whether the mutant changes a request of the evidence so that the
// rules find something. What it changes of replies and processes is not on the wire.
func breaksRequest(m mutate.Mutant, ev evidence.Evidence, rules []report.Rule) bool {
	bad, ok := m.Apply(ev)
	if !ok || len(bad.Exchanges) != len(ev.Exchanges) {
		return false
	}
	changed := false
	for i := range ev.Exchanges {
		was, is := ev.Exchanges[i], bad.Exchanges[i]
		if !bytes.Equal(was.Response.Body, is.Response.Body) || was.Response.Status != is.Response.Status {
			return false
		}
		changed = changed || !was.Request.SaysTheSame(is.Request)
	}
	return changed && slices.ContainsFunc(report.Judge(rules, &bad), hasFinding)
}

func hasFinding(r report.Result) bool { return len(r.Findings) > 0 }

// tryMutant runs the case with the change on the wire and reports whether a request was
// changed, and whether the referee finds a breach of the rules.
func tryMutant(ctx context.Context, config harness.Config, m mutate.Mutant, c harness.Case,
	rules []report.Rule) (changed, noticed bool, err error) {
	var seen atomic.Bool
	config.Alter = func(ev evidence.Evidence) (evidence.Evidence, bool) {
		bad, ok := m.Apply(ev)
		if ok && len(bad.Exchanges) == len(ev.Exchanges) && changesLast(ev.Exchanges, bad.Exchanges) {
			seen.Store(true)
		}
		return bad, ok
	}
	runner, err := harness.NewRunner(config)
	if err != nil {
		return false, false, err
	}
	defer runner.Close()
	run := runner.Run(ctx, harness.Permutation{Case: c, Source: evidence.SourceSimulator})
	if run.Err != nil {
		return false, false, fmt.Errorf("%s with %s: %w", c.Name(), m.ID, run.Err)
	}
	return seen.Load(), slices.ContainsFunc(report.Judge(rules, run.Evidence), hasFinding), nil
}

// changesLast reports whether the request of the last exchange is another one.
func changesLast(was, is []evidence.Exchange) bool {
	n := len(was) - 1
	return n >= 0 && !was[n].Request.SaysTheSame(is[n].Request)
}

// The reasons why a requirement is not broken by changing one request.
const (
	endOfProcess = "speaks of how a process ends, which is on no wire"
	takesTwo     = "takes two changed requests, and one is changed"
	// severalAgents is the reason where several conversations run on one wire.
	severalAgents = "speaks of several agents, and its mutants change more than one request"
	// notSent is the reason where there is nothing to change.
	notSent = "rkat sends no request in these cases that its mutants can change"
)

// unbroken are the requirements that no change of a single request breaks, and why.
var unbroken = map[string]string{
	"CAS-001": "speaks of cassettes only; here the simulator answers, to a changed request as well",
	"MOD-003": endOfProcess,
	"STR-008": endOfProcess,
	"STR-010": endOfProcess,
	"STR-011": endOfProcess,
	"CAC-001": takesTwo,
	"CAC-003": "takes a request before it that wrote its prompt into the cache, and the first one that can be changed follows none",
	"ERR-005": takesTwo,
	"OPS-002": severalAgents,
	"OPS-003": severalAgents,
	"OPS-004": severalAgents,
	"BUD-001": "counts requests, and one more cannot be made of another",
	"BUD-002": takesTwo,
	"MED-001": "takes a request of more than 32 MB",
}
