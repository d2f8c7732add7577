package check_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// askOf is an exchange with Anthropic that was answered.
func askOf(index int, body string) evidence.Exchange {
	return evidence.Exchange{Index: index, Provider: "anthropic",
		Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages", Body: []byte(body)},
		Response: evidence.Response{Status: 200,
			Body: []byte(`{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)}}
}

// A request that the profile says to be beside the conversation is named as such and is in
// no conversation.
func TestDeclaredSide(t *testing.T) {
	ev := evidence.Evidence{Exchanges: []evidence.Exchange{
		askOf(0,
			`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"billing"},{"type":"text","text":"You are a title generator."}],"messages":[{"role":"user","content":"A title for: birds"}]}`),
		askOf(1,
			`{"model":"m","max_tokens":9,"system":"You are careful.","messages":[{"role":"user","content":"Name one bird."}]}`),
		askOf(2,
			`{"model":"m","max_tokens":9,"system":"You are careful.","messages":[{"role":"user","content":"Is this a new topic?"}]}`),
	}}
	kinds := func() (list [3]check.Kind) {
		for i, p := range check.Decode(&ev).Placements() {
			list[i] = p.Kind
		}
		return list
	}
	if got := kinds(); got != [3]check.Kind{check.Main, check.Main, check.Main} {
		t.Errorf("undeclared: %q", got)
	}
	ev.Side = []*regexp.Regexp{regexp.MustCompile("^You are a title generator"), regexp.MustCompile("new topic")}
	if got := kinds(); got != [3]check.Kind{check.Title, check.Main, check.Side} {
		t.Errorf("declared: %q", got)
	}
}

// A request beside the conversation that asks what the conversation asks is not its first
// attempt.
func TestMainAsksWhatASideRequestAsked(t *testing.T) {
	prompt := `"messages":[{"role":"user","content":"Name one bird that cannot fly."}]}`
	ev := evidence.Evidence{Side: []*regexp.Regexp{regexp.MustCompile("^You are a topic detector")},
		Exchanges: []evidence.Exchange{
			askOf(0, `{"model":"m","max_tokens":9,"system":"You are a topic detector.",`+prompt),
			askOf(1, `{"model":"m","max_tokens":9,"system":"You are careful.",`+prompt),
			askOf(2, `{"model":"m","max_tokens":9,"system":"You are a topic detector.",`+prompt),
			askOf(3, `{"model":"m","max_tokens":9,"system":"You are careful.",`+prompt),
		}}
	want := []check.Placement{{Exchange: 0, Previous: -1, Conversation: -1, Kind: check.Side},
		{Exchange: 1, Previous: -1, Kind: check.Main},
		{Exchange: 2, Previous: 1, Conversation: -1, Kind: check.Side}, {Exchange: 3, Previous: 1, Kind: check.Retry}}
	if got := check.Decode(&ev).Placements(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Instructions that OpenAI takes among the messages are a system prompt, too.
func TestDeclaredSideOfDeveloper(t *testing.T) {
	body := func(instructions string) string {
		return `{"model":"gpt-5.5","store":false,"input":[{"role":"developer","content":"` + instructions +
			`"},{"role":"user","content":"Name one bird that cannot fly."}]}`
	}
	const answer = `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}`
	ev := evidence.Evidence{Side: []*regexp.Regexp{regexp.MustCompile("^You are a topic detector")},
		Exchanges: []evidence.Exchange{
			asked(0, evidence.OpenAI, body("You are a topic detector."), 200, answer),
			asked(1, evidence.OpenAI, body("You are careful."), 200, answer),
		}}
	if got := check.Decode(&ev).Placements(); got[0].Kind != check.Side || got[1].Kind != check.Main {
		t.Errorf("%+v", got)
	}
}

// The exit code is that of the conversation: a process succeeds although a request beside it
// was cut, and fails where the conversation was.
func TestExitCodeIsOfTheConversation(t *testing.T) {
	main := askOf(0,
		`{"model":"m","max_tokens":9,"system":"You are careful.","messages":[{"role":"user","content":"Name one bird."}]}`)
	title := askOf(1,
		`{"model":"m","max_tokens":9,"system":"You are a title generator.","messages":[{"role":"user","content":"A title for: birds"}]}`)
	for name, tt := range map[string]struct {
		cut  *evidence.Exchange
		want int
	}{"the title": {&title, 0}, "the conversation": {&main, 1}} {
		whole := tt.cut.Response.Body
		tt.cut.Response.Body = whole[:len(whole)/2]
		ev := evidence.Evidence{Side: []*regexp.Regexp{regexp.MustCompile("^You are a title generator")},
			Exchanges: []evidence.Exchange{main, title}, Process: []evidence.Process{{ExitCode: 0}}}
		if res := find(t, "STR-008/exit-code").Run(check.Decode(&ev)); len(res.Findings) != tt.want {
			t.Errorf("%s: %+v", name, res)
		}
		tt.cut.Response.Body = whole
	}
}

// What a process asks with a copy of the conversation, once the model has answered, is beside the conversation. A
// reply to what a tool returned is not, nor one in the next process.
func TestExitCodeIsNotOfAQuestionAside(t *testing.T) {
	const opening = `0 process=0: u"Look at a." -> c:call_1:read{"p":"a"}` + "\n" +
		`1 process=0: ..0 r:call_1:read"heron" -> a"It says heron."` + "\n"
	for rest, want := range map[string]int{
		`2 process=0: ..1 u"Suggest what to ask next." -> a"Look at b."`: 0,
		`2 process=1: ..1 u"Look at b." -> a"It says owl."`:              1,
		`2 process=0: ..1 u"Look at b." -> c:call_2:read{"p":"b"}` + "\n" +
			`3 process=1: ..2 r:call_2:read"owl" -> a"It says owl."`: 1,
	} {
		for _, provider := range []string{"anthropic", "openai", "gemini"} {
			ev := parseTranscript(t, opening+rest).evidence(provider)
			last := &ev.Exchanges[len(ev.Exchanges)-1].Response
			last.Body = last.Body[:len(last.Body)/2]
			if res := find(t, "STR-008/exit-code").Run(check.Decode(&ev)); len(res.Findings) != want {
				t.Errorf("%s, %s: %+v", provider, rest, res)
			}
		}
	}
}

// TestSearchIsNoSide: a client that answers the model's search for tools is still in the turn, whose end it is held to.
func TestSearchIsNoSide(t *testing.T) {
	search := `{"type":"tool_search_call","call_id":"call_1","execution":"client","status":"completed","arguments":{}}`
	found := `{"type":"tool_search_output","call_id":"call_1","execution":"client","status":"completed","tools":[]}`
	call := `{"type":"function_call","id":"fc_1","call_id":"call_2","name":"ls","arguments":"{}","status":"completed"}`
	refusal := `{"type":"message","id":"msg_1","role":"assistant","status":"completed",` +
		`"content":[{"type":"refusal","refusal":"I cannot help with that."}]}`
	after := func(id string) string { return `"previous_response_id":"` + id + `",` }
	ev := evidence.Evidence{Source: evidence.SourceSimulator, Process: []evidence.Process{{ExitCode: 0}},
		Exchanges: []evidence.Exchange{keptTurn(0, "", words, "resp_1", search), keptTurn(1, after("resp_1"), found, "resp_2", call),
			keptTurn(2, after("resp_2"), strings.ReplaceAll(answer, "call_1", "call_2"), "resp_3", refusal)}}
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = 0
	}
	if got := find(t, "STR-010/exit-code").Run(check.Decode(&ev)).Findings; len(got) != 1 {
		t.Errorf("the refusal that ends the turn: %v", got)
	}
}
