package e2e_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
)

// negativeCases are the cases in which the defects show, and others in which none does.
const negativeCases = "thinking-tool-loop || parallel-calls || interleaved-thinking || resume-tool-loop || signed-text || cut-stream || cut-at-once || " +
	"error-mid-stream || error-after-200 || max-tokens-in-call || refusal || repeated-prompt || failing-tool || " +
	"pause-in-text || max-tokens || refusal-after-call || refusal-without-words || malformed-call || overloaded-after-call"

// turnCases are the cases in which tokens come back, in one process and in two.
const turnCases = "thinking-tool-loop || resume-tool-loop || signed-text"

var allNegativeCases = flag.Bool("e2e.all-negative-cases", false,
	"each defect goes through all cases, not only those in which its defect shows and a few others")

// negativeRuns are defects of rkat, by how it is run and in which cases, and exactly those
// requirements that fail. With the defect "none" the broken program works as rkat does.
var negativeRuns = []struct {
	defect, profile, cases string
	fails                  []string
}{
	{"none", "rkat", negativeCases, nil},
	{"none", "other-provider", turnCases, nil},
	{"none", "other-model", turnCases, nil},
	// The provider refuses a request with tokens of another one.
	{"tokens", "other-provider", turnCases, []string{"ERR-001", "SIG-018"}},
	{"tokens", "other-model", turnCases, []string{"SIG-019"}},
	{"calls", "rkat", "malformed-call || max-tokens-in-call || failing-tool || parallel-calls", []string{"STR-009"}},
	{"stops", "rkat",
		"pause-in-text || max-tokens || refusal || refusal-after-call || refusal-without-words || cut-stream || error-after-200 || parallel-calls",
		[]string{"SIG-020", "SRV-005", "STR-007", "STR-008", "STR-010"}},
	{"history", "rkat", "resume-tool-loop || repeated-prompt || thinking-tool-loop || cut-stream",
		[]string{"RES-001", "RES-003"}},
}

// TestNegativeSubjects holds that rkat with each defect fails by the requirements that
// its defect breaks, and by no other, in a run of conform that knows nothing about it.
func TestNegativeSubjects(t *testing.T) {
	chosen := corpus.Sample(t, 4)
	for _, c := range negativeRuns {
		if !chosen() {
			continue
		}
		t.Run(c.defect+" "+c.profile, func(t *testing.T) {
			cases := c.cases
			if *allNegativeCases {
				cases = negativeCases
			}
			run := judge(t, brokenFolder(t, c.defect), "--strict", "--subject",
				filepath.Join("testdata/negative", c.profile+".yaml"), "--filter", cases)
			if got := failingRequirements(run); !slices.Equal(got, c.fails) {
				t.Errorf("fails by %v, want %v\n%s", got, c.fails, describeFailures(run))
			}
			for _, r := range run.Results {
				if r.Verdict != report.Pass && !isOfFailingCase(run, r) {
					t.Errorf("%s in %s: %s: %s", r.Check, r.Case, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// TestRepeatedSideEffects holds that a build which runs tools again is not passed: the log
// of our tool server shows what no request does.
func TestRepeatedSideEffects(t *testing.T) {
	if !corpus.Sample(t, 5)() {
		t.Skip("the sample leaves this test out; MEERKAT_WHOLE=1 runs it")
	}
	run := judge(t, brokenFolder(t, "tools"), "--subject", "testdata/negative/rkat.yaml", "--filter",
		"cut-stream || parallel-calls")
	for _, r := range run.Results {
		isCut := r.Check == "REC-004/runs-once" && strings.HasPrefix(r.Case, "cut-stream/")
		if isCut != (r.Verdict == report.Fail) || isCut &&
			!strings.Contains(r.Findings[0].Message, "ran it 3 times to its end, and the model asked for that once") {
			t.Errorf("%s in %s: %s: %s %v", r.Check, r.Case, r.Verdict, r.Reason, r.Findings)
		}
	}
	if run.Summary.Exit != report.ExitFailure || !slices.Equal(failingRequirements(run), []string{"REC-004"}) {
		t.Errorf("exit %d by %v", run.Summary.Exit, failingRequirements(run))
	}
}

// TestSilentSubjects holds that a program which only prints passes nothing.
func TestSilentSubjects(t *testing.T) {
	for _, command := range [][]string{{"true", "{prompt}"}, {"echo", "{prompt}"}} {
		run := judge(t, t.TempDir(), append([]string{"--filter", "thinking-tool-loop && anthropic", "--"},
			command...)...)
		for _, r := range run.Results {
			if r.Verdict == report.Pass {
				t.Errorf("%s: %s passes in %s", command[0], r.Check, r.Case)
			}
		}
		if exit := run.Summary.Exit; exit == report.ExitOK {
			t.Errorf("%s: exit %d", command[0], exit)
		}
	}
}

// judge runs conform with the programs of a folder first in PATH. Whatever it finds, the referee
// and our simulator agree on what is refused.
func judge(t *testing.T, dir string, args ...string) *report.Run {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "conform",
		append([]string{"run", "--json", "--source", "simulator"}, args...)...)
	cmd.Env = []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"TMPDIR=" + t.TempDir()}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // a failing verdict is expected
	var run report.Run
	if err := json.Unmarshal(out, &run); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	holdRun(t, &run)
	return &run
}

func failingRequirements(run *report.Run) []string {
	failing := map[string]bool{}
	for _, r := range run.Results {
		if r.Verdict == report.Fail {
			failing[r.Requirement] = true
		}
	}
	return slices.Sorted(maps.Keys(failing))
}

// isOfFailingCase reports whether a result is of a case in which something fails: the
// others of such a case may be not testable.
func isOfFailingCase(run *report.Run, of report.Result) bool {
	return slices.ContainsFunc(run.Results,
		func(r report.Result) bool { return r.Case == of.Case && r.Verdict == report.Fail })
}

func describeFailures(run *report.Run) string {
	var b strings.Builder
	for _, r := range run.Results {
		for _, f := range r.Findings {
			b.WriteString(r.Check + " in " + r.Case + ": " + f.Message + "\n")
		}
	}
	return b.String()
}
