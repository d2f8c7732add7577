package script

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// instruction is a turn that a prompt spells out: calls of tools, or a text.
type instruction struct {
	calls []Tool
	text  string
}

// instructedBlocks is the turn that the prompt spells out for now; ok is false when it
// spells out none. A line `NAME {…}`, where NAME is a tool on offer, is a call, and a
// line `say TEXT` is an answer. Lines that follow one another are one turn; a line that
// begins with `then` begins the next one. What the client adds to the conversation later
// takes up no turn. After the last turn the model says how it ended and calls nothing.
func instructedBlocks(a Intent) (blocks []specs.Block, ok bool) {
	turn := 0
	for _, m := range slices.Backward(a.Messages) {
		turn += len(m.Turns)
		plan := a.readInstructions(m.Text)
		switch {
		case plan == nil:
			continue
		case a.Choice != "" || turn >= len(plan) && len(a.Calls) > 0:
			return []specs.Block{textBlock(reportResults(a.Calls))}, a.Choice == "" || a.Choice == ChoiceNone
		case turn >= len(plan):
			return []specs.Block{textBlock("Noted: " + oneSentence(a.Prompt))}, true
		}
		return plan[turn].asBlocks(), true
	}
	return nil, false
}

func (i instruction) asBlocks() []specs.Block {
	blocks := []specs.Block{thinkingBlock("The prompt says what to do. I do that.")}
	if i.text != "" || len(i.calls) == 0 {
		blocks = append(blocks, textBlock(i.text))
	}
	for _, t := range i.calls {
		blocks = append(blocks, specs.Block{Kind: specs.KindCall, Role: t.Name, Args: t.given})
	}
	return blocks
}

// readInstructions returns the turns that a text spells out, nil if it calls no tool.
func (a Intent) readInstructions(text string) (plan []instruction) {
	called := false
	for line := range strings.Lines(text) {
		line, later := strings.CutPrefix(strings.TrimSpace(line), "then ")
		said, isText := strings.CutPrefix(line, "say ")
		call, isCall := a.readCall(line)
		if !isText && !isCall {
			continue
		}
		if later || plan == nil {
			plan = append(plan, instruction{})
		}
		now := &plan[len(plan)-1]
		if isText {
			now.text = said
			continue
		}
		called = true
		now.calls = append(now.calls, call)
	}
	if !called {
		return nil
	}
	return plan
}

// readCall reads a line that is a call of a tool on offer.
func (a Intent) readCall(line string) (Tool, bool) {
	name, args, found := strings.Cut(line, " ")
	if !found || !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
		return Tool{}, false
	}
	i := slices.IndexFunc(a.Tools, func(t Tool) bool { return hasName(t.Name, name) && !t.Text })
	if i < 0 {
		return Tool{}, false
	}
	t := a.Tools[i]
	t.given = []byte(args)
	return t, true
}
