package harness

import (
	"context"
	"fmt"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// unable is an agent that says that it cannot play the case.
type unable struct{}

func (unable) About() About {
	return About{Subject: report.Subject{Name: "unable", Kind: "driver"}, Abilities: []specs.Ability{specs.AbilityTools}}
}
func (u unable) Open(context.Context, Room) (Session, error) { return u, nil }
func (unable) Close() error                                  { return nil }
func (unable) RunStep(context.Context, Step) (evidence.Process, error) {
	return evidence.Process{}, fmt.Errorf("step: %w", &UnsupportedError{Reason: "no thinking here"})
}

// TestUnsupportedIsNotApplicable holds that such a case is neither judged nor a fault of
// the harness, and never a pass.
func TestUnsupportedIsNotApplicable(t *testing.T) {
	out, err := Run(t.Context(), Options{Config: Config{Subject: unable{}}, Sources: []evidence.Source{evidence.SourceSimulator}, Filter: "thinking-tool-loop && anthropic"})
	if err != nil || len(out.Cases) != 1 || len(out.Results) != 0 {
		t.Fatalf("%v %+v", err, out)
	}
	if c := out.Cases[0]; c.Verdict != report.NotApplicable || c.Reason != "no thinking here" || c.Deviations != nil {
		t.Errorf("%+v", c)
	}
}
