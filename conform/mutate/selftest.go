package mutate

import (
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
)

// Table is the result of a self-test: whether the referee can be trusted.
type Table struct {
	Rows []selftestRow `json:"requirements"`
	// Subjects are the subjects that do everything or nothing.
	Subjects []Subject `json:"subjects"`
	// Faults are sentences about what is wrong; there are none when the referee
	// can be trusted.
	Faults []string `json:"faults"`
}

// selftestRow says how well the checks of one requirement notice breaches.
type selftestRow struct {
	Requirement string `json:"requirement"`
	// Passed counts the good cases that show the requirement.
	Passed int          `json:"good"`
	Kills  []mutantKill `json:"mutants"`
}

// mutantKill counts how often one mutant was noticed.
type mutantKill struct {
	Mutant string `json:"mutant"`
	// Applied counts the good cases it could distort, Killed those where a check
	// noticed.
	Applied int `json:"applied"`
	Killed  int `json:"killed"`
}

// Subject is an invented agent and what the referee says of it.
type Subject struct {
	Name string `json:"subject"`
	// Applied counts the cases it could get wrong, Caught those where it failed.
	Applied int `json:"judged"`
	Caught  int `json:"caught"`
}

// OK reports whether nothing is wrong.
func (t Table) OK() bool { return len(t.Faults) == 0 }

func (t *Table) addFault(format string, args ...any) {
	t.Faults = append(t.Faults, fmt.Sprintf(format, args...))
}

// Selftest judges good evidence, which must pass, and its distortions, which
// must not. Every requirement needs a good case that shows it and at least one
// mutant there; every mutant that applies must be killed; a subject that does
// nothing must never pass, one that does everything wrong must fail every case.
func Selftest(good []evidence.Evidence, rules []report.Rule) Table {
	t := Table{Rows: []selftestRow{}, Subjects: []Subject{}, Faults: []string{}}
	judged := make([][]report.Result, len(good))
	for i := range good {
		judged[i] = report.Judge(rules, &good[i])
	}
	from := 0
	for _, group := range byRequirement(rules) {
		results := make([][]report.Result, len(good))
		for i := range good {
			results[i] = judged[i][from : from+len(group)]
		}
		t.addRequirement(good, results, group)
		t.checkExamples(group)
		from += len(group)
	}
	t.addNullSubject(rules)
	for _, s := range wrongSubjects() {
		t.addWrongSubject(good, rules, s)
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

// addRequirement fills one row. results holds what the rules of the requirement
// say of each good case.
func (t *Table) addRequirement(good []evidence.Evidence, results [][]report.Result, rules []report.Rule) {
	req := rules[0].Requirement
	row := selftestRow{Requirement: req.ID, Kills: []mutantKill{}}
	var shown []evidence.Evidence
	for i := range good {
		switch v, message := combineResults(results[i]); v {
		case report.Pass:
			shown = append(shown, good[i])
		case report.NotApplicable, report.NotTestable:
		default:
			t.addFault("%s: %s: good evidence is judged %s: %s", req.ID, good[i].Case, v, message)
		}
	}
	row.Passed = len(shown)
	if len(shown) == 0 {
		t.addFault("%s: no good case shows it; record one", req.ID)
	}
	caught := map[string]bool{} // checks
	for _, m := range mutantsOf(req, t) {
		row.Kills = append(row.Kills, t.killMutant(m, shown, rules, caught))
	}
	for _, r := range rules {
		if len(shown) > 0 && !caught[r.Check.ID] {
			t.addFault("%s: no mutant trips check %s", req.ID, r.Check.ID)
		}
	}
	t.Rows = append(t.Rows, row)
}

// mutantsOf returns the mutants of a requirement; catalogue and code must agree.
func mutantsOf(req specs.Requirement, t *Table) (list []Mutant) {
	var ids []string
	for _, m := range All() {
		ids = append(ids, m.ID)
		named, covers := slices.Contains(req.Mutants, m.ID), slices.Contains(m.Kills, req.ID)
		if named != covers {
			t.addFault("%s: mutant %s stands only in one of catalogue and code", req.ID, m.ID)
		}
		if covers {
			list = append(list, m)
		}
	}
	for _, id := range req.Mutants {
		if !slices.Contains(ids, id) {
			t.addFault("%s: mutant %s does not exist%s", req.ID, id, spelling.Hint(id, ids))
		}
	}
	return list
}

// killMutant applies m to every case that shows the requirement and enters in
// caught the checks that notice.
func (t *Table) killMutant(m Mutant, shown []evidence.Evidence, rules []report.Rule,
	caught map[string]bool) mutantKill {
	k := mutantKill{Mutant: m.ID}
	for _, ev := range shown {
		bad, ok := m.Apply(ev)
		if !ok {
			continue
		}
		k.Applied++
		killed := false
		for _, res := range report.Judge(rules, &bad) {
			if res.Verdict == report.Fail || res.Verdict == report.Warn {
				killed, caught[res.Check] = true, true
			}
		}
		if killed {
			k.Killed++
		} else {
			t.addFault("%s: mutant %s survives on %s", rules[0].Requirement.ID, m.ID, ev.Case)
		}
	}
	if k.Applied == 0 && len(shown) > 0 {
		t.addFault("%s: mutant %s finds nothing to distort in any good case", rules[0].Requirement.ID, m.ID)
	}
	return k
}

// combineResults returns the verdict of several results together and the first message
// of a finding. One aspect that was shown is enough for a pass.
func combineResults(results []report.Result) (v report.Verdict, message string) {
	v = report.NotApplicable
	passed := false
	for _, res := range results {
		if len(res.Findings) > 0 && message == "" {
			message = res.Findings[0].Message
		}
		passed = passed || res.Verdict == report.Pass
		v = report.Worst(v, res.Verdict)
	}
	switch { // what one check did not see does not hide what another one saw
	case v == report.NotTestable && message != "":
		v = report.Warn
	case v == report.NotTestable && passed:
		v = report.Pass
	}
	return v, message
}

// addNullSubject judges a subject that does nothing at all.
func (t *Table) addNullSubject(rules []report.Rule) {
	ev := evidence.Evidence{Source: evidence.SourceCassette, Case: "null"}
	s := Subject{Name: "null"}
	for _, res := range report.Judge(rules, &ev) {
		s.Applied++
		if v := res.Verdict; v != report.NotTestable && v != report.NotApplicable {
			t.addFault("%s: a subject that does nothing is judged %s", res.Check, v)
			continue
		}
		s.Caught++
	}
	t.Subjects = append(t.Subjects, s)
}

// addWrongSubject judges a subject that gets one thing wrong in every request.
func (t *Table) addWrongSubject(good []evidence.Evidence, rules []report.Rule, m Mutant) {
	s := Subject{Name: m.ID}
	for _, ev := range good {
		bad, ok := m.Apply(ev)
		if !ok {
			continue
		}
		s.Applied++
		failed := func(res report.Result) bool { return res.Verdict == report.Fail }
		if slices.ContainsFunc(report.Judge(rules, &bad), failed) {
			s.Caught++
		} else {
			t.addFault("subject %s (%s) passes on %s", m.ID, m.Does, ev.Case)
		}
	}
	if s.Applied == 0 {
		t.addFault("subject %s (%s) finds nothing to get wrong in any good case", m.ID, m.Does)
	}
	t.Subjects = append(t.Subjects, s)
}
