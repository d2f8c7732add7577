package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/specs"
)

func lostBlock(name, path, message string, consequence specs.Consequence) Result {
	f := finding("SIG-002", consequence, check.Finding{Check: "SIG-002/kept", Exchange: 1, Event: -1, Offset: -1,
		Path: path, Message: message, Fix: "Keep it."})
	return Result{Requirement: "SIG-002", Check: f.Check, Case: name, Verdict: f.Verdict, Observed: 1,
		Findings: []Finding{f}}
}

// A habit that many cases show is shown once and names them. What differs in more than
// numbers, ids and quoted text is not the same habit.
func TestSimilarFindingsAreShownOnce(t *testing.T) {
	var all []Result
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		all = append(all, lostBlock(name+"/anthropic", "messages["+string('1'+name[0]-'a')+"]",
			`block Eq`+name+`1…k= with "`+name+`" is lost`, specs.Refused))
	}
	all = append(all,
		lostBlock("g/anthropic", "messages[1]", `redacted block Eq1…k= with "g" is lost`, specs.Refused),
		lostBlock("h/anthropic", "messages[1]", `block Eq1…k= with "h" is lost`, specs.Degraded),
		lostBlock("i/anthropic", "system[1]", `block Eq1…k= with "i" is lost`, specs.Refused))
	for i := range 6 {
		all[i].Findings[0].Form = "block %s with %q is lost"
	}
	all[1].Findings[0].Message = "the same form in other words"
	var text, again bytes.Buffer
	run := NewRun(Run{Subject: Subject{Name: "rkat"}}, all)
	NewTerminal(&text, false).Run(run)
	var back Run
	if err := json.Unmarshal([]byte(reportText(t, run)), &back); err != nil {
		t.Fatal(err)
	}
	if NewTerminal(&again, false).Run(&back); again.String() != text.String() {
		t.Errorf("the report that was read prints\n%s\nwhere the run printed\n%s", &again, &text)
	}
	if n := strings.Count(text.String(), "SIG-002/kept  "); n != 4 {
		t.Errorf("%d findings are shown, want those of a, g, h and i:\n%s", n, &text)
	}
	if want := "    similar in 5 more: b/anthropic; c/anthropic; d/anthropic; e/anthropic; 1 more\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%q is missing:\n%s", want, &text)
	}
	if n := strings.Count(text.String(), "similar in"); n != 1 {
		t.Errorf("%d findings name others, want 1:\n%s", n, &text)
	}
}

// Two findings of one case are both shown.
func TestFindingsOfOneCaseAreShown(t *testing.T) {
	one := lostBlock("a/anthropic", "messages[1]", "block 1 is lost", specs.Refused)
	one.Findings = append(one.Findings,
		lostBlock("a/anthropic", "messages[3]", "block 2 is lost", specs.Refused).Findings...)
	var text bytes.Buffer
	NewTerminal(&text, false).Run(NewRun(Run{Subject: Subject{Name: "rkat"}}, []Result{one}))
	if n := strings.Count(text.String(), "SIG-002/kept  a/anthropic"); n != 2 ||
		strings.Contains(text.String(), "similar in") {
		t.Errorf("%d findings are shown, want 2:\n%s", n, &text)
	}
}

// Within one verdict the finding with the worst consequence comes first, in every form of the report.
func TestWorstConsequenceComesFirst(t *testing.T) {
	order := []specs.Consequence{specs.Crash, specs.Refused, specs.Unsafe, specs.Wrong, specs.Degraded, specs.Wasteful,
		specs.Cosmetic}
	var all []Result
	for i := range order {
		consequence := order[len(order)-1-i]
		all = append(all, lostBlock("case", "", string(consequence)+" block", consequence))
	}
	run := NewRun(Run{Subject: Subject{Name: "rkat"}}, all)
	var text, page bytes.Buffer
	NewTerminal(&text, false).Run(run)
	if err := run.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	for form, said := range map[string]string{"text": text.String(), "Markdown": page.String()} {
		last := 0
		for _, consequence := range order {
			at := strings.Index(said, string(consequence)+" block")
			if at < last {
				t.Errorf("%s: the finding %s does not stand in its place:\n%s", form, consequence, said)
			}
			last = at
		}
	}
}

// A requirement that one case shows is not untested because another shows nothing. Of
// what was seen the worst counts.
func TestAreasCountWhatWasSeen(t *testing.T) {
	for _, c := range []struct {
		seen []Verdict
		want Verdict
	}{
		{[]Verdict{Pass, NotTestable}, Pass},
		{[]Verdict{NotTestable, Pass, Warn}, Warn},
		{[]Verdict{Warn, Fail, NotTestable}, Fail},
		{[]Verdict{NotTestable, NotTestable}, NotTestable},
	} {
		sums := tallies{}
		for _, v := range c.seen {
			sums.add(&Result{Requirement: "ORD-001", Verdict: v})
		}
		if rows := sums.areas(); len(rows) != 1 || rows[0].Counts[c.want] != 1 || rows[0].Counts.Total() != 1 {
			t.Errorf("%v: %+v, want one %s", c.seen, rows, c.want)
		}
	}
}
