package specs

import (
	"slices"
	"testing"
)

// TestNeeds holds what an agent must be able to do for each kind of scenario.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		want       []Ability
	}{
		{"a prompt", "", nil},
		{"a word that any tool can echo", `turns: [{emit: [{call: {role: echo, args: '{"text": "x"}'}}]}]`, nil},
		{"no arguments", `turns: [{emit: [{call: {role: noargs, args: '{}'}}, {call: {role: fail}}]}]`, nil},
		{"a partial call", `turns: [{emit: [{call: {role: echo, partial: '{"te'}}], stop: max_tokens}]`, nil},
		{"arguments that only our tool takes", `turns: [{emit: [{call: {role: echo, args: '{"text": "x", "n": 1}'}}]}]`,
			[]Ability{AbilityTools}},
		{"a number for a text", `turns: [{emit: [{call: {role: echo, args: '{"text": 1}'}}]}]`,
			[]Ability{AbilityTools}},
		{"an image", `turns: [{emit: [{call: {role: image}}]}]`, []Ability{AbilityTools}},
		{"a search", `turns: [{emit: [{search: {query: x, results: [{title: t, url: "https://example.com"}]}}]}]`,
			[]Ability{AbilityHosted}},
		{"a resumed session", "player: [{prompt: a}, {resume: b}]", []Ability{AbilityResume}},
		{"turns and an interruption", "player: [{prompt: a, interrupt: true}, {turn: b}]",
			[]Ability{AbilityTurns, AbilityInterrupt}},
		{"a model below the floor", "player: [{prompt: a, exit: unsupported}]",
			[]Ability{AbilityModel, AbilityAllowlist}},
		{"tools that a real model is asked to call", "live: true\nplayer: [{prompt: a, calls: [echo]}]",
			[]Ability{AbilityTools}},
		{"needs of its own", "needs: [system, tools]", []Ability{AbilityTools, AbilitySystem}},
	} {
		s, err := ParseScenario("x.txtar", []byte(completed(t, "yaml", c.yaml+"\n")))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.Needs(); !slices.Equal(got, c.want) {
			t.Errorf("%s: needs %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLenientExit holds that an agent may retry what failed, and that nothing else is
// forgiven.
func TestLenientExit(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	more, err := Simulated()
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, more...)
	for name, want := range map[string][]Exit{
		"thinking-tool-loop": {ExitOK},
		"cut-stream":         {ExitAny, ExitOK},
		"unsupported-model":  {ExitUnsupported},
		"rate-limit-seconds": {ExitAny},
		"rate-limit-silent":  {ExitAny, ExitAny},
		"max-tokens":         {ExitAny},
		"signed-text":        {ExitOK, ExitOK, ExitOK},
		"error-after-200":    {ExitAny, ExitAny, ExitOK},
	} {
		s := all[slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name })]
		var got []Exit
		for i := range s.Steps {
			got = append(got, s.LenientExit(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
