package simulator

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// drills talk to the scenarios whose replies hold what no other has, and see what they
// promise. The tests of package script play every turn of all scenarios.
var drills = map[string]func(c *client){
	"answer-comes-through": answerComesThrough, "any-tool": anyTool,
	"blocked-prompt":   stops("", "", "PROHIBITED_CONTENT", ""),
	"content-filter":   stops("", "incomplete/content_filter", "PROHIBITED_CONTENT", "It begins like this and"),
	"context-overflow": stops("model_context_window_exceeded", "", "", "It goes on until there is no room"),
	"cut-at-once":      breaks, "duplicate-start": duplicateStart, "error-after-200": errorAfter200, "grease": grease,
	"leading-stop": leadingStop,
	"max-tokens": stops("max_tokens", "incomplete/max_output_tokens", "MAX_TOKENS",
		"It begins well and then the tokens"),
	"max-tokens-in-call": maxTokensInCall, "odd-chunks": oddChunks,
	"overloaded": turnedDown(1, "", "", 529, 503, 503), "pause-turn": pauseTurn, "pause-in-text": pauseInText,
	"prompt-too-long":         turnedDown(1, "", "", 400, 400, 400),
	"rate-limit-date":         turnedDown(2, "Retry-After", "Fri, 02 Jan 2026 03:04:06 GMT", 429, 429, 429),
	"rate-limit-silent":       turnedDown(1, "", "", 429, 429, 429),
	"rate-limit-milliseconds": turnedDown(2, "Retry-After-Ms", "1000", 429, 429, 429),
	"rate-limit-seconds":      turnedDown(2, "Retry-After", "1", 429, 429, 429), "redacted-and-shown": redactedAndShown,
	"refusal":               stops("refusal", "refusal", "SAFETY", "I cannot help with that."),
	"refusal-without-words": stops("refusal", "", "SAFETY", ""),
	"server-error":          turnedDown(2, "", "", 500, 500, 500), "server-tools": serverTools,
	"side-traffic": sideTraffic,
	"stall":        stall,
}

func TestSimulatedScenarios(t *testing.T) {
	drilled := 0
	for _, s := range scenariosToDrill(t) {
		drilled++
		eachSimulated(t, s.Name, drills[s.Name])
	}
	if drilled != len(drills) {
		t.Errorf("%d scenarios, %d drills", drilled, len(drills))
	}
}

// scenariosToDrill are those that have a drill.
func scenariosToDrill(t *testing.T) []*specs.Scenario {
	t.Helper()
	all, err := specs.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	played, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(append(all, played...), func(s *specs.Scenario) bool { return drills[s.Name] == nil })
}

// stops expects one reply with a stop and a text.
func stops(anthropic, openai, gemini, text string) func(c *client) {
	return func(c *client) {
		t := c.t
		t.Helper()
		h := c.loop("go")[0]
		if want := c.is(anthropic, openai, gemini); h.stop != want || h.text != text {
			t.Errorf("stop %q and %q, want %q and %q: %s", h.stop, h.text, want, text, h.body)
		}
		if h.stop == "refusal" && c.target.Provider == "anthropic" {
			h.has(t, `"stop_details":{"type":"refusal"`)
		}
	}
}

// turnedDown expects the same request to be turned down so often, and then
// answered.
func turnedDown(times int, header, value string, status ...int) func(c *client) {
	return func(c *client) {
		t := c.t
		t.Helper()
		c.prompt("Say ok.")
		want := map[string]int{"anthropic": status[0], "openai": status[1], "gemini": status[2]}[c.target.Provider]
		for range times {
			h := c.ask()
			if h.status != want || h.header.Get("Content-Type") == "" {
				t.Fatalf("status %d, want %d: %s", h.status, want, h.body)
			}
			switch {
			case header == "":
				if h.header.Get("Retry-After")+h.header.Get("Retry-After-Ms") != "" ||
					strings.Contains(string(h.body), "retryDelay") {
					t.Errorf("it says when to come back: %v %s", h.header, h.body)
				}
			case c.target.Provider == "gemini":
				if h.has(t, `"retryDelay": "1s"`); h.header.Get(header) != "" {
					t.Errorf("gemini has a header %s", header)
				}
			case h.header.Get(header) != value:
				t.Errorf("%s is %q, want %q", header, h.header.Get(header), value)
			}
		}
		h := c.ask()
		if h.status != http.StatusOK || h.text == "" {
			t.Fatalf("then status %d: %s", h.status, h.body)
		}
		again := secondTime[strings.Split(t.Name(), "/")[1]]
		if again == 0 {
			return
		}
		c.keep(h)
		c.prompt("And again.")
		if h := c.ask(); h.status != again {
			t.Errorf("the second prompt has status %d, want %d", h.status, again)
		}
	}
}

