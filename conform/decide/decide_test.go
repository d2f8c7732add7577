package decide

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestBreach holds who has the last word on a breach: the provider, at its own host and in
// evidence that we trust, and nobody else.
func TestBreach(t *testing.T) {
	for _, c := range []struct {
		consequence specs.Consequence
		answer      Answer
		strict      bool
		want        Verdict
		printed     string
	}{
		{specs.Refused, AnswerRefused, false, Fail, "refused"},
		{specs.Refused, AnswerAccepted, false, Contradicted, "refused"},
		{specs.Refused, AnswerAccepted, true, Contradicted, "refused"},
		{specs.Refused, AnswerRecorded, false, Fail, "would be refused; accepted in this recording"},
		{specs.Refused, AnswerSimulated, false, Fail, "would be refused"},
		{specs.Refused, AnswerNone, false, Fail, "would be refused"},
		{specs.Unsafe, AnswerAccepted, false, Fail, "unsafe"},
		{specs.Degraded, AnswerNone, false, Warn, "degraded"},
		{specs.Wasteful, AnswerAccepted, false, Warn, "wasteful"},
		{specs.Wasteful, AnswerNone, true, Fail, "wasteful"},
	} {
		f := Finding{Consequence: c.consequence, Answer: c.answer, Verdict: Breach(c.consequence, c.answer, c.strict)}
		if f.Verdict != c.want || f.Outcome() != c.printed {
			t.Errorf("%+v: %s (%s)", c, f.Verdict, f.Outcome())
		}
	}
}

func TestDecide(t *testing.T) {
	breaches := func(list ...Verdict) (findings []Finding) {
		for _, v := range list {
			findings = append(findings, Finding{Verdict: v})
		}
		return findings
	}
	for name, c := range map[string]struct {
		facts Facts
		want  Verdict
		why   string
	}{
		"kept":                  {Facts{Observed: 3}, Pass, ""},
		"nothing seen":          {Facts{}, NotTestable, "nothing was seen"},
		"nothing seen, and why": {Facts{Unseen: "no tool"}, NotTestable, "no tool"},
		"the worst finding": {Facts{Observed: 3, Findings: breaches(Warn, Fail, Contradicted)},
			Fail, ""},
		"contradicted alone": {Facts{Observed: 3, Findings: breaches(Contradicted)},
			Contradicted, ""},
		"found without a place": {Facts{Findings: breaches(Warn)}, Warn, ""},
		"a check that panicked": {Facts{Observed: 3, Findings: breaches(Fail), Fault: "oops"},
			HarnessError, "oops"},
		"another provider": {Facts{Observed: 3, Findings: breaches(Fail), Inapplicable: "gemini"},
			NotApplicable, "gemini"},
		"required and not seen":              {Facts{Missing: true}, Fail, "required"},
		"kept, but no call was accepted":     {Facts{Observed: 3, Unproven: "none of 2"}, NotTestable, "none of 2"},
		"passed before no call was accepted": {Facts{Was: Pass, Unproven: "none of 2"}, NotTestable, "none of 2"},
		"a finding stays without accepted call": {Facts{Observed: 3, Findings: breaches(Warn), Unproven: "none of 2"},
			Warn, ""},
		"unseen keeps its reason": {Facts{Was: NotTestable, Why: "no tool", Unproven: "none of 2"},
			NotTestable, "no tool"},
		"strict":                 {Facts{Was: Warn, Strict: true}, Fail, ""},
		"strict leaves the rest": {Facts{Was: Contradicted, Strict: true}, Contradicted, ""},
		"known":                  {Facts{Was: Fail, Known: true}, KnownFail, ""},
		"known flake":            {Facts{Was: Flaky, Why: "differs", Known: true}, KnownFail, "differs"},
		"the harness is never excused": {Facts{Was: HarnessError, Why: "oops", Known: true},
			HarnessError, "oops"},
		"runs differ": {Facts{Was: Fail, Runs: Counts{Pass: 2, Fail: 1}}, Flaky,
			"differs between 3 runs (1 fail, 2 pass)"},
		"runs agree":                    {Facts{Was: Fail, Runs: Counts{Fail: 3}}, Fail, ""},
		"contradicted is no difference": {Facts{Was: Pass, Runs: Counts{Pass: 1, Contradicted: 1}}, Pass, ""},
		"a broken run among others": {Facts{Was: HarnessError, Why: "oops",
			Runs: Counts{Pass: 1, Fail: 1, HarnessError: 1}}, HarnessError, "oops"},
	} {
		if v, why := Decide(c.facts); v != c.want || !strings.HasPrefix(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: %s (%s)", name, v, why)
		}
	}
}

