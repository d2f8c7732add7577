package mutant

import (
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/internal/sample"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

func rules(t testing.TB) []report.Rule {
	t.Helper()
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestSelftest is the proof that no check is idle: every mutant of the
// catalogue applies to the samples and dies.
func TestSelftest(t *testing.T) {
	good, err := sample.All()
	if err != nil {
		t.Fatal(err)
	}
	table := Selftest(good, rules(t))
	for _, f := range table.Faults {
		t.Error(f)
	}
	for _, r := range table.Rows {
		t.Log(r)
	}
	t.Log(table.Subjects)
}
