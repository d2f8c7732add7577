package vcr

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// Judge checks the requests of a test against the catalogue of requirements, as conform check
// does. It fails the test when a request breaks a requirement, or nothing could be judged.
// The requests are those of this run, even where their replies were recorded earlier. Judge
// ends the recording: no request may follow.
func Judge(t testing.TB, rec *Recorder) {
	t.Helper()
	verdict, err := rec.Verdict()
	switch {
	case err != nil:
		t.Error(err)
	case !verdict.Passed:
		t.Errorf("%s", verdict.Text)
	default:
		t.Logf("%s", verdict.Text)
	}
}

// Verdict is what the referee says of the requests of a [Recorder].
type Verdict struct {
	// Passed: no requirement was broken, and some were seen.
	Passed bool
	// Text is the report of conform check.
	Text string
	// Recording has the findings.
	Recording report.Recording
}

// Verdict judges what was asked so far, see [Judge]. It ends the recording.
func (r *Recorder) Verdict() (Verdict, error) {
	r.recording.settle()
	rules, err := report.RulesOf(specs.CurrentSet)
	if err != nil {
		return Verdict{}, err
	}
	seen := evidence.NewRecording(r.file(), r.provenance(), r.seen.inOrder())
	judged := report.NewChecked(report.Tool{Name: "vcr"}, report.Policy{FailOn: report.Fail}, []report.Recording{report.JudgeRecording(rules, seen)})
	var text strings.Builder
	report.NewTerminal(&text, false).Checked(judged)
	return Verdict{Passed: judged.Summary.Exit == report.ExitOK, Text: strings.TrimSpace(text.String()), Recording: judged.Recordings[0]}, nil
}
