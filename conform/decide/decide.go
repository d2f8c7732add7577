// Package decide gives every verdict. What was found, what was seen and how the run went come
// in as facts; a verdict and its reason come out. Nothing else in this module makes a verdict,
// which a test of package archtest holds: the others hand over facts, compare and print.
//
// There is one function for each thing that gets a verdict: [Breach] for a finding, [Decide]
// for a check on a case, [Case], [Recording], [Entry] for an entry of a baseline, and [Report]
// for a whole report with its exit code. All are pure.
package decide

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/specs"
)

// Breach returns the verdict of one finding: the provider has the last word on what it refuses,
// and a strict policy makes failures of warnings.
func Breach(consequence specs.Consequence, answer Answer, strict bool) Verdict {
	switch {
	case consequence == specs.Refused && answer == AnswerAccepted:
		return Contradicted
	case consequence.IsFailure() || strict:
		return Fail
	}
	return Warn
}

// Facts are all that the verdict of a check on a case depends on. Of the zero value nothing was
// seen.
type Facts struct {
	// Fault is what the referee itself did wrong.
	Fault string
	// Inapplicable says why the requirement does not speak of the case.
	Inapplicable string
	// Missing says that the requirement had to be seen, and nothing shows it.
	Missing bool
	// Was and Why are a verdict that was given before, when less was known.
	Was Verdict
	Why string
	// Findings are what was found, with their verdicts.
	Findings []Finding
	// Observed counts the places where the rule could have been broken. Unseen says why there
	// are none, where more is known.
	Observed int
	Unseen   string
	// Unproven says why a rule that seems kept may not be: no call was accepted, or the case
	// did not go as scripted.
	Unproven string
	// Runs counts the verdicts of a case that was run several times, of which Was is the worst.
	Runs Counts
	// Strict says that warnings count as failures, Known that the baseline excuses the result.
	Strict, Known bool
}

// Decide returns the verdict of a check on a case and, for a verdict that is not about findings,
// the reason.
func Decide(f Facts) (v Verdict, why string) {
	switch v, why = f.Was, f.Why; {
	case f.Fault != "":
		return HarnessError, f.Fault
	case f.Inapplicable != "":
		return NotApplicable, f.Inapplicable
	case f.Missing:
		return Fail, "required, and nothing shows it"
	case f.Runs.differ() && v != HarnessError:
		if v = Flaky; why != "" {
			why = ": " + why
		}
		why = fmt.Sprintf("differs between %d runs (%s)%s", f.Runs.Total(), f.Runs, why)
	case v != "":
	case len(f.Findings) > 0:
		v = WorstOf(f.Findings)
	case f.Observed == 0:
		v, why = NotTestable, cmp.Or(f.Unseen, "nothing was seen where the rule could have been broken")
	default:
		v = Pass
	}
	if f.Unproven != "" && v == Pass { // the agent had no occasion to go wrong, or more than one reason to
		v, why = NotTestable, f.Unproven
	}
	if f.Strict && v == Warn {
		v = Fail
	}
	if f.Known && v != HarnessError {
		v = KnownFail
	}
	return v, why
}

// WorstOf returns the worst verdict of findings.
func WorstOf(findings []Finding) Verdict {
	var all []Verdict
	for _, f := range findings {
		all = append(all, f.Verdict)
	}
	return Worst(all...)
}

// differ reports whether several runs of a case say different things of the agent.
func (c Counts) differ() bool {
	n := 0
	for _, v := range []Verdict{Pass, Warn, NotTestable, Fail} {
		if c[v] > 0 {
			n++
		}
	}
	return n > 1
}

// CaseFacts are what the verdict of a case depends on.
type CaseFacts struct {
	// Results are the verdicts of the checks that were asked for.
	Results []Verdict
	// NotRun says that the case was selected and not run, because the agent cannot, or that it
	// shows nothing of an agent like this.
	NotRun bool
	// Deviated says that the case did not go as scripted.
	Deviated bool
	// Planned says that the case was not run yet, or will not be because the run has ended.
	Planned bool
}