// secondTime is the status of a second prompt, where a scenario has one.
var secondTime = map[string]int{"rate-limit-silent": 429, "server-error": 504}

func answerComesThrough(c *client) {
	t := c.t
	t.Helper()
	asked, answer := specs.Nonce("drill", "asked"), specs.Nonce("drill", "answer")
	all := c.loop("Echo " + asked + " and report.")
	if len(all) != 2 || all[0].calls[0].args != `{"text":"`+asked+`"}` || !strings.Contains(all[1].text, answer) {
		t.Errorf("%+v", all)
	}
	other := *c
	other.said = nil
	other.prompt("Echo something and report.")
	if h := other.ask(); h.status != 400 {
		t.Errorf("another prompt has status %d", h.status)
	} else {
		h.has(t, `scenario answer-comes-through, turn 1 (line`)
		h.has(t, `expected a prompt with`)
		h.has(t, asked)
	}
	c.said = c.said[:len(c.said)-1]
	for i, said := range c.said { // the result is lost on the way
		c.said[i] = object(t, strings.ReplaceAll(asJSON(said), `"content":"`+asked, `"content":"lost`))
		c.said[i] = object(t, strings.ReplaceAll(asJSON(c.said[i]), `"output":"`+asked, `"output":"lost`))
	}
	for i, said := range c.said {
		if i == 0 {
			c.said[0] = object(t, strings.ReplaceAll(asJSON(said), "lost", asked))
		}
	}
	if h := c.ask(); h.status != 400 {
		t.Errorf("a lost result has status %d: %s", h.status, h.body)
	} else {
		h.has(t, `answer-comes-through, turn 2 (line`)
		h.has(t, `in result 1, of conform_echo, got \"lost\"`)
	}
}

func anyTool(c *client) {
	t := c.t
	t.Helper()
	if all := c.loop("Use a tool."); len(all) != 2 || all[0].calls[0].name != "conform_echo" ||
		all[0].calls[0].args != `{"text":"heron"}` {
		t.Errorf("%+v", all)
	}
}

func breaks(c *client) {
	t := c.t
	t.Helper()
	c.prompt("go")
	if h := c.ask(); h.err == nil || h.stop != "" {
		t.Errorf("status %d, %v, %q", h.status, h.err, h.text)
	}
}

func duplicateStart(c *client) {
	t := c.t
	t.Helper()
	h := c.loop("go")[0]
	if n := strings.Count(string(h.body), "event: message_start"); c.stream && n != 2 || h.text != "ok" {
		t.Errorf("%d message_start: %s", n, h.body)
	}
}

func errorAfter200(c *client) {
	t := c.t
	t.Helper()
	for i, want := range []int{c.status(529, 503, 503), c.status(500, 500, 500)} {
		c.prompt("Say something.")
		h := c.ask()
		switch {
		case c.stream && (h.status != 200 || h.err != nil || h.stop != c.is("", "failed", "")):
			t.Errorf("prompt %d: status %d, %v, stop %q", i, h.status, h.err, h.stop)
		case !c.stream && h.status != want:
			t.Errorf("prompt %d: status %d, want %d", i, h.status, want)
		}
		if c.stream {
			h.has(t, c.is("event: error", "event: error", `"error":`))
		}
	}
	if h := c.loop("Again.")[0]; h.text != "This time it arrives." {
		t.Errorf("%q", h.text)
	}
}

func (c *client) status(anthropic, openai, gemini int) int {
	return map[string]int{"anthropic": anthropic, "openai": openai, "gemini": gemini}[c.target.Provider]
}

// grease expects unknown content in every form, and that it may come back.
func grease(c *client) {
	t := c.t
	t.Helper()
	all := c.loop("Echo the word heron.")
	if len(all) != 2 || all[1].text != "It came back." {
		t.Fatalf("%+v", all)
	}
	for _, h := range all {
		h.has(t, "x_future_field")
		h.has(t, c.is("future_block", "future_item", "futurePart"))
		if c.stream {
			h.has(t, c.is("event: future_event", "event: response.future_event", "futureUpdate"))
		}
	}
	for i, said := range c.said { // a client may drop what it does not know
		c.said[i] = withoutFuture(said)
	}
	c.said = unfuture(c.said[:len(c.said)-1])
	if h := c.ask(); h.status != 200 && c.target.Provider != "openai" || h.status != 200 && h.status != 400 {
		t.Errorf("without what is unknown: status %d %s", h.status, h.body)
	}
}

