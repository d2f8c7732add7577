package harness

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// unable is an agent that says that it cannot run the case.
type unable struct{}

func (unable) About() About {
	return About{Subject: report.Subject{Name: "unable", Kind: "driver"},
		Abilities: []specs.Ability{specs.AbilityTools}}
}
func (u unable) Open(context.Context, Room) (Session, error) { return u, nil }
func (unable) Close() error                                  { return nil }
func (unable) RunStep(context.Context, Step) (evidence.Process, error) {
	return evidence.Process{}, fmt.Errorf("step: %w", &UnsupportedError{Reason: "no thinking here"})
}

// TestUnsupportedIsNotApplicable holds that such a case is neither judged nor a fault of
// the harness, and never a pass.
func TestUnsupportedIsNotApplicable(t *testing.T) {
	out, err := Run(t.Context(), Options{Config: Config{Subject: unable{}},
		Sources: []evidence.Source{evidence.SourceSimulator}, Filter: "thinking-tool-loop && anthropic"})
	if err != nil || len(out.Cases) != 1 || len(out.Results) != 0 {
		t.Fatalf("%v %+v", err, out)
	}
	if c := out.Cases[0]; c.Verdict != report.NotApplicable || c.Reason != "no thinking here" || c.Deviations != nil {
		t.Errorf("%+v", c)
	}
}

// TestOtherProviderIsNotApplicable holds that an agent which calls another provider than that
// of the case is not judged by the case.
func TestOtherProviderIsNotApplicable(t *testing.T) {
	agent := func(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, env []string) int {
		args = slices.Clone(args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "gemini-3-flash-preview", "claude-opus-4-5")
		}
		return miniature{}.main(ctx, args, in, out, errs, env)
	}
	out, err := Run(t.Context(), Options{Config: Config{Subject: InProcess(agent, "", nil)},
		Sources: []evidence.Source{evidence.SourceSimulator}, Filter: "thinking-tool-loop && gemini"})
	if err != nil || len(out.Cases) != 1 || len(out.Results) != 0 {
		t.Fatalf("%v %+v", err, out)
	}
	if c := out.Cases[0]; c.Verdict != report.NotApplicable ||
		!strings.Contains(c.Reason, "calls anthropic and not gemini") {
		t.Errorf("%+v", c)
	}
}
