package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

func TestMatchesName(t *testing.T) {
	const check, name = "SIG-007/leading", "thinking-tool-loop/gemini@simulator@base-url"
	for pattern, want := range map[string]bool{
		"SIG-007/**":         true,
		"SIG-007/**/gemini":  true,
		"SIG-007/**/gemini*": true,
		"SIG-007/leading/thinking-tool-loop/gemini":                    true,
		"SIG-007/leading/thinking-tool-loop/gemini@simulator@base-url": true,
		"SIG-007/leading/thinking-tool-loop/gemini@simulator":          false,
		"**/gemini@*@base-url":                                         true,
		"**/thinking-*/*":                                              true,
		"**":                                                           true,
		"*/*/*/*":                                                      true,
		"*/*/*":                                                        false,
		"**/**/**":                                                     true,
		"SIG-00/**":                                                    false,
		"SIG-007/**/openai":                                            false,
		"SIG-007/*":                                                    false,
		"**/leading/**/leading/**":                                     false,
		"SIG-007/leading/**/gemini/more":                               false,
	} {
		if err := checkPattern(pattern); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		if got := matchesName(pattern, check, name); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
	for _, pattern := range []string{"", "SIG-007", "SIG-007//x", "a/[", "a/b**", "/a",
		strings.Repeat("a/", 20) + "a"} {
		if err := checkPattern(pattern); err == nil {
			t.Errorf("%q is taken for a pattern", pattern)
		}
	}
}

const goodEntry = `- pattern: SIG-007/**/gemini
  reason: resume drops signatures
  issue: https://example.com/issues/7
  expires: 2027-03-01
`

func TestParseBaseline(t *testing.T) {
	list, err := ParseBaseline("b.yaml",
		[]byte("# known\n\n"+goodEntry+strings.Replace(goodEntry, "007", "008", 1)+"  flaky: true\n"))
	if err != nil || len(list) != 2 || list[0].Flaky || !list[1].Flaky || list[1].Pattern != "SIG-008/**/gemini" ||
		list[0].Expires != "2027-03-01" {
		t.Fatalf("%+v %v", list, err)
	}
	for _, empty := range []string{"", "# nothing is known to fail\n", "[]\n", "null\n"} {
		if list, err := ParseBaseline("b.yaml", []byte(empty)); err != nil || len(list) > 0 {
			t.Errorf("%q: %v %v", empty, list, err)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(goodEntry, "reason", "reson",
			1): `b.yaml:2:3: key "[0].reson" is not known; did you mean reason?`,
		strings.Replace(goodEntry, "  reason: resume", "  x: y", 1): `b.yaml:2:3: key "[0].x" is not known`,
		strings.Replace(goodEntry, "2027-03-01", "soon", 1):         `b.yaml:4:12: [0].expires: "soon" is not a day`,
		strings.Replace(goodEntry, "https://example.com", "ask",
			1): `b.yaml:3:10: [0].issue: "ask/issues/7" is not an address`,
		strings.Replace(goodEntry, "SIG-007/**/gemini", "SIG-07",
			1): `b.yaml:1:12: [0].pattern: "SIG-07" names no case`,
		"- pattern: '**'\n":             `b.yaml:1:3: key "[0].reason" is missing`,
		goodEntry + "\n" + goodEntry:    `b.yaml:6:12: [1].pattern: "SIG-007/**/gemini" stands in line 1 already`,
		goodEntry + "  flaky: maybe\n":  `b.yaml:5:10: [0].flaky: is a text; it must be true or false`,
		goodEntry + "  ends_case: 3\n":  `b.yaml:5:14: [0].ends_case: is a number`,
		goodEntry + "  reason: again\n": `b.yaml:5:3: key "[0].reason" stands twice`,
		"pattern: SIG-007/**\n":         `b.yaml:1:1: is a mapping; it must be a list`,
		"- SIG-007/**\n":                `b.yaml:1:3: [0]: is a text; it must be a mapping`,
		"- pattern: [a]\n":              `b.yaml:1:12: [0].pattern: is a list; it must be a text`,
		"- pattern: a\n b: c\n":         `b.yaml:`,
		goodEntry + "---\n" + goodEntry: `more than one YAML document`,
		"- pattern: x\n- pattern: y\n":  `b.yaml:2:12: [1].pattern: "y" names no case`,
		strings.Repeat("- a\n", 3000):   `has 3000 entries`,
		strings.Repeat("#", 2<<20):      `at most 1048576 are read`,
	} {
		if _, err := ParseBaseline("b.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParseBaseline(f *testing.F) {
	f.Add([]byte(goodEntry))
	f.Add([]byte("- &a {pattern: '**', reason: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseBaseline("b", data)
		if err != nil {
			return
		}
		for _, e := range list {
			if err := errors.Join(checkPattern(e.Pattern), e.checkFresh()); err != nil {
				t.Errorf("%+v is accepted: %v", e, err)
			}
			matchesName(e.Pattern, "SIG-007/leading", "a/b")
		}
	})
}

func excuse(pattern string) UsedExcuse {
	return UsedExcuse{Excuse: Excuse{Pattern: pattern, Reason: "known", Issue: "https://example.com/1",
		Expires: "2027-01-01"}}
}

func flake() UsedExcuse {
	e := excuse("SIG-001/**/openai")
	e.Flaky = true
	return e
}

// judgedRun is a run of two cases with the given verdicts of SIG-001.
func judgedRun(r Run, first, second Verdict) *Run {
	r.Set = NewSet("current", []string{"SIG-001"})
	r.Started = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	r.Policy.FailOn = Fail
	r.Cases = []CaseSummary{{Name: "a/openai"}, {Name: "b/gemini"}}
	result := func(name string, v Verdict) Result {
		res := Result{Requirement: "SIG-001", Consequence: specs.Refused, Check: "SIG-001/signature-bytes", Case: name,
			Verdict: v, Observed: 1, Findings: []Finding{}}
		if r.Repeat > 1 {
			res.Runs = Counts{v: r.Repeat}
		}
		return res
	}
	return NewRun(r, []Result{result("a/openai", first), result("b/gemini", second)})
}

func TestBaselineVerdicts(t *testing.T) {
	for _, c := range []struct {
		name          string
		run           Run
		baseline      UsedExcuse
		first, second Verdict
		want          Verdict // of the entry
		overall       Verdict
		exit          int
	}{
		{"excused", Run{}, excuse("SIG-001/**/openai"), Fail, Pass, KnownFail, KnownFail, ExitOK},
		{"another failure", Run{}, excuse("SIG-001/**/openai"), Fail, Fail, KnownFail, Fail, ExitFailure},
		{"mended", Run{}, excuse("SIG-001/**/openai"), Pass, Pass, Stale, Stale, ExitFailure},
		{"misspelt", Run{}, excuse("SIG-001/**/opnai"), Pass, Pass, Stale, Stale, ExitFailure},
		{"not selected", Run{Filter: "x"}, excuse("ORD-001/**"), Pass, Pass, NotApplicable, Pass, ExitOK},
		{"a warning", Run{}, excuse("SIG-001/**/openai"), Warn, Pass, KnownFail, KnownFail, ExitOK},
		{"the harness", Run{}, excuse("**"), HarnessError, Pass, Stale, HarnessError, ExitHarness},
		{"not testable", Run{}, excuse("**"), NotTestable, Pass, Stale, Stale, ExitFailure},
		{"a guard", Run{Guard: "real key"}, excuse("**"), Fail, Pass, KnownFail, NotTestable, ExitGuard},
		{"a shard", Run{Shard: &Shard{1, 2}}, excuse("SIG-001/**/anthropic"), Pass, Pass, NotApplicable, Pass, ExitOK},
		{"an unlisted flake", Run{Repeat: 2}, excuse("SIG-001/**/openai"), Flaky, Pass, Stale, Stale, ExitFailure},
		{"a listed flake", Run{Repeat: 2}, flake(), Flaky, Pass, KnownFail, KnownFail, ExitOK},
		{"a flake that fails always", Run{Repeat: 2}, flake(), Fail, Pass, Stale, Fail, ExitFailure},
		{"a flake that is gone", Run{Repeat: 2}, flake(), Pass, Pass, Stale, Stale, ExitFailure},
		{"a flake in one run that fails", Run{}, flake(), Fail, Pass, KnownFail, KnownFail, ExitOK},
		{"a flake in one run that passes", Run{}, flake(), Pass, Pass, NotApplicable, Pass, ExitOK},
	} {
		c.run.Baseline = []UsedExcuse{c.baseline}
		r := judgedRun(c.run, c.first, c.second)
		if r.Baseline[0].Verdict != c.want || r.Summary.Verdict != c.overall || r.Summary.Exit != c.exit {
			t.Errorf("%s: entry %s (%s), run %s, exit %d", c.name, r.Baseline[0].Verdict, r.Baseline[0].Problem,
				r.Summary.Verdict, r.Summary.Exit)
		}
	}
	expired := excuse("SIG-001/**")
	expired.Expires = "2026-12-01"
	if r := judgedRun(Run{Baseline: []UsedExcuse{expired}}, Fail, Pass); r.Baseline[0].Verdict != Stale ||
		r.Summary.Verdict != Fail || !strings.Contains(r.Baseline[0].Problem, "expired on 2026-12-01") {
		t.Errorf("%+v", r.Baseline)
	}
	two := judgedRun(Run{Filter: "x", Baseline: []UsedExcuse{excuse("SIG-001/**/openai"), excuse("ORD-001/**")}},
		Fail, Pass)
	if two.Baseline[1].Verdict != NotApplicable || two.Summary.Exit != ExitOK {
		t.Errorf("an entry that the filter leaves out: %+v", two.Baseline)
	}
}

// What a known failure kept from being seen is known with it, and nothing else.
func TestBaselineOfCasesThatEndEarly(t *testing.T) {
	result := func(id, name string, v Verdict) Result {
		return Result{Requirement: id, Check: id + "/x", Case: name, Verdict: v, Findings: []Finding{}}
	}
	ending := excuse("SIG-001/x/a/openai")
	ending.EndsCase = true
	for _, c := range []struct {
		name  string
		entry UsedExcuse
		want  string
	}{
		{"the whole case", excuse("**/a/openai"), "known-fail known-fail not-testable known-fail"},
		{"one failure", excuse("SIG-001/x/a/openai"), "known-fail not-testable not-testable fail"},
		{"one failure that ends its case", ending, "known-fail known-fail not-testable fail"},
	} {
		r := NewRun(Run{Baseline: []UsedExcuse{c.entry}, Cases: []CaseSummary{{Name: "a/openai"}, {Name: "b/openai"}}},
			[]Result{result("SIG-001", "a/openai", Fail), result("SIG-002", "a/openai", NotTestable),
				result("SIG-003", "a/openai", Fail), result("SIG-002", "b/openai", NotTestable)})
		var got []string
		for _, res := range r.Results {
			got = append(got, string(res.Verdict))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	r := NewRun(Run{Baseline: []UsedExcuse{ending}, Cases: []CaseSummary{{Name: "a/openai"}}},
		[]Result{result("SIG-001", "a/openai", Pass), result("SIG-002", "a/openai", NotTestable)})
	if r.Results[1].Verdict != NotTestable || r.Baseline[0].Verdict != Stale {
		t.Errorf("an entry that excuses no failure: %+v %+v", r.Results, r.Baseline)
	}
}

// The file that baseline update writes excuses what failed, and nothing else of its case.
func TestUpdateBaselineIsNarrow(t *testing.T) {
	result := func(id string, v Verdict) Result {
		return Result{Requirement: id, Check: id + "/x", Case: "a/openai", Verdict: v, Findings: []Finding{}}
	}
	cases := []CaseSummary{{Name: "a/openai"}}
	u, err := UpdateBaseline("b.yaml", nil,
		NewRun(Run{Cases: cases}, []Result{result("SIG-001", Fail), result("SIG-002", NotTestable)}), excuse("").Excuse)
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseBaseline("b.yaml", u.Text)
	if err != nil || len(list) != 1 || list[0].Pattern != "SIG-001/x/a/openai" || !list[0].EndsCase {
		t.Fatalf("%+v %v", list, err)
	}
	again := NewRun(Run{Cases: cases, Baseline: []UsedExcuse{{Excuse: list[0]}}},
		[]Result{result("SIG-001", Fail), result("SIG-002", NotTestable)})
	other := NewRun(Run{Cases: cases, Baseline: []UsedExcuse{{Excuse: list[0]}}},
		[]Result{result("SIG-001", Fail), result("SIG-002", Fail)})
	if again.Summary.Exit != ExitOK || other.Summary.Exit != ExitFailure {
		t.Errorf("the same run: exit %d; another failure: exit %d", again.Summary.Exit, other.Summary.Exit)
	}
}

func TestUpdateBaseline(t *testing.T) {
	text := "# Known failures of my agent.\n\n# drops signatures\n" + goodEntry + `# is gone
- pattern: SIG-001/**/anthropic
  reason: old
  issue: https://example.com/issues/1
  expires: 2027-03-01
# stays
- pattern: SIG-001/**/openai
  reason: new
  issue: https://example.com/issues/2
  expires: 2027-03-01
`
	fresh := Excuse{Reason: "why: it", Issue: "https://example.com/3", Expires: "2027-06-01"}
	u, err := UpdateBaseline("b.yaml", []byte(text), judgedRun(Run{}, Fail, Fail), fresh)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(u.Added, " ") != "SIG-001/signature-bytes/b/gemini" ||
		strings.Join(u.Removed, " ") != "SIG-007/**/gemini SIG-001/**/anthropic" {
		t.Errorf("%q %q", u.Added, u.Removed)
	}
	for _, want := range []string{"# Known failures of my agent.\n", "# stays\n- pattern: SIG-001/**/openai\n",
		"reason: 'why: it'\n"} {
		if !strings.Contains(string(u.Text), want) {
			t.Errorf("%q is missing in\n%s", want, u.Text)
		}
	}
	list, err := ParseBaseline("b.yaml", u.Text)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	// The file that was written makes the run green, and needs no further change.
	var baseline []UsedExcuse
	for _, e := range list {
		baseline = append(baseline, UsedExcuse{Excuse: e})
	}
	green := judgedRun(Run{Baseline: baseline}, Fail, Fail)
	if green.Summary.Exit != ExitOK {
		t.Errorf("%+v", green.Summary)
	}
	if u, err = UpdateBaseline("b.yaml", u.Text, green, Excuse{}); err != nil || len(u.Added)+len(u.Removed) > 0 {
		t.Errorf("%+v %v", u, err)
	}
	// A new file, an empty one in the end, and a reason that is missing.
	u, err = UpdateBaseline("b.yaml", nil, judgedRun(Run{}, Fail, Pass), fresh)
	if err != nil || !strings.HasPrefix(string(u.Text), "# Breaches that are known") || len(u.Added) != 1 {
		t.Errorf("%s %v", u.Text, err)
	}
	if u, err = UpdateBaseline("b.yaml", u.Text, judgedRun(Run{}, Pass, Pass), fresh); err != nil ||
		len(u.Removed) != 1 {
		t.Errorf("%+v %v", u, err)
	}
	if list, err := ParseBaseline("b.yaml", u.Text); err != nil || len(list) > 0 {
		t.Errorf("%s: %v", u.Text, err)
	}
	if _, err := UpdateBaseline("b.yaml", nil, judgedRun(Run{}, Fail, Pass), Excuse{Reason: "r"}); err == nil ||
		!strings.Contains(err.Error(), "--issue: is missing") {
		t.Error(err)
	}
}

// TestExcusedOnce holds that a result which two entries excuse is one result.
func TestExcusedOnce(t *testing.T) {
	var entries []UsedExcuse
	for _, pattern := range []string{"SIG-001/**", "SIG-002/**"} {
		e := excuse(pattern)
		e.EndsCase = true
		entries = append(entries, e)
	}
	r := NewRun(Run{Baseline: entries}, []Result{
		{Requirement: "SIG-001", Check: "SIG-001/x", Case: "a/openai", Verdict: Fail},
		{Requirement: "SIG-002", Check: "SIG-002/x", Case: "a/openai", Verdict: Fail},
		{Requirement: "ORD-001", Check: "ORD-001/x", Case: "a/openai", Verdict: NotTestable},
	})
	var b bytes.Buffer
	if NewTerminal(&b, false).Run(r); !strings.Contains(b.String(), "baseline: 3 of 3 results known to fail") {
		t.Errorf("%s", &b)
	}
}
