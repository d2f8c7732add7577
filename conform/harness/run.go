package harness

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// Options say what to run. Config.Subject is mandatory.
type Options struct {
	Config
	// Sources are what answers the agent: the cassettes, the simulator, the providers
	// themselves. Nil: for an agent that holds all, the cassettes, and the simulator where
	// there is none; for others the simulator.
	Sources []evidence.Source
	// Ingress are the ways in. Nil: proxy.MITM.
	Ingress []string
	// Set names the requirements to judge by, see [specs.Set]. "": the current ones.
	Set string
	// TeamRules are judged beside those of the set, see [report.TeamRules]. Each must be
	// seen.
	TeamRules []report.Rule
	// Filter selects by labels, see [ParseFilter] and [Labels]. Empty selects
	// everything.
	Filter string
	// Workers is how many cases run at once. 0: four times the processors for an
	// agent inside this process, else as many as there are processors.
	Workers int
	// Choose, if not nil, is called once before the first case. It gets what is selected
	// and says how often each case is run; a case that is run 0 times is left out.
	Choose func(Plan) (runs func(caseName string) int, err error)
	// Progress, if not nil, is called after each result, never concurrently.
	Progress func(done, total int)
	// Observe, if not nil, is called with each case as it ends and with its results
	// that were selected, never concurrently. It must not keep the run waiting.
	Observe func(CaseRun, []report.Result)
}

// Outcome is what [Run] found. It is plain data.
type Outcome struct {
	// Results are in no particular order.
	Results []report.Result
	// Requirements are the ids that the run was asked for, Expected those of them that
	// a selected case was written to show.
	Requirements, Expected []string
	// Calls are the calls of the agent to a model; nil where no selected case was
	// meant to make one.
	Calls *report.Calls
	// Cases are those that were run, in no particular order, and those that the agent
	// cannot run.
	Cases []report.CaseSummary
	// Interrupted is set when the context or a guard ended the run before its last case.
	Interrupted bool
	// Guard says which guard ended the run, "" when none did.
	Guard string
	// UnseenTeamRules says for each of the team's rules that no case shows why it saw
	// nothing.
	UnseenTeamRules []string
	// Spent is what the live cases have cost; nil where no provider was asked.
	Spent *Spent
}

