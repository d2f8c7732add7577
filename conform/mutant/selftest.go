package mutant

import (
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// Table is what a self-test found: whether the referee can be trusted.
type Table struct {
	Rows []Row
	// Subjects are the subjects that do everything or nothing.
	Subjects []Subject
	// Faults are sentences about what is wrong; the referee is sound without any.
	Faults []string
}

// Row says how well one requirement is guarded.
type Row struct {
	Requirement string
	// Passed counts the good cases that show the requirement.
	Passed int
	Kills  []Kill
}

// Kill is what became of one mutant.
type Kill struct {
	Mutant string
	// Applied counts the good cases it could distort, Killed those where a check
	// noticed.
	Applied, Killed int
}

// Subject is a made-up agent and what the referee says of it.
type Subject struct {
	Name string
	// Applied counts the cases it played, Caught those where it was caught.
	Applied, Caught int
}

// OK reports whether nothing is wrong.
func (t Table) OK() bool { return len(t.Faults) == 0 }

func (t *Table) fault(format string, args ...any) {
	t.Faults = append(t.Faults, fmt.Sprintf(format, args...))
}

// Selftest judges good evidence, which must pass, and its distortions, which
// must not. Every requirement needs a good case that shows it and at least one
// mutant there; every mutant that applies must die; a subject that does nothing
// must never pass, one that does everything wrong never succeed.
func Selftest(good []evidence.Evidence, rules []report.Rule) Table {
	var t Table
	for _, group := range byRequirement(rules) {
		t.requirement(good, group)
	}
	t.null(rules)
	for _, s := range wrongSubjects {
		t.wrong(good, rules, s)
	}
	return t
}

// byRequirement groups the rules of each requirement.
func byRequirement(rules []report.Rule) (groups [][]report.Rule) {
	for _, r := range rules {
		if k := len(groups) - 1; k >= 0 && groups[k][0].Requirement.ID == r.Requirement.ID {
			groups[k] = append(groups[k], r)
			continue
		}
		groups = append(groups, []report.Rule{r})
	}
	return groups
}

// requirement fills one row.
func (t *Table) requirement(good []evidence.Evidence, rules []report.Rule) {
	req := rules[0].Requirement
	row := Row{Requirement: req.ID}
	var shown []evidence.Evidence
	for i := range good {
		switch v, findings := judge(rules, &good[i]); v {
		case report.Pass:
			shown = append(shown, good[i])
		case report.NotApplicable, report.NotTestable:
		default:
			t.fault("%s: %s: good evidence is judged %s: %s", req.ID, good[i].Case, v, findings)
		}
	}
	row.Passed = len(shown)
	if len(shown) == 0 {
		t.fault("%s: no good case shows it; record one", req.ID)
	}
	caught := map[string]bool{} // checks
	for _, m := range mutantsOf(req, t) {
		row.Kills = append(row.Kills, t.mutant(m, shown, rules, caught))
	}
	for _, r := range rules {
		if len(shown) > 0 && !caught[r.Check.ID] {
			t.fault("%s: no mutant trips check %s", req.ID, r.Check.ID)
		}
	}
	t.Rows = append(t.Rows, row)
}

// mutantsOf returns the mutants of a requirement; catalogue and code must agree.
func mutantsOf(req specs.Requirement, t *Table) (list []Mutant) {
	for _, m := range All() {
		named, claims := slices.Contains(req.Mutants, m.ID), slices.Contains(m.Kills, req.ID)
		if named != claims {
			t.fault("%s: mutant %s stands only in one of catalogue and code", req.ID, m.ID)
		}
		if claims {
			list = append(list, m)
		}
	}
	for _, id := range req.Mutants {
		if !slices.ContainsFunc(All(), func(m Mutant) bool { return m.ID == id }) {
			t.fault("%s: mutant %s does not exist", req.ID, id)
		}
	}
	return list
}

func (t *Table) mutant(m Mutant, shown []evidence.Evidence, rules []report.Rule, caught map[string]bool) Kill {
	k := Kill{Mutant: m.ID}
	for _, ev := range shown {
		bad, ok := m.Apply(ev)
		if !ok {
			continue
		}
		k.Applied++
		killed := false
		for _, r := range rules {
			if v := r.Judge(&bad).Verdict; v == report.Fail || v == report.Warn {
				killed, caught[r.Check.ID] = true, true
			}
		}
		if killed {
			k.Killed++
		} else {
			t.fault("%s: mutant %s survives on %s", rules[0].Requirement.ID, m.ID, ev.Case)
		}
	}
	if k.Applied == 0 && len(shown) > 0 {
		t.fault("%s: mutant %s finds nothing to distort in any good case", rules[0].Requirement.ID, m.ID)
	}
	return k
}

// judge combines what several rules say; findings is the first one's message.
func judge(rules []report.Rule, ev *evidence.Evidence) (v report.Verdict, finding string) {
	v = report.NotApplicable
	seen := false
	for _, r := range rules {
		res := r.Judge(ev)
		if len(res.Findings) > 0 && finding == "" {
			finding = res.Findings[0].Message
		}
		seen = seen || res.Verdict == report.Pass
		v = report.Worst(v, res.Verdict)
	}
	if seen && v == report.NotTestable {
		return report.Pass, finding // one aspect was shown
	}
	return v, finding
}

// null judges a subject that does nothing at all.
func (t *Table) null(rules []report.Rule) {
	ev := evidence.Evidence{Source: evidence.SourceCassette, Case: "null"}
	s := Subject{Name: "null"}
	for _, r := range rules {
		s.Applied++
		if v := r.Judge(&ev).Verdict; v != report.NotTestable && v != report.NotApplicable {
			t.fault("%s: a subject that does nothing is judged %s", r.Check.ID, v)
			continue
		}
		s.Caught++
	}
	t.Subjects = append(t.Subjects, s)
}

// wrong judges a subject that gets one thing wrong in every request.
func (t *Table) wrong(good []evidence.Evidence, rules []report.Rule, m Mutant) {
	s := Subject{Name: m.ID}
	for _, ev := range good {
		bad, ok := m.Apply(ev)
		if !ok {
			continue
		}
		s.Applied++
		if slices.ContainsFunc(rules, func(r report.Rule) bool { return r.Judge(&bad).Verdict == report.Fail }) {
			s.Caught++
		} else {
			t.fault("subject %s (%s) passes on %s", m.ID, m.Does, ev.Case)
		}
	}
	if s.Applied == 0 {
		t.fault("subject %s (%s) finds nothing to get wrong in any good case", m.ID, m.Does)
	}
	t.Subjects = append(t.Subjects, s)
}
