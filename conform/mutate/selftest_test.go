package mutate

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
)

func rules(tb testing.TB) []report.Rule {
	tb.Helper()
	catalogue, err := specs.Requirements()
	if err != nil {
		tb.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

func samples(tb testing.TB) []evidence.Evidence {
	tb.Helper()
	good, err := Samples()
	if err != nil {
		tb.Fatal(err)
	}
	return good
}

// TestSelftest is the proof that no check is idle: every mutant of the
// catalogue applies to the samples and dies.
func TestSelftest(t *testing.T) {
	table := Selftest(samples(t), rules(t))
	for _, f := range table.Faults {
		t.Error(f)
	}
	if len(table.Rows) < 50 || len(table.Subjects) != 5 {
		t.Errorf("%d requirements, %d subjects", len(table.Rows), len(table.Subjects))
	}
}

// TestSelftestNotices breaks the referee in each way the self-test guards
// against, and reads what it says.
func TestSelftestNotices(t *testing.T) {
	good, some := samples(t), rules(t)
	some = slices.DeleteFunc(some, func(r report.Rule) bool {
		return !slices.Contains([]string{some[0].Requirement.ID, "SIG-001", "ORD-001", "STR-001"}, r.Requirement.ID)
	})
	for _, c := range []struct {
		name  string
		spoil func([]report.Rule) []report.Rule
		good  []evidence.Evidence
		want  string
	}{
		{"a check that never finds anything", func(rs []report.Rule) []report.Rule {
			return with(rs, "SIG-001/signature-bytes",
				func(run func(*check.Trace) check.Result) func(*check.Trace) check.Result {
					return func(tr *check.Trace) check.Result { return check.Result{Observed: run(tr).Observed} }
				})
		}, good, "SIG-001: no mutant trips check SIG-001/signature-bytes"},
		{"a check that is content with nothing", func(rs []report.Rule) []report.Rule {
			return with(rs, "ORD-001/answered", func(func(*check.Trace) check.Result) func(*check.Trace) check.Result {
				return func(*check.Trace) check.Result { return check.Result{Observed: 1} }
			})
		}, good, "ORD-001/answered: a subject that does nothing is judged pass"},
		{"a check that always finds something", func(rs []report.Rule) []report.Rule {
			return with(rs, "ORD-001/answered", func(func(*check.Trace) check.Result) func(*check.Trace) check.Result {
				return func(*check.Trace) check.Result {
					return check.Result{Observed: 1, Findings: []check.Finding{{Message: "no"}}}
				}
			})
		}, good, "good evidence is judged fail: no"},
		{"a requirement nobody shows", func(rs []report.Rule) []report.Rule { return rs }, good[:1],
			"no good case shows it; record one"},
		{"a mutant only in the catalogue", func(rs []report.Rule) []report.Rule {
			rs[0].Requirement.Mutants = append(slices.Clone(rs[0].Requirement.Mutants), "trim-signatur")
			return rs
		}, good, "mutant trim-signatur does not exist; did you mean trim-signature?"},
		{"a mutant missing in the catalogue", func(rs []report.Rule) []report.Rule {
			rs[0].Requirement.Mutants = rs[0].Requirement.Mutants[1:]
			return rs
		}, good, "stands only in one of catalogue and code"},
		{"a referee that sees one area only", func(rs []report.Rule) []report.Rule {
			return slices.DeleteFunc(rs, func(r report.Rule) bool { return r.Requirement.Area() != "STR" })
		}, good, "subject cheap (asks old models) passes on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := Selftest(c.good, c.spoil(slices.Clone(some)))
			if table.OK() || !slices.ContainsFunc(table.Faults,
				func(f string) bool { return strings.Contains(f, c.want) }) {
				t.Errorf("%q\nwant %q", table.Faults, c.want)
			}
		})
	}
}

// with wraps the body of one check.
func with(rs []report.Rule, id string,
	wrap func(func(*check.Trace) check.Result) func(*check.Trace) check.Result) []report.Rule {
	for i := range rs {
		if rs[i].Check.ID == id {
			rs[i].Check.Run = wrap(rs[i].Check.Run)
		}
	}
	return rs
}

// TestPure: a mutant does not touch what it distorts, distorts it the same way
// each time, and does distort it.
func TestPure(t *testing.T) {
	untouched, given := samples(t), samples(t)
	for _, m := range slices.Concat(All(), wrongSubjects()) {
		for i, ev := range given {
			first, ok := m.Apply(ev)
			if !reflect.DeepEqual(ev, untouched[i]) {
				t.Fatalf("%s changes what it is given", m.ID)
			}
			second, again := m.Apply(ev)
			if ok != again || !reflect.DeepEqual(first, second) {
				t.Errorf("%s is not the same twice", m.ID)
			}
			if ok && reflect.DeepEqual(first, ev) {
				t.Errorf("%s says that it distorts %s and does not", m.ID, ev.Case)
			}
		}
	}
}

func TestAllIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.ID] || m.Does == "" || len(m.Kills) == 0 {
			t.Errorf("%s: twice, without a phrase or without a requirement", m.ID)
		}
		seen[m.ID] = true
	}
}

