package report

import (
	"strings"
	"testing"
)

// TestSilentCases holds that cases which show nothing for the same reason are named
// together: an agent whose every request is refused is explained once. The verdict names the worst breach as well.
func TestSilentCases(t *testing.T) {
	silent := func(check, name, reason string) Result {
		return Result{Check: check + "/a", Requirement: check, Case: name, Verdict: NotTestable, Reason: reason}
	}
	const refused = "it exited 1: no top_p"
	warned := Result{Check: "TOOL-001/a", Requirement: "TOOL-001", Case: "two/openai", Verdict: Warn,
		Findings: []Finding{{Check: "TOOL-001/a", Requirement: "TOOL-001", Verdict: Warn, Message: "no mark"}}}
	var out strings.Builder
	NewTerminal(&out, false).Run(NewRun(Run{}, []Result{
		silent("A-1", "one/openai", refused), silent("A-1", "three/openai", refused),
		silent("A-1", "two/openai", "it timed out"), silent("A-1", "zero/openai", refused),
		silent("A-2", "one/openai", refused), silent("A-2", "three/openai", refused), warned,
	}))
	const want = `not-testable   one/openai  (2 checks)
    it exited 1: no top_p
    the same in: three/openai; zero/openai
not-testable   two/openai  (1 check)
    it timed out
`
	const verdict = "4 not-testable, 1 warn: it exited 1; TOOL-001 is broken (Answer "
	if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), verdict) {
		t.Errorf("got\n%swant\n%s%s", out.String(), want, verdict)
	}
}
