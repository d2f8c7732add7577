package standin

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/meerkat-go/conformance/specs"
)

// plans are what the model does in each live scenario: the tools that it calls, turn by
// turn. A turn without a call is an answer.
var plans = map[string][][]string{
	"live-answer":         {nil},
	"live-tool-loop":      {{"echo"}, nil},
	"live-failing-tool":   {{"fail"}, nil},
	"live-parallel-calls": {{"echo", "echo", "noargs"}, nil},
	"live-resume":         {{"echo"}, nil, {"echo"}, nil},
}

// clues tell the live scenarios apart by their prompts.
var clues = map[string]string{
	"live-answer":         "Answer with one short sentence",
	"live-tool-loop":      "Call the echo tool once",
	"live-failing-tool":   "Call the fail tool",
	"live-parallel-calls": "Make three calls",
	"live-resume":         "Call the echo tool once",
}

var errUnknownPrompt = errors.New("the stand-in knows no such prompt")

// scenarioFor returns the scenario that a request belongs to, with what the model says. Its
// words differ from reply to reply.
func scenarioFor(request []byte, n int, isIdle bool) (*specs.Scenario, error) {
	all, err := specs.LiveScenarios()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if bytes.Contains(request, []byte(clues[s.Name])) {
			played := *s
			played.Live, played.Turns = false, modelTurns(longestPlan(s.Name), n, isIdle)
			return &played, nil
		}
	}
	return nil, errUnknownPrompt
}

// longestPlan is the plan of a scenario, or of one that begins in the same way and goes on.
func longestPlan(name string) [][]string {
	plan := plans[name]
	for other, p := range plans {
		if clues[other] == clues[name] && len(p) > len(plan) {
			plan = p
		}
	}
	return plan
}

var openings = []string{"Certainly.", "Of course!", "Very well,", "Let me see…", "Right:", "好的，"}

// modelTurns are the replies of the model.
func modelTurns(plan [][]string, n int, isIdle bool) (list []specs.Turn) {
	opening := openings[n%len(openings)]
	for _, calls := range plan {
		turn := specs.Turn{Emit: []specs.Block{
			{Kind: specs.KindThinking, Parts: []string{fmt.Sprintf("%s I think about request %d.", opening, n)}},
			{Kind: specs.KindText, Text: fmt.Sprintf("%s This is answer %d, in words of its own.", opening, n)},
		}}
		if isIdle {
			calls = nil
		}
		for i, role := range calls {
			call := specs.Block{Kind: specs.KindCall, Role: role}
			if role != "noargs" {
				call.Args = fmt.Appendf(nil, `{"text": "words %d-%d"}`, n, i)
			}
			turn.Emit = append(turn.Emit, call)
		}
		list = append(list, turn)
	}
	return list
}