// Case returns the worst verdict of the results. A case for which no check was asked says
// nothing, unless it went wrong.
func Case(f CaseFacts) Verdict {
	if !f.Planned && (f.NotRun || len(f.Results) == 0 && !f.Deviated) {
		return NotApplicable
	}
	return Worst(f.Results...)
}

// RecordingFacts are what the verdict of a recording depends on.
type RecordingFacts struct {
	// Results are the verdicts of the checks that say something about the client.
	Results []Verdict
	// Accepted counts the calls that were accepted.
	Accepted int
}

// Recording returns the worst verdict of what a recording happens to show. A recording without
// an accepted call proves nothing, and so does one that cannot be read.
func Recording(f RecordingFacts) Verdict {
	if f.Accepted == 0 {
		f.Results = append(slices.Clip(f.Results), NotTestable)
	}
	return Worst(f.Results...)
}

// EntryFacts are what is known of an entry of a baseline.
type EntryFacts struct {
	// Expired is the day on which the entry ran out, "" before that.
	Expired string
	// Excused counts the results that it excuses.
	Excused int
	// InScope says that the run has a check and a case that the entry names; Narrowed that a
	// filter left cases out; Partial that other parts of the run may show them.
	InScope, Narrowed, Partial bool
	// Flaky says that the entry lists a breach that comes and goes, Repeated that each case was
	// run more than once: one run does not show that such a breach is gone.
	Flaky, Repeated bool
	// Fails says that what it names fails in a way that the entry does not excuse.
	Fails bool
}

// Entry says what an entry of a baseline was good for, and what is wrong with a stale one.
func Entry(f EntryFacts) (v Verdict, problem string) {
	canTell := f.InScope && (!f.Flaky || f.Repeated)
	switch {
	case f.Expired != "":
		return Stale, "expired on " + f.Expired + "; look at the breach again, then renew or remove the entry"
	case f.Excused > 0:
		return KnownFail, ""
	case f.Partial:
		return NotApplicable, ""
	case canTell && f.Fails && f.Flaky:
		return Stale, "fails in every run; remove flaky: true"
	case canTell && f.Fails:
		return Stale, "fails in some runs only; add flaky: true"
	case canTell:
		return Stale, "nothing fails there any more; remove the entry"
	case !f.InScope && !f.Narrowed:
		return Stale, "matches no check and case of this run; correct the pattern"
	}
	return NotApplicable, ""
}

// ReportFacts are what the verdict of a whole report depends on.
type ReportFacts struct {
	// Counts are of results or recordings, Findings of findings.
	Counts, Findings Counts
	// Missing counts requirements that the policy requires and nothing shows, Unseen those of
	// the team that nothing shows.
	Missing, Unseen int
	// FailOnWarn says that the policy counts warnings for the exit code.
	FailOnWarn bool
	// Guarded says that a guard ended the run, Interrupted that it was ended by hand.
	Guarded, Interrupted bool
	// Shard says that the run is a part of one, Empty that nothing was selected or could be
	// judged.
	Shard, Empty bool
}

// Report returns the verdict of a report, which is the worst that was counted, and its exit code.
func Report(f ReportFacts) (v Verdict, exit int) {
	var all []Verdict
	for counted := range f.Counts {
		all = append(all, counted)
	}
	v = Worst(all...)
	if f.Missing > 0 {
		v = Worst(v, Fail)
	}
	if f.Unseen > 0 || f.Guarded || f.Interrupted {
		v = Worst(v, NotTestable)
	}
	exit = v.Exit()
	if f.FailOnWarn && f.Findings[Warn] > 0 && (exit == ExitOK || exit == ExitIncomplete) {
		exit = ExitFailure
	}
	switch {
	case f.Guarded:
		exit = ExitGuard
	case f.Interrupted:
		exit = ExitInterrupted
	case len(f.Counts) == 0 && f.Shard:
		v, exit = NotApplicable, ExitOK
	case f.Empty:
		exit = ExitUsage
	}
	return v, exit
}
