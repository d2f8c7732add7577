package script

import (
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
)

// TestMismatch holds that a request that a scenario does not expect is told
// which scenario, which turn and what was expected, and what it held.
func TestMismatch(t *testing.T) {
	word := specs.Nonce("seed", "")
	text := []specs.Block{{Kind: specs.KindText, Text: "x"}}
	asked := Intent{
		Prompt:  "Say " + word,
		Results: []Called{{"echo", "heron"}, {"noargs", "ok"}},
		Tools:   []Tool{{Name: "Look", Schema: map[string]any{"type": "object", "required": []any{"at"}}}},
		Hosted:  []string{"code"},
	}
	for _, c := range []struct {
		name string
		turn specs.Turn
		req  Request
		want string // "": none
	}{
		{"nothing expected", specs.Turn{Emit: text}, Request{}, ""},
		{"the prompt", specs.Turn{Emit: text, Expect: &specs.Expectation{Prompt: "Say {{nonce}}"}}, Request{}, ""},
		{"another prompt", specs.Turn{Emit: text, Expect: &specs.Expectation{Prompt: "{{nonce x}}"}}, Request{},
			`scenario s, turn 1 (line 9): expected a prompt with "` + specs.Nonce("seed", "x") + `", got "Say ` +
				word + `"`},
		{"the results", specs.Turn{Emit: text, Expect: &specs.Expectation{Results: []string{"her", ""}}},
			Request{}, ""},
		{"fewer results", specs.Turn{Emit: text, Expect: &specs.Expectation{Results: []string{"her"}}}, Request{},
			"expected 1 result, got 2 results"},
		{"another result", specs.Turn{Emit: text, Expect: &specs.Expectation{Results: []string{"", "heron"}}},
			Request{},
			`expected "heron" in result 2, of noargs, got "ok"`},
		{"no such tool", specs.Turn{Emit: []specs.Block{{Kind: specs.KindCall, Role: "echo"}}},
			Request{Tools: []string{"Look"}},
			"expected a request that offers a tool for the role echo: no tool of the request ends in conform_echo, got one that offers Look"},
		{"any tool", specs.Turn{Emit: []specs.Block{{Kind: specs.KindCall, Role: "any", Fill: "x"}}}, Request{}, ""},
		{"its own tool", specs.Turn{Emit: []specs.Block{{Kind: specs.KindCode, Code: &specs.Code{}}}}, Request{}, ""},
		{"no tool of its own", specs.Turn{Emit: []specs.Block{{Kind: specs.KindSearch, Search: &specs.Search{}}}},
			Request{},
			"expected a request that offers the provider's own tool for search, got one that offers "},
		{"no turn", specs.Turn{Emit: text}, Request{Turns: 3, Prompts: 1},
			"scenario s: expected a conversation for one of its 1 turn, got one that holds 3 turns of the model and 1 prompt"},
		{"another model", specs.Turn{Emit: text}, Request{Model: "n"}, "scenario s: expected the model m, got n"},
		{"another provider", specs.Turn{Emit: text}, Request{Provider: "gemini"},
			"scenario s: expected a request for openai, got one for gemini"},
	} {
		c.turn.Line = 9
		s := &Script{Seed: "seed", Key: seal.NewKey("seed"), Now: time.Now,
			Intent: func(Request) Intent { return asked },
			Scenario: &specs.Scenario{Name: "s", Targets: []specs.Target{{Provider: "openai", Model: "m"}},
				Turns: []specs.Turn{c.turn}}}
		if c.req.Provider == "" {
			c.req.Provider = "openai"
		}
		if c.req.Model == "" {
			c.req.Model = "m"
		}
		_, refusal := s.Reply(c.req)
		switch {
		case c.want == "" && refusal != nil:
			t.Errorf("%s: %v", c.name, refusal)
		case c.want != "" && (refusal == nil || refusal.Mismatch == nil ||
			!strings.Contains(refusal.Mismatch.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, refusal, c.want)
		}
	}
}

// TestFilled holds that arguments come from the schema of the tool that was
// found, with the nonce in them.
func TestFilled(t *testing.T) {
	s := &Script{Seed: "seed", Now: time.Now, Intent: func(Request) Intent {
		return Intent{Tools: []Tool{{Name: "srv__conform_echo",
			Schema: schema(t,
				`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":7}},"required":["text","n"]}`)}}}
	}, Scenario: &specs.Scenario{Targets: []specs.Target{{Provider: "openai"}},
		Turns: []specs.Turn{{Emit: []specs.Block{
			{Kind: specs.KindCall, Role: "echo", Fill: "{{nonce}}"}}}}}}
	reply, refusal := s.Reply(Request{Provider: "openai", Tools: []string{"srv__conform_echo"}})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if got, want := string(reply.Blocks[0].Args), `{"text":"`+specs.Nonce("seed", "")+`","n":7}`; got != want ||
		reply.Blocks[0].Name != "srv__conform_echo" {
		t.Errorf("%s with %s, want %s", reply.Blocks[0].Name, got, want)
	}
}
