package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

// journalOf is the journal of a run of n cases, one of which fails, for a shard.
func journalOf(tb testing.TB, n int, shard Shard) *Journal {
	tb.Helper()
	h := JournalHeader{
		Journal: JournalSchema, Tool: Tool{"conform", "v0"},
		Subject: Subject{Name: "agent", Version: "1", Kind: "command"},
		Set:     NewSet("current", []string{"ORD-001", "SIG-001", "SIG-002"}), Policy: Policy{FailOn: Fail},
		Source: []string{"simulator"}, Ingress: []string{"mitm"},
		Seed: "s", Started: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	}
	if shard != (Shard{}) {
		h.Shard = &shard
	}
	j := &Journal{Header: h, End: &JournalEnd{DurationMS: 5}}
	for i := range n {
		c := CaseSummary{Name: fmt.Sprintf("case-%d/openai", i), Verdict: NotTestable, Provider: "openai"}
		if !shard.Holds(c.Name) {
			continue
		}
		j.Header.Plan = append(j.Header.Plan, c)
		verdict := Pass
		if i == 3 {
			verdict = Fail
		}
		res := Result{Requirement: "SIG-001", Consequence: specs.Refused, Check: "SIG-001/signature-bytes",
			Case: c.Name, Verdict: verdict, Observed: 1, Findings: []Finding{}}
		j.Entries = append(j.Entries, JournalEntry{Case: c, Results: []Result{res}, Calls: &Calls{Made: 2, Accepted: 1},
			Hosts: []Host{{Name: "example.com", Attempts: 1}}})
	}
	if len(j.Header.Plan) > 0 {
		j.Header.Expected = []string{"SIG-001", "SIG-002"}
	}
	return j
}

// journalText is the file of a journal.
func journalText(tb testing.TB, j *Journal) []byte {
	tb.Helper()
	var b bytes.Buffer
	add := func(line []byte, err error) {
		if err != nil {
			tb.Fatal(err)
		}
		b.Write(line)
	}
	add(j.Header.Line())
	for _, e := range j.Entries {
		add(e.Line())
	}
	if j.End != nil {
		add(j.End.Line())
	}
	return b.Bytes()
}

func reportText(tb testing.TB, r *Run) string {
	tb.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, r); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// A journal that is cut anywhere holds what ended before the cut.
func TestJournalCutAnywhere(t *testing.T) {
	whole := journalOf(t, 6, Shard{})
	text := journalText(t, whole)
	if !IsJournal(text) {
		t.Fatal("a journal is not recognised")
	}
	for cut := range len(text) + 1 {
		j, err := ParseJournal("j", text[:cut])
		lines := bytes.Count(text[:cut], []byte("\n"))
		if lines == 0 {
			if err == nil {
				t.Fatalf("cut at %d: no error", cut)
			}
			continue
		}
		if err != nil || len(j.Entries) != min(lines-1, 6) || (j.End != nil) != (cut == len(text)) ||
			j.Whole != int64(bytes.LastIndexByte(text[:cut], '\n')+1) {
			t.Fatalf("cut at %d: %v %+v", cut, err, j)
		}
		if r := j.Run(nil); r.Interrupted != (cut < len(text)) || r.Interrupted && r.Summary.Exit != ExitInterrupted ||
			len(r.Cases) != 6 {
			t.Fatalf("cut at %d: %+v", cut, r.Summary)
		}
	}
}

