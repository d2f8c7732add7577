package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// TestThreads holds that the referee finds the bug of every thread, finds nothing in its
// twin, and that docs/threads.md says so.
func TestThreads(t *testing.T) {
	threads, err := readThreads(os.DirFS("../../specs"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := judgeThreads(threads)
	if err != nil {
		t.Fatal(err)
	}
	unseen := 0
	for _, v := range verdicts {
		for _, fault := range v.Faults {
			t.Errorf("%s:%d: %s: %s", v.File, v.Line, v.Name(), fault)
		}
		switch {
		case v.Seen && v.Unseen != "":
			t.Errorf("%s:%d: %s: %s finds the bug; take out unseen", v.File, v.Line, v.Name(), v.Requirement)
		case !v.Seen && v.Unseen == "":
			t.Errorf("%s:%d: %s: judged %s by %s, which must find the bug", v.File, v.Line, v.Name(), v.Failing,
				v.Requirement)
		case !v.Seen:
			unseen++
		}
	}
	if unseen*20 > len(verdicts) {
		t.Errorf("%d of %d threads are not seen; 5 %% at most", unseen, len(verdicts))
	}
	if is, err := os.ReadFile("../../docs/threads.md"); err != nil || !bytes.Equal(is, threadsPage(verdicts)) {
		t.Errorf("docs/threads.md is out of date (%v); run: go run ./internal/generate threads", err)
	}
}

// TestThreadThatProvesNothing holds that recordings which are swapped, empty or only
// warned of are not taken for seen.
func TestThreadThatProvesNothing(t *testing.T) {
	threads, err := readThreads(os.DirFS("../../specs"))
	if err != nil {
		t.Fatal(err)
	}
	good := threads[0]
	swapped, same, empty := good, good, good
	swapped.Failing, swapped.Passing = good.Passing, good.Failing
	same.Failing = good.Passing
	empty.Failing = good.Failing[:1]
	empty.Passing = good.Failing[:1]
	verdicts, err := judgeThreads([]thread{good, swapped, same, empty})
	if err != nil {
		t.Fatal(err)
	}
	if v := verdicts[0]; !v.Seen || len(v.Faults) > 0 {
		t.Errorf("as it should be: %v %q", v.Failing, v.Faults)
	}
	if v := verdicts[1]; v.Seen || len(v.Faults) == 0 || !strings.Contains(v.Faults[0], "the twin is judged fail by") {
		t.Errorf("swapped: %v %q", v.Failing, v.Faults)
	}
	if v := verdicts[2]; v.Seen || v.Failing != report.Pass {
		t.Errorf("without the bug: %v", v.Failing)
	}
	if v := verdicts[3]; v.Seen {
		t.Errorf("with nothing to see: %v", v.Failing)
	}
	refused, degraded := specs.Requirement{ID: "A-1", Consequence: specs.Refused},
		specs.Requirement{ID: "A-1", Consequence: specs.Degraded}
	warned := []report.Result{{Requirement: "A-1", Verdict: report.Warn}}
	passed := []report.Result{{Requirement: "A-1", Verdict: report.Pass}}
	if newThreadVerdict(good, refused, warned, passed).Seen || !newThreadVerdict(good, degraded, warned, passed).Seen {
		t.Error("a warning counts for what is refused, or not for what is degraded")
	}
	if v := newThreadVerdict(good, degraded, warned, passed); len(v.Faults) != 1 ||
		!strings.Contains(v.Faults[0], "sees nothing to judge in the twin") {
		t.Errorf("a twin in which nothing was observed: %q", v.Faults)
	}
}

// TestThreadsPageNamesUnconfirmed holds that the page marks an address nobody found, and no other.
func TestThreadsPageNamesUnconfirmed(t *testing.T) {
	found := threadVerdict{thread: thread{URL: "https://github.com/a/b/issues/1"}}
	other := threadVerdict{thread: thread{URL: "https://github.com/a/b/issues/2", Unconfirmed: true}}
	page := string(threadsPage([]threadVerdict{found, other}))
	for _, want := range []string{"| [a/b#1](https://github.com/a/b/issues/1) |",
		"| [a/b#2](https://github.com/a/b/issues/2), address not confirmed |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
