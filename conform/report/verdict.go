// Package report turns the results of checks into verdicts, and verdicts into
// what people and machines read: a table for the terminal, JSON and JUnit XML.
//
// [Rules] pairs the catalogue of requirements with the checks; [Judge] and
// [JudgeRecording] judge evidence by them:
//
//	rules, err := report.Rules(catalogue, check.All())
//	...
//	checked := report.NewChecked(tool, []report.Recording{report.JudgeRecording(rules, recording)})
//	report.NewTerminal(os.Stdout, false).Checked(checked)
//
// [NewRun] makes the report of a run against an agent, [NewChecked] that of
// recorded traffic. Both are plain data. All forms of output are made from the
// same values, so that they cannot contradict each other. The package reads no
// clock and no file; times come from the caller.
package report

import "github.com/meerkat-go/conformance/conform/decide"

// A report is made of findings and verdicts of package decide.
type (
	Finding = decide.Finding
	Place   = decide.Place
	Verdict = decide.Verdict
	Counts  = decide.Counts
)

// The verdicts, to compare with; package decide gives them.
const (
	Pass          = decide.Pass
	Fail          = decide.Fail
	Warn          = decide.Warn
	NotApplicable = decide.NotApplicable
	NotTestable   = decide.NotTestable
	KnownFail     = decide.KnownFail
	Stale         = decide.Stale
	Flaky         = decide.Flaky
	HarnessError  = decide.HarnessError
	Contradicted  = decide.Contradicted
)

// Exit codes of conform.
const (
	ExitOK          = decide.ExitOK
	ExitFailure     = decide.ExitFailure
	ExitUsage       = decide.ExitUsage
	ExitIncomplete  = decide.ExitIncomplete
	ExitHarness     = decide.ExitHarness
	ExitGuard       = decide.ExitGuard
	ExitInterrupted = decide.ExitInterrupted
)

// Verdicts lists all of them, the best first.
var Verdicts = decide.Verdicts

// Worst returns the worst of several verdicts.
func Worst(vs ...Verdict) Verdict { return decide.Worst(vs...) }
