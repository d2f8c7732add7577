package program

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/report"
)

func TestHold(t *testing.T) {
	broken := report.Result{Verdict: report.Fail, Findings: []report.Finding{{Finding: check.Finding{Exchange: 1, Path: "system", Message: "changed"}}}}
	for _, c := range []struct {
		result report.Result
		holds  bool
		words  string
	}{
		{report.Result{Verdict: report.Pass}, true, ""},
		{report.Result{Verdict: report.Warn}, true, ""},
		{report.Result{Verdict: report.NotTestable, Reason: "nothing was seen"}, false, "not-testable: nothing was seen"},
		{broken, false, "exchange 1 system: changed"},
	} {
		holds, err := hold().Match(c.result)
		if err != nil || holds != c.holds {
			t.Errorf("%s: holds %v, %v; want %v", c.result.Verdict, holds, err, c.holds)
		}
		if !c.holds && hold().FailureMessage(c.result) != c.words {
			t.Errorf("%s: says %q, want %q", c.result.Verdict, hold().FailureMessage(c.result), c.words)
		}
	}
	if _, err := hold().Match("text"); err == nil {
		t.Error("a string was taken for a result")
	}
}
