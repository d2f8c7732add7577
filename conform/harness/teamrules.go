package harness

import (
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/conform/report"
)

// unseenRules gathers why the team's own rules saw nothing, by requirement; "" for one
// that saw something.
type unseenRules map[string]string

// observeRun notes what a run shows of the rules. Of several reasons the last by spelling is
// kept, so that the order of the cases does not matter.
func (u *unseenRules) observeRun(run CaseRun, rules []report.Rule) {
	if len(rules) == 0 || run.Evidence == nil {
		return
	}
	if *u == nil {
		*u = unseenRules{}
	}
	for _, r := range report.Judge(rules, run.Evidence) {
		reason, known := (*u)[r.Requirement]
		switch {
		case r.Observed > 0:
			(*u)[r.Requirement] = ""
		case r.Verdict == report.NotTestable && (!known || reason != ""):
			(*u)[r.Requirement] = max(reason, r.Reason)
		}
	}
}

// listReasons returns the reasons of the rules that no run shows.
func (u unseenRules) listReasons() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Values(u)), func(reason string) bool { return reason == "" })
}