func TestJournalRefusesWhatItDoesNotKnow(t *testing.T) {
	lines := strings.SplitAfter(string(journalText(t, journalOf(t, 3, Shard{}))), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"garbage": {lines[0] + "garbage\n" + lines[1], "j:2: is not a line of a journal"},
		"a later version": {strings.Replace(lines[0], "journal.v1", "journal.v9", 1),
			"j:1: is not a line of a journal of this version"},
		"an unknown member": {lines[0] + `{"case":{"name":"case-0/openai","verdict":"pass","provider":"p"},"results":[],"new":1}` + "\n", "j:2: "},
		"a case without plan": {lines[0] + strings.ReplaceAll(lines[1], "case-0", "case-9"),
			"j:2: case case-9/openai is not in the plan"},
		"a line after the end": {strings.Join(lines, "") + lines[1], "j:6: follows the end"},
		"two on one line":      {lines[0] + strings.TrimSpace(lines[1]) + lines[2], "j:2: "},
	} {
		if _, err := ParseJournal("j", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseJournal(f *testing.F) {
	f.Add(journalText(f, journalOf(f, 2, Shard{1, 2})))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := ParseJournal("j", data)
		if err != nil {
			return
		}
		if j.Whole > int64(len(data)) {
			t.Error("more whole lines than bytes")
		}
		j.Run(nil)
	})
}

func TestJournalBelongsToItsRun(t *testing.T) {
	base := journalOf(t, 3, Shard{}).Header
	later := base
	later.Started = base.Started.Add(time.Hour)
	later.Policy.Strict = true
	if why := base.Differs(later); why != "" {
		t.Errorf("an interrupted run cannot go on: %s", why)
	}
	for want, change := range map[string]func(*JournalHeader){
		"subject":            func(h *JournalHeader) { h.Subject.Version = "2" },
		"set":                func(h *JournalHeader) { h.Set = NewSet("current", []string{"ORD-001"}) },
		"seed":               func(h *JournalHeader) { h.Seed = "t" },
		"filter":             func(h *JournalHeader) { h.Filter = "SIG" },
		"shard":              func(h *JournalHeader) { h.Shard = &Shard{1, 2} },
		"source":             func(h *JournalHeader) { h.Source = []string{"cassette"} },
		"ingress":            func(h *JournalHeader) { h.Ingress = []string{"base-url"} },
		"number of runs":     func(h *JournalHeader) { h.Repeat = 3 },
		"list of cases":      func(h *JournalHeader) { h.Plan = h.Plan[1:] },
		"version of conform": func(h *JournalHeader) { h.Tool.Version = "v1" },
	} {
		other := base
		change(&other)
		if why := base.Differs(other); !strings.Contains(why, "another "+want) {
			t.Errorf("%s: %q", want, why)
		}
	}
}

// The journal form of a report gives the report again.
func TestJournalFormOfReport(t *testing.T) {
	r := journalOf(t, 6, Shard{}).Run(nil)
	var b bytes.Buffer
	if err := r.WriteJournal(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRun("j", b.Bytes())
	if err != nil || reportText(t, again) != reportText(t, r) {
		t.Errorf("%v\n%s\n%s", err, reportText(t, again), reportText(t, r))
	}
}

func TestFoldRepeats(t *testing.T) {
	group := func(vs ...Verdict) (list []Result) {
		for _, v := range vs {
			list = append(list, Result{Requirement: "SIG-001", Check: "SIG-001/x", Case: "a/openai", Verdict: v})
		}
		return list
	}
	for _, c := range []struct {
		verdicts []Verdict
		want     Verdict
	}{
		{[]Verdict{Pass}, Pass}, {[]Verdict{Pass, Pass}, Pass}, {[]Verdict{Fail, Fail}, Fail},
		{[]Verdict{Pass, Fail, Pass}, Flaky},
		{[]Verdict{Warn, Pass}, Flaky}, {[]Verdict{NotTestable, Pass}, Flaky}, {[]Verdict{Contradicted, Pass}, Pass},
		{[]Verdict{Fail, HarnessError}, HarnessError},
	} {
		got := FoldRepeats(group(c.verdicts...))
		if len(got) != 1 || got[0].Verdict != c.want ||
			(len(c.verdicts) > 1) != (got[0].Runs.Total() == len(c.verdicts)) {
			t.Errorf("%v: %+v", c.verdicts, got)
		}
		if c.want == Flaky && !strings.Contains(got[0].Reason,
			fmt.Sprintf("differs between %d runs", len(c.verdicts))) {
			t.Errorf("%v: %s", c.verdicts, got[0].Reason)
		}
	}
	if got := FoldRepeats(append(group(Pass), Result{Check: "SIG-001/y", Case: "a/openai", Verdict: Fail})); len(got) != 2 || got[0].Verdict != Pass {
		t.Errorf("%+v", got)
	}
}

// Only what is not settled runs again, and replaces what was known.
func TestRerun(t *testing.T) {
	before := journalOf(t, 6, Shard{})
	before.Entries, before.End = before.Entries[:5], nil
	r := before.Run(nil)
	settled := r.Settled()
	for i := range 6 {
		if name := fmt.Sprintf("case-%d/openai", i); settled[name] != (i != 3 && i != 5) {
			t.Errorf("%s settled: %t", name, settled[name])
		}
	}
	again := journalOf(t, 6, Shard{})
	if why := r.DiffersFrom(again.Header); why != "" {
		t.Fatal(why)
	}
	again.Entries = []JournalEntry{again.Entries[3], again.Entries[5]}
	again.Entries[0].Results[0].Verdict = Pass
	merged := r.WithRerun(again, nil)
	if merged.Interrupted || len(merged.Cases) != 6 || merged.Summary.Counts[Pass] != 6 ||
		merged.Summary.Counts[Fail] != 0 || merged.Calls.Made != 14 {
		t.Errorf("%+v", merged.Summary)
	}
	// The agent may have been mended; another agent, source or filter is refused.
	again.Header.Subject.Version = "2"
	if why := r.DiffersFrom(again.Header); why != "" {
		t.Error(why)
	}
	again.Header.Source = []string{"cassette"}
	if r.DiffersFrom(again.Header) == "" {
		t.Error("another source")
	}
}

// A case without a result says nothing of what was selected. It is run again where it went
// wrong or never ran.
func TestCasesWithoutResults(t *testing.T) {
	r := NewRun(Run{Cases: []CaseSummary{{Name: "a/quiet"},
		{Name: "b/wrong", Deviations: []string{"it was ended at its time limit"}},
		{Name: "c/missing", Reason: neverRun}, {Name: "d/unfit", Reason: "needs tools"}}}, nil)
	settled := r.Settled()
	for i, want := range []struct {
		verdict Verdict
		settled bool
	}{{NotApplicable, true}, {NotTestable, false}, {NotTestable, false}, {NotApplicable, true}} {
		if c := r.Cases[i]; c.Verdict != want.verdict || settled[c.Name] != want.settled {
			t.Errorf("%s: %s, settled %t", c.Name, c.Verdict, settled[c.Name])
		}
	}
}
