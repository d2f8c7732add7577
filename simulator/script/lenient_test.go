package script

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
)

const lenientSource = `A loop and a second prompt.
requirements: ORD-001
-- scenario.yaml --
title: a loop
providers:
  anthropic: {model: claude-opus-4-6}
player:
  - prompt: Echo heron.
  - resume: Go on.
  - resume: Echo both.
turns:
  - emit: [{call: {role: echo, args: '{"text":"heron"}'}}]
  - emit: [{text: first}]
  - emit: [{text: second}]
    error: {kind: overloaded, after: 1}
  - emit: [{call: {role: echo, args: '{"text":"a"}'}}, {call: {role: echo, args: '{"text":"b"}'}}]
  - emit: [{text: both}]
`

// lenientScript answers each request with the given intent.
func lenientScript(t *testing.T, asked Intent) (*Script, Request) {
	t.Helper()
	s, err := specs.ParseScenario("x.txtar", []byte(lenientSource))
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Provider: "anthropic", Model: "another-model"}
	for _, tool := range asked.Tools {
		req.Tools = append(req.Tools, tool.Name)
	}
	return &Script{
		Scenario: s.Lenient(), Seed: "seed", Key: seal.NewKey("seed"), Now: func() time.Time { return time.Unix(0, 0) },
		Intent: func(Request) Intent { return asked }, Attempts: &Attempts{},
	}, req
}

func toolWith(properties string) map[string]any {
	all := map[string]any{}
	for name := range strings.FieldsSeq(properties) {
		all[name] = map[string]any{"type": "string"}
	}
	return map[string]any{"type": "object", "properties": all}
}