// Run runs every case that the filter selects and judges it. It returns when no
// case runs any more. The error is a [*FilterError], wraps [ErrNothingSelected],
// or is a fault of the harness; an interruption is none.
func Run(ctx context.Context, o Options) (Outcome, error) {
	rules, err := report.RulesOf(cmp.Or(o.Set, specs.CurrentSet))
	if err != nil {
		return Outcome{}, err
	}
	rules = append(rules, o.TeamRules...)
	about := o.Subject.About()
	selected, err := o.selectRuns(rules)
	if err != nil {
		return Outcome{}, err
	}
	runner, err := NewRunner(o.Config)
	if err != nil {
		return Outcome{}, err
	}
	defer runner.Close()
	if err := selected.chooseRuns(o.Choose); err != nil {
		return Outcome{}, err
	}
	ctx, release := runner.guard.attachContext(ctx)
	defer release()
	c := &collector{rules: rules, holdsAll: about.HoldsAll, Options: o, total: selected.countResults(),
		faults: make([]error, len(selected.cassettes))}
	var group errgroup.Group
	group.SetLimit(cmp.Or(o.Workers, defaultWorkers(about)))
	for _, run := range selected.runs {
		group.Go(func() error {
			if ctx.Err() == nil {
				c.judge(ctx, run, runner.Run(ctx, run.Permutation))
			}
			return nil
		})
	}
	for i, testCase := range selected.cassettes {
		group.Go(func() error {
			if ctx.Err() == nil {
				c.noteCassette(i, VerifyCassette(testCase, runner.Cassettes))
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error; the collector has what went wrong
	out := Outcome{Results: c.results, Requirements: selected.requirements, Expected: selected.expected, Calls: c.calls,
		Cases: append(c.cases, selected.unplayed...), Interrupted: c.done < c.total, Spent: runner.Spent(),
		UnseenTeamRules: c.team.listReasons()}
	if err := runner.Tripped(); err != nil {
		out.Guard = err.Error()
	}
	return out, errors.Join(c.faults...)
}

// defaultWorkers is how many cases run at once: an agent that is a program of its own
// needs a processor, one inside this process waits most of the time.
func defaultWorkers(about About) int {
	if about.Kind == inProcess {
		return 4 * runtime.GOMAXPROCS(0)
	}
	return runtime.GOMAXPROCS(0)
}

// collector gathers what the workers of one Run find. It is safe for concurrent
// use.
type collector struct {
	Options
	rules    []report.Rule
	holdsAll bool
	total    int

	mu      sync.Mutex
	results []report.Result
	cases   []report.CaseSummary
	calls   *report.Calls
	team    unseenRules
	faults  []error // by cassette
	done    int
}

// judge judges one run by all rules and keeps the results of the selected ones.
// A run that the interruption or a guard cut off is not judged.
func (c *collector) judge(ctx context.Context, selected selectedRun, run CaseRun) {
	if ctx.Err() != nil || errors.As(run.Err, new(*GuardError)) {
		return
	}
	var results map[string]report.Result
	var calls report.Calls
	if run.Unsupported == "" || run.Err != nil {
		results, calls = judgeCalls(run, c.rules, c.holdsAll)
	}
	run.Calls = calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if run.Case.HasTraffic() {
		if c.calls == nil {
			c.calls = new(report.Calls)
		}
		*c.calls = c.calls.Add(calls)
	}
	var wanted []report.Result
	for _, rule := range slices.Concat(selected.rules, sourceRules(run.Source)) {
		if r, ok := results[rule.Check.ID]; ok {
			wanted = append(wanted, r)
		}
	}
	for range selected.rules {
		c.countStep()
	}
	c.team.observeRun(run, c.TeamRules)
	c.results = append(c.results, wanted...)
	c.cases = append(c.cases, run.Summary(wanted))
	if c.Observe != nil {
		c.Observe(run, wanted)
	}
}

func (c *collector) noteCassette(i int, fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[i] = fault
	c.countStep()
}

// countStep reports progress. The caller holds mu.
func (c *collector) countStep() {
	c.done++
	if c.Progress != nil {
		c.Progress(c.done, c.total)
	}
}

// Plan is what a run would do: the whole that shards and continued runs are parts of.
// It is plain data.
type Plan struct {
	// Requirements are the ids that the run is asked for.
	Requirements []string
	// Cases are the selected ones, also those that the agent cannot run.
	Cases []PlannedCase
}

// PlannedCase is one case of a plan.
type PlannedCase struct {
	// CaseSummary has a reason where the agent cannot run the case.
	report.CaseSummary
	// Covers are the selected requirements that the case must show.
	Covers []string
}

// Expected returns the requirements that the cases with the given names must show.
func (p Plan) Expected(holds func(caseName string) bool) []string {
	var ids []string
	for _, c := range p.Cases {
		if holds(c.Name) {
			ids = append(ids, c.Covers...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Summaries returns the cases with the given names.
func (p Plan) Summaries(holds func(caseName string) bool) (list []report.CaseSummary) {
	for _, c := range p.Cases {
		if holds(c.Name) {
			list = append(list, c.CaseSummary)
		}
	}
	return list
}

// listPlan lists what is selected.
func (s *selection) listPlan() Plan {
	plan := Plan{Requirements: s.requirements}
	for _, run := range s.runs {
		c := PlannedCase{CaseSummary: run.caseSummary()}
		c.Verdict = decide.Case(decide.CaseFacts{Planned: true})
		for _, rule := range run.rules {
			if id := rule.Requirement.ID; (run.Case.covers(id) || specs.IsTeamRule(id)) &&
				slices.Contains(s.expected, id) && !slices.Contains(c.Covers, id) {
				c.Covers = append(c.Covers, id)
			}
		}
		plan.Cases = append(plan.Cases, c)
	}
	for _, u := range s.unplayed {
		plan.Cases = append(plan.Cases, PlannedCase{CaseSummary: u})
	}
	return plan
}

// chooseRuns leaves of the selection what is to be run, as often as that is.
func (s *selection) chooseRuns(ask func(Plan) (func(string) int, error)) error {
	if ask == nil {
		return nil
	}
	count, err := ask(s.listPlan())
	if err != nil {
		return err
	}
	var runs []selectedRun
	for _, run := range s.runs {
		runs = append(runs, slices.Repeat([]selectedRun{run}, count(run.Name()))...)
	}
	s.runs = runs
	s.cassettes = slices.DeleteFunc(s.cassettes, func(c Case) bool { return count(c.Name()) == 0 })
	return nil
}
