package decide

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is the outcome of one check, one requirement or a whole run.
type Verdict string

// The verdicts; [Verdict.Meaning] explains each.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Warn          Verdict = "warn"
	NotApplicable Verdict = "not-applicable"
	NotTestable   Verdict = "not-testable"
	KnownFail     Verdict = "known-fail"
	Stale         Verdict = "stale"
	Flaky         Verdict = "flaky"
	HarnessError  Verdict = "harness-error"
	Contradicted  Verdict = "contradicted"
)

// Meaning returns one sentence that explains v to users, "" for a value that is
// not a verdict.
func (v Verdict) Meaning() string {
	switch v {
	case Pass:
		return "The rule could have been broken and was kept."
	case Fail:
		return "A requirement was broken whose breach the provider refuses, or that is unsafe."
	case Warn:
		return "A requirement was broken whose breach degrades the answer or wastes cache or tokens."
	case NotApplicable:
		return "The requirement declares that it does not speak of this provider or of evidence from this source."
	case NotTestable:
		return "Nothing was seen where the rule could have been broken. This is not a success: a check that saw nothing proves nothing."
	case KnownFail:
		return "A requirement was broken, and the baseline lists the breach with a reason."
	case Stale:
		return "The baseline excuses a breach that does not occur any more."
	case Flaky:
		return "A requirement was broken in some runs of a case and kept in others."
	case Contradicted:
		return "A rule says that the provider refuses this, and the provider itself accepted it. This is no fault of the agent: the rule is out of date."
	case HarnessError:
		return "The referee itself failed. This is never excused and says nothing about the agent."
	}
	return ""
}

// Verdicts lists all of them, the best first. [Worst] and reports use the order.
var Verdicts = []Verdict{NotApplicable, Contradicted, Pass, KnownFail, Warn, NotTestable, Flaky, Stale, Fail,
	HarnessError}

// Worst returns the worst of several verdicts; of none it returns NotTestable,
// because nothing was seen.
func Worst(vs ...Verdict) Verdict {
	if len(vs) == 0 {
		return NotTestable
	}
	return slices.MaxFunc(vs, func(a, b Verdict) int { return a.Rank() - b.Rank() })
}

// Bare is the verdict without a baseline: what is known to fail has failed.
func (v Verdict) Bare() Verdict {
	if v == KnownFail {
		return Fail
	}
	return v
}

// Rank is the place in [Verdicts]. A value that is not a verdict ranks last.
func (v Verdict) Rank() int {
	if i := slices.Index(Verdicts, v); i >= 0 {
		return i
	}
	return len(Verdicts)
}

// Exit codes of conform.
const (
	ExitOK         = 0 // every scored requirement passed or is excused
	ExitFailure    = 1 // a failure, a stale excuse or an unlisted flake
	ExitUsage      = 2 // wrong usage, or nothing selected
	ExitIncomplete = 3 // nothing failed, but something was not testable
	ExitHarness    = 4 // the harness itself broke
	ExitGuard      = 5 // a guard ended the run: a real key, a spent budget, a host or model that is not allowed
	// ExitInterrupted is that of shells for a program that SIGINT ended.
	ExitInterrupted = 130
)

// Exit returns the exit code a run that ends with the verdict has. A run in
// which everything is not applicable, or contradicted, has shown nothing.
func (v Verdict) Exit() int {
	switch v {
	case Pass, Warn, KnownFail:
		return ExitOK
	case Fail, Stale, Flaky:
		return ExitFailure
	case NotApplicable, NotTestable, Contradicted:
		return ExitIncomplete
	default: // HarnessError, or a value that is not a verdict
		return ExitHarness
	}
}

// Counts says how often each verdict was given.
type Counts map[Verdict]int

// Total is the sum of all.
func (c Counts) Total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

// String lists the counts that are not zero, worst first.
func (c Counts) String() string {
	var parts []string
	for _, v := range slices.Backward(Verdicts) {
		if c[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[v], v))
		}
	}
	return strings.Join(parts, ", ")
}

// IsDecided reports whether the verdict says something about the agent.
func (v Verdict) IsDecided() bool {
	return slices.Contains([]Verdict{Pass, Fail, Warn, KnownFail, Flaky}, v)
}