// TestLenientTurns holds which turn answers which conversation.
func TestLenientTurns(t *testing.T) {
	prompts := []string{"Echo heron. (Reference: " + specs.Nonce("seed", "step-a") + ")", "Go on. (Reference: " +
		specs.Nonce("seed", "step-b") + ")", "Both. (Reference: " + specs.Nonce("seed", "step-c") + ")"}
	tools := []Tool{{Name: "mcp__conform__conform_echo", Schema: toolWith("text")}}
	for name, c := range map[string]struct {
		asked Intent
		want  string // a call or a text; "" for anything that is not in the script
	}{
		"the first prompt": {Intent{Tools: tools, Messages: []Message{{Text: prompts[0]}}},
			"mcp__conform__conform_echo"},
		"a reminder behind it": {Intent{Tools: tools, Messages: []Message{{Text: prompts[0]},
			{Text: "<system-reminder>x</system-reminder>"}}}, "mcp__conform__conform_echo"},
		"a canned turn before": {Intent{Tools: tools,
			Messages: []Message{{Text: "Hello.", Turns: []int{1}}, {Text: prompts[0]}}}, "mcp__conform__conform_echo"},
		"the result": {Intent{Tools: tools, Messages: []Message{{Text: prompts[0], Turns: []int{1}}}},
			"first"},
		"the second prompt": {Intent{Tools: tools,
			Messages: []Message{{Text: prompts[0], Turns: []int{1, 0}}, {Text: prompts[1]}}}, "second"},
		"after a compaction": {Intent{Tools: tools, Messages: []Message{{Text: prompts[1]}}}, "second"},
		"both in one message": {Intent{Tools: tools, Messages: []Message{{Text: prompts[0] + "\n\n" + prompts[1]}}},
			"second"},
		"another conversation": {Intent{Tools: tools, Messages: []Message{{Text: "Look for herons."}}}, ""},
		"a turn more": {Intent{Tools: tools, Messages: []Message{{Text: prompts[0], Turns: []int{1, 0}}}},
			""},
		"one call a turn": {Intent{Tools: tools, Messages: []Message{{Text: prompts[2], Turns: []int{1, 1}}}},
			"both"},
		"one call of two": {Intent{Tools: tools, Messages: []Message{{Text: prompts[2], Turns: []int{1}}}},
			"both"},
		"split, and answered": {Intent{Tools: tools, Messages: []Message{{Text: prompts[2], Turns: []int{1, 1, 0}}}},
			""},
		"a title": {Intent{System: "You are a title generator.",
			Messages: []Message{{Text: prompts[0]}}}, ""},
		"a title, tools offered": {Intent{System: "You are a title generator.", Tools: tools,
			Messages: []Message{{Text: prompts[0]}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, req := lenientScript(t, c.asked)
			reply, refusal := s.Reply(req)
			if refusal != nil {
				t.Fatal(refusal)
			}
			said := ""
			for _, b := range reply.Blocks {
				said += b.Name + b.Text
			}
			if scripted := reply.Turn.Line > 0; scripted != (c.want != "") || scripted && said != c.want {
				t.Errorf("answered %q, want %q", said, c.want)
			}
		})
	}
}

// TestLenientFaultsEnd holds that a fault happens twice, whatever the requests look
// like.
func TestLenientFaultsEnd(t *testing.T) {
	mark := specs.Nonce("seed", "step-b")
	s, req := lenientScript(t, Intent{Messages: []Message{{Text: mark}}})
	for attempt, broken := range []bool{true, true, false, false} {
		req.Body = append(req.Body, 'x')
		reply, refusal := s.Reply(req)
		if refusal != nil || (reply.Turn.Fail != nil) != broken {
			t.Errorf("attempt %d: fails %t, want %t", attempt, reply.Turn.Fail != nil, broken)
		}
	}
}

// TestAttemptsAreReplies holds that each attempt at a turn has ids of its own, as every
// reply of a provider has: clients put together what came under one id.
func TestAttemptsAreReplies(t *testing.T) {
	s, req := lenientScript(t, Intent{Messages: []Message{{Text: specs.Nonce("seed", "step-b")}}})
	seen := map[string]bool{}
	for attempt := range 4 {
		reply, refusal := s.Reply(req)
		if refusal != nil {
			t.Fatal(refusal)
		}
		if id := reply.ID("msg_", 0, Alnum, 24); seen[id] {
			t.Errorf("attempt %d: the id %s was issued before", attempt, id)
		} else {
			seen[id] = true
		}
	}
}

// TestStandIns holds which of a client's own tools fills a role, and with what.
func TestStandIns(t *testing.T) {
	command := toolWith("command description")
	list := map[string]any{"type": "object",
		"properties": map[string]any{"command": map[string]any{"type": "array",
			"items": map[string]any{"type": "string"}}}}
	for _, c := range []struct {
		role  string
		tools []Tool
		want  string
	}{
		{"echo", []Tool{{Name: "Write"}, {Name: "Bash", Schema: command}}, `Bash {"command":"echo heron"}`},
		{"echo", []Tool{{Name: "shell", Schema: list}}, `shell {"command":["sh","-c","echo heron"]}`},
		{"fail", []Tool{{Name: "exec_command", Schema: toolWith("cmd")}},
			`exec_command {"cmd":"cat no-such-file-of-conform.txt"}`},
		{"noargs", []Tool{{Name: "run_shell_command", Schema: command}}, `run_shell_command {"command":"true"}`},
		{"large", []Tool{{Name: "bash", Schema: command}}, `bash {"command":"head -c 65536 /dev/zero | tr '\\0' x"}`},
		{"slow", []Tool{{Name: "bash", Schema: command}}, `bash {"command":"sleep 1"}`},
		{"fail", []Tool{{Name: "write_file", Schema: toolWith("path")}, {Name: "read_file", Schema: toolWith("path")}},
			`read_file {"path":"no-such-file-of-conform.txt"}`},
		{"noargs", []Tool{{Name: "list_birds", Schema: toolWith("")}}, `list_birds {}`},
		{"echo", []Tool{{Name: "delete_all", Schema: toolWith("name")}, {Name: "weather", Schema: toolWith("city")}},
			`weather {"city":"heron"}`},
		{"echo", []Tool{{Name: "delete_all", Schema: toolWith("name")}}, ""},
		{"echo", nil, ""},
	} {
		s, req := lenientScript(t, Intent{Tools: c.tools})
		name, args, ok := s.standIn(specs.Block{Kind: specs.KindCall, Role: c.role, Fill: "heron"}, req, c.tools)
		if got := strings.TrimSpace(name + " " + string(args)); got != c.want || ok != (c.want != "") {
			t.Errorf("%s of %v: %s, want %s", c.role, req.Tools, got, c.want)
		}
	}
	s, req := lenientScript(t,
		Intent{Tools: []Tool{{Name: "look", Schema: toolWith("x")}, {Name: "Bash", Schema: command}}})
	s.OwnTools = map[string]string{"echo": "look"}
	if name, _, _ := s.standIn(specs.Block{Role: "echo", Fill: "heron"}, req, s.Intent(req).Tools); name != "look" {
		t.Errorf("the profile names look, called was %s", name)
	}
}

// TestOurToolInAnySpelling holds that our tool is found behind the marks of a client.
func TestOurToolInAnySpelling(t *testing.T) {
	for _, name := range []string{"conform_echo", "mcp__conform__conform_echo", "conform.conform_echo",
		"conform-conform-echo", "Conform_ConformEcho"} {
		if got := roleTool("echo", []string{"xconform_fail", name}); got != name {
			t.Errorf("%s is not found: %q", name, got)
		}
	}
}

// TestNoTools holds that a client without tools gets an answer and is reported.
func TestNoTools(t *testing.T) {
	s, req := lenientScript(t, Intent{Messages: []Message{{Text: specs.Nonce("seed", "step-a")}}})
	var missed []*Mismatch
	s.Mismatch = func(m *Mismatch) { missed = append(missed, m) }
	if reply, refusal := s.Reply(req); refusal != nil || reply.Stop != specs.StopEnd || len(missed) != 1 ||
		!missed[0].NoTools {
		t.Errorf("reply %+v, refusal %v, mismatches %v", reply, refusal, missed)
	}
}

// TestEveryScenarioCanBeRun holds that a client with our tools gets every turn of
// every scenario, one after the other, and the client with a shell those that need no
// tool of ours.
func TestEveryScenarioCanBeRun(t *testing.T) {
	ours := []Tool{}
	for _, role := range []string{"echo", "fail", "noargs", "slow", "large", "image", "awkward"} {
		ours = append(ours, Tool{Name: "conform_" + role, Schema: toolWith("text")})
	}
	shell := []Tool{{Name: "bash", Schema: toolWith("command")}}
	recorded, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := specs.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(recorded, simulated...) {
		needs := s.Needs()
		if slices.Contains(needs, specs.AbilitySubAgents) {
			continue // it takes a client that starts other agents: see parallel-agents in conform run
		}
		for _, target := range s.Targets {
			playTurns(t, s, target.Provider, ours)
			if !slices.Contains(needs, specs.AbilityTools) {
				playTurns(t, s, target.Provider, shell)
			}
		}
	}
}

// playTurns asks for every turn of every step.
func playTurns(t *testing.T, scenario *specs.Scenario, provider string, tools []Tool) {
	t.Helper()
	asked := Intent{Tools: tools, Hosted: []string{"search", "code"}}
	s, req := lenientScript(t, asked)
	s.Scenario, req.Provider = scenario.Lenient(), provider
	for step := range s.Scenario.Steps {
		if s.Scenario.Steps[step].Compact {
			return // what follows does not repeat the turns before
		}
		asked.Messages = append(asked.Messages, Message{Text: s.Scenario.PromptMark(step, s.Seed)})
		for _, at := range s.Scenario.StepTurns(step) {
			s.Intent = func(Request) Intent { return asked }
			reply, refusal := s.Reply(req)
			if refusal != nil || reply.Turn.Line != s.Scenario.Turns[at].Line {
				t.Errorf("%s/%s with %s: step %d, turn %d: line %d, %v", scenario.Name, provider, tools[0].Name, step,
					at+1, reply.Turn.Line, refusal)
			}
			last := &asked.Messages[len(asked.Messages)-1]
			last.Turns = append(last.Turns, 1)
		}
	}
}

// TestSlowLastsAsSaid holds that the role slow waits as long as the scenario says, with
// whatever tool fills the role: a prompt that is called off in the call must find it running.
func TestSlowLastsAsSaid(t *testing.T) {
	seconds := map[string]any{"type": "object",
		"properties": map[string]any{"seconds": map[string]any{"type": "integer", "minimum": 1}},
		"required":   []any{"seconds"}}
	for want, offered := range map[string]Tool{
		`conform_slow {"seconds":30}`: {Name: "conform_slow", Schema: seconds},
		`bash {"command":"sleep 30"}`: {Name: "bash", Schema: toolWith("command")},
	} {
		s, req := lenientScript(t, Intent{Tools: []Tool{offered}})
		if name, args, _ := s.standIn(specs.Block{Kind: specs.KindCall, Role: "slow", Fill: "30"}, req,
			[]Tool{offered}); name+" "+string(args) != want {
			t.Errorf("got %s %s, want %s", name, args, want)
		}
	}
}
