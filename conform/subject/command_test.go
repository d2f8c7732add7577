package subject

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
)

// TestEffortOfAStep: a step whose user does not ask for the effort of the case starts the
// agent without it.
func TestEffortOfAStep(t *testing.T) {
	sandbox, err := isolate.New(isolate.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p := &profiles.Profile{
		Name: "echo", Run: []profiles.Template{"/bin/echo", "{args}", "{prompt}"},
		Resume: []profiles.Template{"/bin/echo", "again", "{args}", "{prompt}"},
		Effort: &profiles.Addition{Args: []profiles.Template{"--effort", "{effort}"}},
	}
	session, err := NewCommand(p, "1.0").Open(t.Context(),
		harness.Room{Effort: "max", Sandbox: sandbox, Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	for _, c := range []struct {
		step harness.Step
		want string
	}{
		{harness.Step{Prompt: "hi", Effort: "max"}, "--effort max hi"},
		{harness.Step{Prompt: "hi", Resume: true}, "again hi"},
	} {
		process, err := session.RunStep(t.Context(), c.step)
		if got := strings.TrimSpace(string(process.Stdout)); err != nil || got != c.want {
			t.Errorf("%q, %v, not %q", got, err, c.want)
		}
	}
}

// TestHostedTools: an agent that can be told to offer the provider's own tools is told so in
// cases that need them, and in no other.
func TestHostedTools(t *testing.T) {
	p := &profiles.Profile{Name: "agent", Run: []profiles.Template{"agent", "{args}", "{prompt}"},
		Hosted: &profiles.Addition{Args: []profiles.Template{"--web-search"}}}
	if about := NewCommand(p, "1.0").About(); !slices.Contains(about.Abilities, specs.AbilityHosted) {
		t.Errorf("abilities %v", about.Abilities)
	}
	for _, c := range []struct {
		needs []specs.Ability
		want  string
	}{
		{nil, "agent hi"},
		{[]specs.Ability{specs.AbilityHosted}, "agent --web-search hi"},
	} {
		room := harness.Room{Case: harness.Case{Scenario: &specs.Scenario{ExtraNeeds: c.needs}}}
		argv, err := newPlan(p, room).fillArguments(p.Run, "hi", "")
		if got := strings.Join(argv, " "); err != nil || got != c.want {
			t.Errorf("%v: %q, %v, not %q", c.needs, got, err, c.want)
		}
	}
}