// survivors are mutants of recordings that no check can be held to notice.
var survivors = map[string]string{
	"rig__":                               "the source replaced ids and tokens by dummies that repeat; without them an edited prompt hides where a turn came from",
	"adk-go__plugin.functioncallmodifier": "the client edits arguments already; with the signature gone nothing is left to know the call by",
	"adk-go__agent.llmagent.TestDelegation_03_ChatToSingle": "another agent's words are quoted after other words of the client; without the signature they may be anybody's",
}

// ownAgentOnly are mutants of what only the agent under test is held to: other
// agents may rely on the provider's memory.
var ownAgentOnly = []string{"drop-include", "store-conversation"}

// TestCorpus distorts what other tools recorded. Real traffic is odder than
// samples: a check must notice there as well, wherever the original passes.
func TestCorpus(t *testing.T) {
	recordings, err := evidence.Load(filepath.Join(corpus.Dir(t), "data"))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]report.Rule{}
	for _, g := range byRequirement(rules(t)) {
		groups[g[0].Requirement.ID] = g
	}
	chosen := corpus.Sample(t, 8)
	applied, excused := 0, 0
	for i, rec := range recordings {
		// Single exchanges are all alike to a mutant; a few of them will do.
		if (len(rec.Evidence.Exchanges) > 1 || i%40 == 0) && chosen() {
			a, e := distort(t, rec, groups)
			applied, excused = applied+a, excused+e
		}
	}
	if applied < 500 {
		t.Errorf("only %d distortions", applied)
	}
	if excused > 12 {
		t.Errorf("%d distortions are excused; the excuses hide something", excused)
	}
	t.Logf("%d distortions, %d excused", applied, excused)
}

func distort(t *testing.T, rec evidence.Recording, groups map[string][]report.Rule) (applied, excused int) {
	t.Helper()
	passes, trace := map[string]bool{}, check.Decode(&rec.Evidence)
	for id, g := range groups {
		v, _ := combineResults(report.JudgeTrace(g, trace))
		passes[id] = v == report.Pass
	}
	for _, m := range All() {
		if slices.Contains(ownAgentOnly, m.ID) ||
			!slices.ContainsFunc(m.Kills, func(id string) bool { return passes[id] }) {
			continue
		}
		bad, ok := m.Apply(rec.Evidence)
		for i := range bad.Exchanges { // the provider never accepted what the mutant made
			bad.Exchanges[i].Provenance = evidence.ProvenanceSynthetic
		}
		if !ok {
			continue
		}
		trace := check.Decode(&bad)
		for _, id := range m.Kills {
			if !passes[id] {
				continue
			}
			applied++
			if v, _ := combineResults(report.JudgeTrace(groups[id], trace)); v == report.Fail || v == report.Warn {
				continue
			}
			excused++
			if excuse(rec.Path) == "" {
				t.Errorf("%s: %s survives on %s", id, m.ID, rec.Path)
			}
		}
	}
	return applied, excused
}

func excuse(path string) string {
	for part, why := range survivors {
		if strings.Contains(path, part) {
			return why
		}
	}
	return ""
}
