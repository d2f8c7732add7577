package specs

import (
	"slices"
	"strings"
	"testing"
)

// TestLenient holds what changes for an agent of which nothing is known, and that the
// scenario itself stays as it is.
func TestLenient(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		out := s.Lenient()
		if !out.IsLenient || s.IsLenient || len(out.Steps) != len(s.Steps) || len(out.Turns) != len(s.Turns) {
			t.Fatalf("%s: %+v", s.Name, out)
		}
		for i, step := range out.Steps {
			prompt := Fresh(step.Prompt, "a seed")
			if mark := out.PromptMark(i, "a seed"); !strings.HasPrefix(step.Prompt, s.Steps[i].Prompt) ||
				!strings.Contains(prompt, mark) {
				t.Errorf("%s: the prompt %q of step %d has no mark %q", s.Name, prompt, i, mark)
			}
			if out.PromptMark(i, "a seed") == out.PromptMark(i, "another seed") {
				t.Errorf("%s: the mark of step %d does not depend on the seed", s.Name, i)
			}
		}
		for i, turn := range out.Turns {
			if turn.breaksStream() && turn.Times == 0 || s.Turns[i].Times != 0 {
				t.Errorf("%s: turn %d breaks off for ever", s.Name, i)
			}
		}
	}
}

// TestEqualPromptsHaveEqualMarks holds that an agent gets the same words twice where the
// scenario says the same twice.
func TestEqualPromptsHaveEqualMarks(t *testing.T) {
	s := &Scenario{Steps: []Step{{Prompt: "Go on."}, {Prompt: "Stop."}, {Prompt: "Go on."}}}
	out := s.Lenient()
	if a, b, c := out.PromptMark(0, "x"), out.PromptMark(1, "x"), out.PromptMark(2, "x"); a != c || a == b {
		t.Errorf("marks %s, %s, %s", a, b, c)
	}
}

// TestRefusedPromptLeavesItsTurn holds that the turn which refuses a prompt for its words
// answers the next prompt, which does not hold them.
func TestRefusedPromptLeavesItsTurn(t *testing.T) {
	s := &Scenario{
		Steps: []Step{{Prompt: "A book of {{nonce book}}."}, {Prompt: "A bird."}, {Prompt: "A word."}},
		Turns: []Turn{{Emit: []Block{{Kind: KindText}}, Refuse: &Rejection{Kind: "context", Holds: "{{nonce book}}"}},
			{Emit: []Block{{Kind: KindText}}}},
	}
	for i, want := range [][]int{{0}, {0}, {1}} {
		if got := s.Lenient().StepTurns(i); !slices.Equal(got, want) {
			t.Errorf("step %d is answered by the turns %v, want %v", i, got, want)
		}
	}
}
