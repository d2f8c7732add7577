package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// TestVolatile: times and ids that change by themselves are found wherever they stand, with
// what they cost; a date, another prompt and the same words are not.
func TestVolatile(t *testing.T) {
	const call = `{"type":"tool_use","id":"toolu_1","name":"a","input":{}}`
	turn := func(i int, system, prompt, rest, usage string) evidence.Exchange {
		body := `{"model":"claude-opus-4-6","max_tokens":9,"system":"` + system +
			`","tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"` +
			prompt + `"}` + rest + `]}`
		return asked(i, evidence.Anthropic, body, 200,
			`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[`+call+
				`],"stop_reason":"tool_use","usage":{`+usage+`}}`)
	}
	history := `,{"role":"assistant","content":[` + call +
		`]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}`
	for _, c := range []struct{ name, systemA, systemB, promptA, promptB, want string }{
		{"a clock", "It is 15:09:20 now.", "It is 15:09:34 now.", "hi", "hi",
			`system was "15:09:20" in exchange 0 and is "15:09:34" here`},
		{"an id", "Session 0f8fad5b-d9cb-469f-a165-70867728950e.", "Session 7c9e6679-7425-40de-944b-e07fc1f90ae7.",
			"hi", "hi", "are read anew; the provider counted 2100 cached tokens in exchange 0 and 0 here"},
		{"in the first prompt", "Be brief.", "Be brief.", "At 9:01: hi", "At 9:02: hi", "messages[0] was"},
		{"a date", "It is 2026-11-23.", "It is 2026-11-24.", "hi", "hi", ""},
		{"other words", "Be brief at 10:00.", "Be exact at 11:00.", "hi", "hi", ""},
		{"nothing", "It is 15:09:20 now.", "It is 15:09:20 now.", "hi", "hi", ""},
	} {
		first := turn(0, c.systemA, c.promptA, "", `"cache_read_input_tokens":0,"cache_creation_input_tokens":2100`)
		next := turn(1, c.systemB, c.promptB, history, `"cache_read_input_tokens":0,"cache_creation_input_tokens":2200`)
		res := find(t, "CAC-001/volatile").Run(recording(first, next))
		if (len(res.Findings) > 0) != (c.want != "") ||
			c.want != "" && !strings.Contains(res.Findings[0].Message, c.want) || res.Observed != 1 {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
}

// TestLossInMoney: what is read anew costs the difference to the cache, by the user's prices
// and the provider's counters, else by an estimate.
func TestLossInMoney(t *testing.T) {
	turn := func(i int, clock, rest, usage string) evidence.Exchange {
		body := `{"model":"claude-opus-4-6","max_tokens":9,"system":"It is ` + clock + ` now. ` +
			strings.Repeat("Be brief. ", 400) + `","messages":[{"role":"user","content":"hi"}` + rest + `]}`
		return asked(i, evidence.Anthropic, body, 200,
			`{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"`+usage+`}`)
	}
	const history = `,{"role":"assistant","content":[{"type":"text","text":"Hi."}]},{"role":"user","content":"more"}`
	const wrote, readNone = `,"usage":{"cache_read_input_tokens":0,"cache_creation_input_tokens":2000}`,
		`,"usage":{"cache_read_input_tokens":0,"cache_creation_input_tokens":0}`
	for name, c := range map[string]struct{ prices, first, next, want string }{
		"read again":    {"currency: USD\nmodels: {claude-opus-4-6: {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25}}", wrote, readNone, "; by your prices that costs 0.009000 USD more"},
		"written again": {"currency: USD\nmodels: {claude-opus-4-6: {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25}}", wrote, wrote, "; by your prices that costs 0.011500 USD more"},
		"no currency": {"models: {claude-opus-4-6: {input: 5, output: 25, cache_read: 0.5}}", wrote, readNone,
			"; by your prices that costs 0.009000 more"},
		"no counters": {"models: {claude-opus-4-6: {input: 4, output: 25, cache_read: 0}}", "", "",
			"; by your prices that costs 0.00"},
		"another model":  {"models: {claude-opus-4-5: {input: 5, output: 25}}", wrote, readNone, ""},
		"without prices": {"", wrote, readNone, ""},
		"nothing is lost": {"models: {claude-opus-4-6: {input: 5, output: 25}}", wrote,
			`,"usage":{"cache_read_input_tokens":2000,"cache_creation_input_tokens":0}`, ""},
	} {
		ev := evidence.Evidence{Source: evidence.SourceRecording,
			Exchanges: []evidence.Exchange{turn(0, "15:09:20", "", c.first), turn(1, "15:09:34", history, c.next)}}
		if c.prices != "" {
			var err error
			if ev.Prices, err = specs.ParsePrices("p.yaml", []byte(c.prices)); err != nil {
				t.Fatal(err)
			}
		}
		res := find(t, "CAC-001/volatile").Run(check.Decode(&ev))
		if len(res.Findings) != 1 || !strings.Contains(res.Findings[0].Message, c.want) ||
			(c.want == "") == strings.Contains(res.Findings[0].Message, "your prices") {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}

// TestLostResponse: a response that was not found is named once.
func TestLostResponse(t *testing.T) {
	lost := `{"error":{"message":"Previous response with id 'resp_0' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`
	first := asked(0, evidence.OpenAI, `{"model":"gpt-5.4","previous_response_id":"resp_0","input":"hi"}`, 400, lost)
	for next, want := range map[string]int{
		`{"model":"gpt-5.4","previous_response_id":"resp_0","input":"hi again"}`: 1,
		`{"model":"gpt-5.4","input":"hi again"}`:                                 0,
	} {
		status := 400
		if want == 0 {
			status = 200
		}
		res := find(t, "WSK-004/not-found").Run(recording(first, asked(1, evidence.OpenAI, next, status, lost)))
		if len(res.Findings) != want || res.Observed != 1 {
			t.Errorf("%s: %+v", next, res)
		}
	}
}

// TestLostByProvider: a response that the provider should have held and did not find is
// nobody's fault; one that it could not hold is the agent's.
func TestLostByProvider(t *testing.T) {
	const (
		lost  = `{"error":{"message":"Previous response with id 'resp_1' not found.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`
		reply = `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.4","output":[{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}]}`
	)
	for name, c := range map[string]struct {
		store         string
		first, second int // WebSockets
		want          int
	}{
		"the last of its WebSocket": {"false", 1, 1, 0},
		"another WebSocket's":       {"false", 1, 2, 1},
		"not stored, by HTTP":       {"false", 0, 0, 1},
		"stored, by HTTP":           {"true", 0, 0, 0},
		"stored, another WebSocket": {"true", 1, 2, 0},
	} {
		first := asked(0, evidence.OpenAI, `{"model":"gpt-5.4","store":`+c.store+`,"input":"hi"}`, 200, reply)
		second := asked(1, evidence.OpenAI,
			`{"model":"gpt-5.4","store":`+c.store+`,"previous_response_id":"resp_1","input":"more"}`, 400, lost)
		first.WebSocket, second.WebSocket = c.first, c.second
		if res := find(t, "ERR-001/form").Run(recording(first, second)); len(res.Findings) != c.want ||
			res.Observed == 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestBranchesHaveMarksOfTheirOwn: of two branches behind one reply, neither need mark what the
// other wrote, nor use the other's key; a conversation that does not branch has to.
func TestBranchesHaveMarksOfTheirOwn(t *testing.T) {
	const said = `{"role":"assistant","content":[{"type":"text","text":"The parser is broken."}]}`
	const marked = `{"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}}]}`
	const usage = `"usage":{"cache_read_input_tokens":0,"cache_creation_input_tokens":2100}`
	claude := func(i int, system, messages string) evidence.Exchange {
		body := `{"model":"claude-opus-4-6","max_tokens":9,"system":"` + system + `","messages":[` + messages + `]}`
		return asked(i, evidence.Anthropic, body, 200,
			`{"type":"message","role":"assistant","content":[{"type":"text","text":"The parser is broken."}],"stop_reason":"end_turn",`+usage+`}`)
	}
	unmarked := strings.Replace(marked, `,"cache_control":{"type":"ephemeral"}`, ``, 1)
	begin, goOn := claude(0, "s", marked), claude(1, "s", marked+`,`+said+`,{"role":"user","content":"Mend it."}`)
	fork := claude(2, "s", unmarked+`,`+said+`,{"role":"user","content":"Explain it."}`)
	agent := claude(1, "You explain.", unmarked+`,`+said+`,{"role":"user","content":"Explain it."}`)
	refused := asked(1, evidence.Anthropic, string(fork.Request.Body), 400, errorShapes["anthropic"])
	gpt := func(i int, key, input string) evidence.Exchange {
		return asked(i, evidence.OpenAI, `{"model":"gpt-5.4","store":false,"prompt_cache_key":"`+key+
			`","input":[{"role":"user","content":"Look."}`+input+`]}`, 200,
			`{"id":"resp_1","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"It is broken."}]}]}`)
	}
	const answer = `,{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"It is broken."}]},{"role":"user","content":"`
	for name, c := range map[string]struct {
		check     string
		exchanges []evidence.Exchange
		findings  int
	}{
		"a fork":              {"CAC-003/marks", []evidence.Exchange{begin, goOn, fork}, 0},
		"a sub-agent":         {"CAC-003/marks", []evidence.Exchange{begin, agent}, 0},
		"one that goes on":    {"CAC-003/marks", []evidence.Exchange{begin, fork}, 1},
		"one that is refused": {"CAC-003/marks", []evidence.Exchange{begin, refused}, 0},
		"a fork with its key": {"CAC-004/cache-key",
			[]evidence.Exchange{gpt(0, "a", ""), gpt(1, "a", answer+`Mend it."}`), gpt(2, "b", answer+`Explain it."}`)},
			0},
		"one that goes on with key": {"CAC-004/cache-key",
			[]evidence.Exchange{gpt(0, "a", ""), gpt(1, "b", answer+`Explain it."}`)}, 1},
	} {
		if res := find(t, c.check).Run(recording(c.exchanges...)); len(res.Findings) != c.findings {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