func TestWholes(t *testing.T) {
	for name, c := range map[string]struct{ got, want Verdict }{
		"worst of a case":             {Case(CaseFacts{Results: []Verdict{Pass, Warn}}), Warn},
		"not run":                     {Case(CaseFacts{Results: []Verdict{Fail}, NotRun: true}), NotApplicable},
		"nothing was asked":           {Case(CaseFacts{}), NotApplicable},
		"nothing was asked, it broke": {Case(CaseFacts{Deviated: true}), NotTestable},
		"planned":                     {Case(CaseFacts{NotRun: true, Planned: true}), NotTestable},
		"recording": {Recording(RecordingFacts{Results: []Verdict{Pass, Contradicted}, Accepted: 1}),
			Pass},
		"recording shows nothing":     {Recording(RecordingFacts{Accepted: 1}), NotTestable},
		"nothing accepted":            {Recording(RecordingFacts{Results: []Verdict{Warn}}), NotTestable},
		"nothing accepted, and wrong": {Recording(RecordingFacts{Results: []Verdict{Fail}}), Fail},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s", name, c.got)
		}
	}
	for _, c := range []struct {
		facts EntryFacts
		want  Verdict
		why   string
	}{
		{EntryFacts{Expired: "2026-01-01", Excused: 1}, Stale, "expired on 2026-01-01"},
		{EntryFacts{Excused: 1, Partial: true}, KnownFail, ""},
		{EntryFacts{InScope: true, Partial: true}, NotApplicable, ""},
		{EntryFacts{InScope: true}, Stale, "nothing fails"},
		{EntryFacts{InScope: true, Fails: true}, Stale, "fails in some runs"},
		{EntryFacts{InScope: true, Fails: true, Flaky: true, Repeated: true}, Stale, "fails in every run"},
		{EntryFacts{InScope: true, Flaky: true}, NotApplicable, ""},
		{EntryFacts{Narrowed: true}, NotApplicable, ""},
		{EntryFacts{}, Stale, "matches no check"},
	} {
		if v, why := Entry(c.facts); v != c.want || !strings.HasPrefix(why, c.why) {
			t.Errorf("%+v: %s (%s)", c.facts, v, why)
		}
	}
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		facts ReportFacts
		want  Verdict
		exit  int
	}{
		"pass": {ReportFacts{Counts: Counts{Pass: 2, NotApplicable: 1}}, Pass, ExitOK},
		"warn": {ReportFacts{Counts: Counts{Warn: 1}, Findings: Counts{Warn: 1}}, Warn, ExitOK},
		"warn counts": {ReportFacts{Counts: Counts{Warn: 1}, Findings: Counts{Warn: 1},
			FailOnWarn: true}, Warn, ExitFailure},
		"warn beside what is unseen": {ReportFacts{Counts: Counts{NotTestable: 1}, Findings: Counts{Warn: 1},
			FailOnWarn: true}, NotTestable, ExitFailure},
		"fail over unseen":             {ReportFacts{Counts: Counts{Fail: 1, NotTestable: 1}}, Fail, ExitFailure},
		"stale":                        {ReportFacts{Counts: Counts{Stale: 1}}, Stale, ExitFailure},
		"contradicted shows nothing":   {ReportFacts{Counts: Counts{Contradicted: 1}}, Contradicted, ExitIncomplete},
		"required and missing":         {ReportFacts{Counts: Counts{Pass: 1}, Missing: 1}, Fail, ExitFailure},
		"a rule of the team is unseen": {ReportFacts{Counts: Counts{Pass: 1}, Unseen: 1}, NotTestable, ExitIncomplete},
		"the referee failed": {ReportFacts{Counts: Counts{Fail: 1, HarnessError: 1}}, HarnessError,
			ExitHarness},
		"guard": {ReportFacts{Counts: Counts{Pass: 1}, Guarded: true, Interrupted: true},
			NotTestable, ExitGuard},
		"guard after a failure": {ReportFacts{Counts: Counts{Fail: 1}, Guarded: true}, Fail, ExitGuard},
		"interrupted": {ReportFacts{Counts: Counts{Pass: 1}, Interrupted: true}, NotTestable,
			ExitInterrupted},
		"an empty shard":              {ReportFacts{Shard: true, Empty: true}, NotApplicable, ExitOK},
		"nothing selected":            {ReportFacts{Empty: true}, NotTestable, ExitUsage},
		"a new verdict is no success": {ReportFacts{Counts: Counts{Pass: 1, "new": 1}}, "new", ExitHarness},
	} {
		if v, exit := Report(c.facts); v != c.want || exit != c.exit {
			t.Errorf("%s: %s, exit %d", name, v, exit)
		}
	}
	for i, better := range Verdicts {
		for _, worse := range Verdicts[i:] {
			if Worst(better, worse) != worse || Worst(worse, better) != worse || better.Meaning() == "" {
				t.Errorf("%s and %s: %s", better, worse, Worst(better, worse))
			}
		}
	}
}
