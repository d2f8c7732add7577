package specs

import (
	"slices"
	"strings"
	"testing"
)

// TestLoopsBeginWithAThought holds that the first reply to a prompt thinks before it calls,
// where the agent asks for thinking: with a budget Claude always does, and Anthropic refuses
// a loop that begins with a call, which no agent could help.
func TestLoopsBeginWithAThought(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := Simulated()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(all, simulated) {
		thinks := slices.ContainsFunc(s.Targets,
			func(g Target) bool { return g.Provider == "anthropic" && g.Effort != "none" })
		inLoop := map[string]bool{} // by sub-agent
		for _, turn := range s.Turns {
			calls := func(b Block) bool { return b.Kind == KindCall }
			if first := slices.IndexFunc(turn.Emit, calls); thinks && first == 0 && !inLoop[turn.Agent] {
				t.Errorf("%s:%d: the reply to a prompt begins with a call; put a thought before it", s.Name, turn.Line)
			}
			inLoop[turn.Agent] = slices.ContainsFunc(turn.Emit, calls)
		}
	}
}

// TestSomeTextsHaveEdges holds that a scenario plays a thought and a text with white space at
// both ends. Without one, an agent that trims what the model said passes every case.
func TestSomeTextsHaveEdges(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	edged := map[BlockKind]bool{}
	for _, s := range all {
		for _, turn := range s.Turns {
			for _, b := range turn.Emit {
				text := strings.Join(b.Parts, "") + b.Text
				edged[b.Kind] = edged[b.Kind] || strings.TrimLeft(text, " \n") != text &&
					strings.TrimRight(text, " \n") != text
			}
		}
	}
	if !edged[KindThinking] || !edged[KindText] {
		t.Errorf("kinds of blocks with white space at their edges: %v", edged)
	}
}
