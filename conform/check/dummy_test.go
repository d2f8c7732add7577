package check_test

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
)

// TestStandIn: the documented stand-in is taken by the API (G-20), so it breaks
// no MUST; in place of a signature that was issued it still deserves a warning.
func TestStandIn(t *testing.T) {
	ev := samples(t)["gemini-loop"]
	edit(t, &ev, breach{at: "2>", old: "EjQKMgERTTIKbbbbbbbbbbbbbbbbbbbbbbbbc3ludA==",
		new: "skip_thought_signature_validator"})
	warned := false
	for _, res := range report.Judge(catalogue(t), &ev) {
		if res.Area() == "RES" { // one edited request is not an append-only history
			continue
		}
		for _, f := range res.Findings {
			warned = warned || f.Requirement == "SIG-017"
			if f.Consequence.IsFailure() {
				t.Errorf("%s: %s", f.Requirement, f.Message)
			}
		}
	}
	if !warned {
		t.Error("the signature is gone and nobody says so")
	}
}
