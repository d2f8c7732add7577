package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
)

// applyBaseline gives the verdict known-fail to results that the baseline excuses, and
// says of each entry what it was good for. It excuses failures and warnings; of what
// was not testable only what a known failure kept from being seen; nothing that the
// harness did.
func (r *Run) applyBaseline() {
	for i := range r.Baseline {
		used := &r.Baseline[i]
		*used = UsedExcuse{Excuse: used.Excuse}
		facts := decide.EntryFacts{Partial: r.isPartial(), Narrowed: r.Filter != "", Flaky: used.Flaky, Repeated: r.Repeat > 1}
		if string(used.Expires) <= r.Started.UTC().Format(time.DateOnly) {
			facts.Expired = string(used.Expires)
		} else {
			used.Results = r.excuseResults(used.Excuse)
			facts.Excused, facts.Fails = used.Results, r.failsOtherwise(used.Pattern)
			facts.InScope = used.Results > 0 || r.playsPattern(used.Pattern)
		}
		used.Verdict, used.Problem = decide.Entry(facts)
	}
}

// isPartial reports whether other parts of the run may show what this one does not.
func (r *Run) isPartial() bool { return r.Shard != nil || r.Interrupted || r.Guard != "" }

// failsOtherwise reports whether what a pattern names fails, in a way that its entry
// does not excuse.
func (r *Run) failsOtherwise(pattern string) bool {
	return slices.ContainsFunc(r.Results, func(res Result) bool {
		return (res.Verdict == Flaky || res.Verdict == Fail) && res.Check != "" && matchesName(pattern, res.Check, res.Case)
	})
}

// excuseResults excuses what e fits and returns how many results that are.
func (r *Run) excuseResults(e Excuse) (count int) {
	failed := map[string]bool{} // cases of which e excuses a failure
	excuse := func(fits func(Result, Verdict) bool) {
		for i := range r.Results {
			res := &r.Results[i]
			verdict := cmp.Or(res.Excused, res.Verdict)
			if res.Check == "" || !fits(*res, verdict) {
				continue
			}
			res.Excused = verdict
			res.judgeAgain(decide.Facts{Known: true})
			failed[res.Case] = true
			count++
		}
	}
	excuse(func(res Result, v Verdict) bool { return e.fitsVerdict(v, len(res.Runs) > 0) && e.names(res) })
	excuse(func(res Result, v Verdict) bool {
		return v == NotTestable && failed[res.Case] && (e.EndsCase || e.names(res))
	})
	return count
}

// names reports whether the pattern of e names a result.
func (e Excuse) names(res Result) bool { return matchesName(e.Pattern, res.Check, res.Case) }

// fitsVerdict reports whether e excuses a verdict. A breach that is listed as flaky has to
// occur in some runs and to be absent in others, where there were several.
func (e Excuse) fitsVerdict(v Verdict, wasRepeated bool) bool {
	if v == Flaky {
		return e.Flaky
	}
	return (v == Fail || v == Warn) && (!e.Flaky || !wasRepeated)
}

// ExcuseOf returns the entry that excuses a result.
func (r *Run) ExcuseOf(res Result) (Excuse, bool) {
	for _, used := range r.Baseline {
		if res.Verdict == KnownFail && used.Verdict == KnownFail && (used.names(res) || res.Excused == NotTestable && r.endsCase(used.Excuse, res.Case)) {
			return used.Excuse, true
		}
	}
	return Excuse{}, false
}

// endsCase reports whether e excuses a failure that ended a case early.
func (r *Run) endsCase(e Excuse, name string) bool {
	return e.EndsCase && slices.ContainsFunc(r.Results, func(res Result) bool {
		return res.Case == name && res.Verdict == KnownFail && res.Excused != NotTestable && e.names(res)
	})
}

// playsPattern reports whether a pattern names a check of the run's set and a case that was
// run.
func (r *Run) playsPattern(pattern string) bool {
	for _, id := range r.Set.Requirements {
		requirement, err := specs.FindRequirement(id)
		if err != nil {
			continue
		}
		for _, check := range requirement.Checks {
			if slices.ContainsFunc(r.Cases, func(c CaseSummary) bool { return c.Reason == "" && matchesName(pattern, check, c.Name) }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.Results, func(res Result) bool { return res.Check != "" && matchesName(pattern, res.Check, res.Case) })
}

// withoutExcuses returns results as they were before a baseline was applied.
func withoutExcuses(results []Result) []Result {
	results = slices.Clone(results)
	for i := range results {
		if res := &results[i]; res.Excused != "" {
			res.Verdict, res.Excused = res.Excused, ""
		}
	}
	return results
}
