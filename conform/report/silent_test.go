package report

import (
	"strings"
	"testing"
)

// TestSilentCases holds that cases which show nothing for the same reason are named
// together: an agent whose every request is refused is explained once.
func TestSilentCases(t *testing.T) {
	silent := func(name, reason string) Result {
		return Result{Check: "A-1/a", Requirement: "A-1", Case: name, Verdict: NotTestable, Reason: reason}
	}
	var out strings.Builder
	NewTerminal(&out, false).Run(NewRun(Run{}, []Result{
		silent("one/openai", "it exited 1: no top_p"), silent("one/openai", "it exited 1: no top_p"),
		silent("two/openai", "it timed out"),
		silent("three/openai", "it exited 1: no top_p"), silent("zero/openai", "it exited 1: no top_p"),
	}))
	const want = `not-testable   one/openai  (2 checks)
    it exited 1: no top_p
    the same in: three/openai; zero/openai
not-testable   two/openai  (1 check)
    it timed out
`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
