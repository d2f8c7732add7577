// Package report turns what checks saw into verdicts and verdicts into what
// people and machines read: a table for the terminal, JSON and JUnit XML, all
// from one model (DESIGN §6).
package report

import "slices"

// Verdict is what became of one check, one requirement or a whole run.
type Verdict string

// The verdicts (DESIGN §6).
const (
	// Pass: the rule was seen and held.
	Pass Verdict = "pass"
	// Fail: a MUST was broken.
	Fail Verdict = "fail"
	// Warn: a SHOULD was broken.
	Warn Verdict = "warn"
	// NotApplicable: the requirement declares that it does not speak of this.
	NotApplicable Verdict = "not-applicable"
	// NotTestable: nothing was seen where the rule could have been broken. It is
	// no success: a check that saw nothing proves nothing.
	NotTestable Verdict = "not-testable"
	// KnownFail: broken, and the baseline says so with a reason.
	KnownFail Verdict = "known-fail"
	// Stale: the baseline excuses what is not broken any more.
	Stale Verdict = "stale"
	// Flaky: broken in some plays and not in others.
	Flaky Verdict = "flaky"
	// HarnessError: the referee itself broke. It is never excused and never
	// blamed on the subject.
	HarnessError Verdict = "harness-error"
)

// Verdicts lists all of them, best first: the order in which they win when
// several are combined, and in which reports show them.
var Verdicts = []Verdict{NotApplicable, Pass, KnownFail, Warn, NotTestable, Flaky, Stale, Fail, HarnessError}

// Worst combines verdicts: the worst wins. Of none it is NotTestable, because
// nothing was seen.
func Worst(vs ...Verdict) Verdict {
	if len(vs) == 0 {
		return NotTestable
	}
	return slices.MaxFunc(vs, func(a, b Verdict) int { return a.rank() - b.rank() })
}

// rank is the place in Verdicts; what is not a verdict is worse than all.
func (v Verdict) rank() int {
	if i := slices.Index(Verdicts, v); i >= 0 {
		return i
	}
	return len(Verdicts)
}

// Exit codes of conform (DESIGN §6).
const (
	ExitOK         = 0 // every scored requirement passed or is excused
	ExitFailure    = 1 // a failure, a stale excuse or an unlisted flake
	ExitUsage      = 2 // wrong usage, or nothing selected
	ExitIncomplete = 3 // nothing failed, but something was not testable
	ExitHarness    = 4 // the harness itself broke
	ExitGuard      = 5 // a guard tripped: real key, budget, forbidden host or model
)

// Exit returns the exit code a run that ends with the verdict has. A run in
// which everything is not applicable has shown nothing.
func (v Verdict) Exit() int {
	switch v {
	case Pass, Warn, KnownFail:
		return ExitOK
	case Fail, Stale, Flaky:
		return ExitFailure
	case NotApplicable, NotTestable:
		return ExitIncomplete
	default: // HarnessError, and what no version knows
		return ExitHarness
	}
}

// Counts says how often each verdict was given.
type Counts map[Verdict]int

// Total is the sum of all.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}