func leadingStop(c *client) {
	t := c.t
	t.Helper()
	all := c.loop("Echo the word heron.")
	if len(all) != 2 || len(all[0].calls) != 1 {
		t.Fatalf("%+v", all)
	}
	if !c.stream {
		return
	}
	chunks := new(judge).sse("gemini", all[0].body)
	first, last := chunks[0], chunks[len(chunks)-1]
	if asJSON(first.data["candidates"]) != `[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}]` {
		t.Errorf("it begins with %s", first.raw)
	}
	if last.data["candidates"] != nil || last.data["usageMetadata"] == nil {
		t.Errorf("it ends with %s", last.raw)
	}
}

func maxTokensInCall(c *client) {
	t := c.t
	t.Helper()
	c.prompt("Echo something long.")
	h := c.ask()
	if want := c.is("max_tokens", "incomplete/max_output_tokens", "MAX_TOKENS"); h.stop != want {
		t.Errorf("stop %q, want %q", h.stop, want)
	}
	switch {
	case c.target.Provider == "gemini":
		if len(h.calls) != 0 {
			t.Errorf("half a call is sent: %+v", h.calls)
		}
	case c.target.Provider == "openai" || c.stream:
		if len(h.calls) != 1 || !h.calls[0].partial || h.calls[0].args != `{"text":"her` {
			t.Errorf("%+v", h.calls)
		}
	}
	if c.target.Provider == "openai" {
		h.has(t, `"status":"incomplete","arguments":"{\"text\": \"her"`)
	}
}

func oddChunks(c *client) {
	t := c.t
	t.Helper()
	all := c.loop("Say something.")
	if len(all) != 2 || all[0].text != "Zürich, 🦩 and שלום." || all[0].calls[0].args != `{"text":"héron 🦩"}` ||
		all[1].text != "All at once: 🦩." {
		t.Errorf("%+v", all)
	}
}

func pauseTurn(c *client) {
	t := c.t
	t.Helper()
	c.hosted = true
	c.prompt("Search for herons and report.")
	first := c.ask()
	if first.stop != "pause_turn" || first.kinds() != "thinking server_tool_use web_search_tool_result" {
		t.Fatalf("%d %q %s", first.status, first.stop, first.body)
	}
	c.keep(first)
	second := c.ask()
	if second.stop != "end_turn" || second.text != "Herons stand in shallow water." {
		t.Fatalf("%d %q %s", second.status, second.stop, second.body)
	}
	c.keep(second)
	c.prompt("Thank you.")
	if third := c.ask(); third.text != "You are welcome." {
		t.Errorf("%d %s", third.status, third.body)
	}
}

// pauseInText: what paused is sent back as it is, although the model takes no prefill. Other
// words of the assistant are one.
func pauseInText(c *client) {
	t := c.t
	t.Helper()
	c.prompt("Tell me about herons.")
	first := c.ask()
	if first.stop != "pause_turn" || first.kinds() != "thinking text" {
		t.Fatalf("%d %q %s", first.status, first.stop, first.body)
	}
	c.said = append(c.said, map[string]any{"role": "assistant", "content": "Herons stand in shallow water. And"})
	if prefill := c.ask(); prefill.status != http.StatusBadRequest {
		t.Errorf("a prefill: %d %s", prefill.status, prefill.body)
	}
	c.said = c.said[:len(c.said)-1]
	c.keep(first)
	if second := c.ask(); second.stop != "end_turn" || !strings.HasPrefix(second.text, "They wait, ") {
		t.Errorf("%d %q %s", second.status, second.stop, second.body)
	}
}

func redactedAndShown(c *client) {
	t := c.t
	t.Helper()
	all := c.loop("Echo one and two.")
	want := c.is("thinking redacted_thinking text thinking redacted_thinking thinking tool_use",
		"reasoning message reasoning function_call", "text functionCall")
	if got := strings.TrimSuffix(all[0].kinds(), " text"); len(all) != 2 || got != want {
		t.Errorf("%s, want %s", all[0].kinds(), want)
	}
	if all[1].text != "One and two." || len(all[0].calls) != 2 {
		t.Errorf("%+v", all[1])
	}
}

