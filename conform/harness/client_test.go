package harness_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy"
)

// TestClientPlays holds that the client plays the scenarios of the wire that rkat does not speak, by both ways in,
// and that no requirement is found broken.
func TestClientPlays(t *testing.T) {
	for ingress, sources := range map[string][]evidence.Source{proxy.MITM: nil,
		proxy.BaseURL: {evidence.SourceSimulator}} {
		found, err := harness.Run(t.Context(), harness.Options{
			Config:  harness.Config{Subject: harness.Client("chat"), Seed: "client"},
			Ingress: []string{ingress}, Sources: sources, Filter: "chat",
		})
		if err != nil {
			t.Fatal(err)
		}
		verdicts := map[report.Verdict]int{}
		for _, c := range found.Cases {
			verdicts[c.Verdict]++
			if c.Verdict == report.NotApplicable && !strings.HasPrefix(c.Reason, "needs ") &&
				!strings.HasPrefix(c.Reason, "the client ") {
				t.Errorf("%s is not applicable: %s", c.Name, c.Reason)
			}
		}
		if verdicts[report.Pass] < 30 {
			t.Errorf("%s: %v", ingress, verdicts)
		}
		for _, r := range found.Results {
			if r.Verdict == report.Fail {
				t.Errorf("%s %s %s: %s %+v", ingress, r.Check, r.Case, r.Reason, r.Findings)
			}
		}
		t.Log(verdicts)
	}
}
