package harness

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

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
			if id := rule.Requirement.ID; (run.Case.covers(id) || specs.IsTeamRule(id)) && slices.Contains(s.expected, id) && !slices.Contains(c.Covers, id) {
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