func serverTools(c *client) {
	t := c.t
	t.Helper()
	word := specs.Nonce("drill", "word")
	c.prompt("Echo " + word)
	if h := c.ask(); h.status != 400 {
		t.Errorf("without its own tools it has status %d", h.status)
	} else {
		h.has(t, "expected a request that offers the provider's own tool for search")
	}
	c.said, c.hosted = nil, true
	all := c.loop("Look up herons, then echo " + word)
	want := c.is("thinking server_tool_use web_search_tool_result server_tool_use bash_code_execution_tool_result thinking text tool_use",
		"reasoning web_search_call code_interpreter_call reasoning message function_call",
		"text toolCall toolResponse executableCode codeExecutionResult text functionCall")
	if got := strings.TrimSuffix(all[0].kinds(), " text"); len(all) != 2 || got != want {
		t.Errorf("%s, want %s", all[0].kinds(), want)
	}
	if !strings.Contains(all[1].text, word) {
		t.Errorf("%s", all[1].body)
	}
	for _, part := range all[0].own {
		for _, name := range []string{"toolCall", "toolResponse", "executableCode", "functionCall"} {
			if signature := dict(part).str("thoughtSignature"); part[name] != nil && signature == "" {
				t.Errorf("%s is not signed", name)
			}
		}
	}
	all[0].has(t, "https://example.com/more")
	all[0].has(t, c.is("web_search_requests", `"logs":"6\n"`, "OUTCOME_OK"))
}

// sideTraffic expects titles and probes to be answered without a turn of the
// script's.
func sideTraffic(c *client) {
	t := c.t
	t.Helper()
	side := *c
	side.prompt("Please write a 5-10 word title for the following conversation:\n\nHerons in shallow water")
	if h := side.hear(side.request(false)); h.status != 200 || !strings.HasPrefix(h.text, "Herons in shallow water") {
		t.Errorf("a title: %d %s", h.status, h.body)
	}
	if all := c.loop("Echo the word heron."); len(all) != 2 || all[1].text != "It came back." {
		t.Errorf("%+v", all)
	}
	if h := side.hear(side.request(false)); h.status != 200 {
		t.Errorf("a title in between: %d %s", h.status, h.body)
	}
}

func stall(c *client) {
	t := c.t
	t.Helper()
	c.prompt("go")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := c.http.Do(c.request(true).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if c.stream {
		if n, err := resp.Body.Read(make([]byte, 1)); n == 0 {
			t.Errorf("nothing arrives: %v", err)
		}
	}
	leave()
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ends: %s", rest)
	}
}

// withoutFuture is a message without the unknown blocks and parts.
func withoutFuture(said any) any {
	m, _ := said.(map[string]any)
	for _, list := range []string{"content", "parts"} {
		if blocks, ok := m[list].([]any); ok {
			m[list] = unfuture(blocks)
		}
	}
	return m
}

// unfuture leaves out unknown content.
func unfuture(blocks []any) []any {
	var known []any
	for _, b := range blocks {
		if b := dict(b.(map[string]any)); !strings.HasPrefix(b.str("type"), "future") && b["futurePart"] == nil {
			known = append(known, map[string]any(b))
		}
	}
	return known
}

// TestBoundHosted holds that thinking that is bound to what stands before it
// counts the blocks of the provider's own tools, and not the unknown ones.
func TestBoundHosted(t *testing.T) {
	for _, s := range scenariosToDrill(t) {
		if s.Name != "server-tools" && s.Name != "grease" && s.Name != "redacted-and-shown" {
			continue
		}
		bound, target := *s, specs.Target{Provider: "anthropic", Model: "claude-opus-5-5"}
		bound.Targets = []specs.Target{target}
		server, http := serve(t, New(Config{Scenario: &bound, Seed: "drill"}))
		for _, stream := range []bool{true, false} {
			c := &client{t: t, http: http, url: server.URL, target: target, stream: stream, hosted: true}
			c.loop("Look up herons, then echo " + specs.Nonce("drill", "word") + " heron")
			c.said = c.said[:len(c.said)-1]
			for i, said := range c.said {
				c.said[i] = withoutFuture(said)
			}
			if h := c.ask(); h.status != 200 {
				t.Errorf("%s without what is unknown: %d %s", s.Name, h.status, h.body)
			}
		}
	}
}
