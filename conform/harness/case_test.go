package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func TestCases(t *testing.T) {
	all := []*specs.Scenario{
		{Name: "a", System: "s", Targets: []specs.Target{{Provider: "anthropic", Model: "m", Effort: "low"},
			{Provider: "gemini", Model: "g"}},
			Steps: []specs.Step{{Prompt: "p", Exit: specs.ExitError}, {Resume: true, Exit: specs.ExitOK}},
			Turns: make([]specs.Turn, 1)},
		{Name: "b", Targets: []specs.Target{{Provider: "openai", Model: "o"}},
			Steps: []specs.Step{{Prompt: "q", Exit: specs.ExitUnsupported}}},
	}
	var names []string
	for _, c := range casesOf(all) {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff([]string{"a/anthropic", "a/gemini", "b/openai"}, names); diff != "" {
		t.Error(diff)
	}
	first := casesOf(all)[0]
	want := []Step{
		{Prompt: "p", System: "s", Model: "m", Effort: "low", Exit: specs.ExitError,
			Needs: []specs.Ability{specs.AbilityResume}},
		{Needs: []specs.Ability{specs.AbilityResume}, Resume: true, System: "s", Model: "m", Effort: "low",
			Exit: specs.ExitOK},
	}
	if diff := cmp.Diff(want, first.Steps(committedSeed)); diff != "" {
		t.Error(diff)
	}
	if !first.HasTraffic() || casesOf(all)[2].HasTraffic() {
		t.Error("only a scenario without turns has no traffic")
	}
}

func TestExitDeviation(t *testing.T) {
	for _, c := range []struct {
		exit           specs.Exit
		code, requests int
		good           bool
	}{
		{specs.ExitOK, 0, 1, true}, {specs.ExitOK, 1, 1, false}, {specs.ExitOK, 0, 0, false},
		{specs.ExitError, 1, 2, true}, {specs.ExitError, 0, 2, false}, {specs.ExitError, 1, 0, false},
		{specs.ExitUnsupported, 77, 0, true}, {specs.ExitUnsupported, 77, 1, false},
		{specs.ExitUnsupported, 0, 0, false},
	} {
		if why := (Step{Exit: c.exit}).exitDeviation("", c.code, c.requests); (why == "") != c.good {
			t.Errorf("%s with code %d and %d requests: %q", c.exit, c.code, c.requests, why)
		}
	}
	if why := (Step{}).exitDeviation("was ended at its time limit of 5s", -1, 0); why != "was ended at its time limit of 5s" {
		t.Errorf("at its limit: %q", why)
	}
	if why := (Step{Exit: specs.ExitError}).exitDeviation("was ended by SIGSEGV", -1, 1); why != "was ended by SIGSEGV" {
		t.Errorf("a crash passes for the failure that the scenario expects: %q", why)
	}
}

// TestNonces holds that prompts and answers contain unpredictable words, and that
// an agent that does not say them is noticed.
func TestNonces(t *testing.T) {
	c := Case{Scenario: &specs.Scenario{System: "Be {{nonce}}.",
		Steps: []specs.Step{{Prompt: "Echo {{nonce asked}}.", Says: "{{nonce answer}}"}, {}}}}
	step := c.Steps(committedSeed)[0]
	answer := specs.Nonce(committedSeed, "answer")
	if step.Prompt != "Echo "+specs.Nonce(committedSeed, "asked")+"." ||
		step.System != "Be "+specs.Nonce(committedSeed, "")+"." || step.Says != answer {
		t.Errorf("%+v", step)
	}
	if why := step.outputDeviation([]byte(`{"text":"it is ` + answer + `"}`)); why != "" {
		t.Error(why)
	}
	if step.outputDeviation([]byte("it is something else")) == "" ||
		c.Steps(committedSeed)[1].outputDeviation(nil) != "" {
		t.Error("an answer that is missing is not noticed, or one that was not asked for is")
	}
}

// TestSilentStep: only a first process that sends nothing may have missed the way in.
func TestSilentStep(t *testing.T) {
	for _, c := range []struct {
		step Step
		code int
		want string
	}{
		{Step{}, 1,
			"exited 1, the scenario expects success, and sent no request; if it calls a model, it may not use HTTPS_PROXY or the base URL"},
		{Step{}, 0, "sent no request; if it calls a model, it may not use HTTPS_PROXY or the base URL"},
		{Step{Resume: true}, 1, "exited 1, the scenario expects success, and sent no request"},
		{Step{Resume: true}, -1,
			"was ended by a signal from outside, the scenario expects success, and sent no request"},
		{Step{Resume: true}, 0, "sent no request"},
	} {
		c.step.Exit = specs.ExitOK
		if got := c.step.exitDeviation("", c.code, 0); got != c.want {
			t.Errorf("%+v: %q", c.step, got)
		}
	}
}
