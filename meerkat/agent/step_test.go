package agent

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func fresh(t interface{ Fatal(...any) }) state {
	s, err := session.Load(session.Header{Version: 1, ID: sessionID, Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return state{session: s, settings: settings{maxTurns: 3, prefix: session.Prefix{Provider: "anthropic", Model: "m", System: "s", Tools: (&counter{}).Defs()}}}
}

// trace is what effects look like from outside: the kinds of the records of a
// save, and what follows.
func trace(effects []effect) string {
	var out []string
	for _, e := range effects {
		switch e := e.(type) {
		case save:
			var kinds []string
			for _, r := range e.records {
				switch r := r.(type) {
				case session.Entry:
					kinds = append(kinds, string(r.Message.Role))
				case session.Checkpoint:
					kinds = append(kinds, "*"+string(r.Reason))
				default:
					kinds = append(kinds, strings.ToLower(reflect.TypeOf(r).Name()))
				}
			}
			out = append(out, "save("+strings.Join(kinds, " ")+")")
		case call:
			out = append(out, fmt.Sprintf("call(%d)", len(e.request.Messages)))
		case dispatch:
			out = append(out, fmt.Sprintf("dispatch(%d)", len(e.calls)))
		case finish:
			out = append(out, fmt.Sprintf("finish(%v)", e.err))
		}
	}
	return strings.Join(out, " ")
}

// TestStops holds what becomes of every stop reason: what is stored, what is
// run, how it ends (seed 000 §4.2, DESIGN §3.13, R30, R31).
func TestStops(t *testing.T) {
	const closed = "save(assistant call *assistant tool_results *tool_results *completed) "
	cut := transcript.ToolUse("c", "run", []byte(`{"a":`))
	for _, c := range []struct {
		name  string
		reply stream.Reply
		want  string
	}{
		{"end_turn", text("hi"), "save(assistant call *assistant *completed) finish(<nil>)"},
		{"end_turn without a word", bare("end_turn"), "save(call *completed) finish(<nil>)"},
		{"stop_sequence", says("stop_sequence", transcript.Text("x")), "save(assistant call *assistant *completed) finish(<nil>)"},
		{"tool_use", calls("a", "b"), "save(assistant call *assistant) dispatch(2)"},
		{"end_turn with calls", says("end_turn", cut), "save(assistant call *assistant) dispatch(1)"},
		{"tool_use without calls", says("tool_use", transcript.Text("x")), `save(call) finish(stop reason "tool_use": the model stopped for tools but called none)`},
		{"pause_turn", says("pause_turn", transcript.Text("x")), "save(assistant call *assistant) call(2)"},
		{"pause_turn with calls", says("pause_turn", cut), "save(assistant call *assistant) dispatch(1)"},
		{"max_tokens", says("max_tokens", transcript.Text("x")), "save(assistant call *assistant *completed) finish(the reply was cut off at the output token limit; raise the limit and resume with a prompt)"},
		{"max_tokens in a call", says("max_tokens", cut), closed + "finish(the reply was cut off at the output token limit; raise the limit and resume with a prompt)"},
		{"max_tokens before a word", bare("max_tokens"), "save(call) finish(the reply was cut off at the output token limit; raise the limit and resume with a prompt)"},
		{"context window", says("context_window_exceeded", cut), closed + "finish(the reply was cut off: the model's context window is full; start a new session)"},
		{"refusal", says("refusal", transcript.Text("no")), "save(assistant call *assistant *completed) finish(the model refused to answer; change the prompt)"},
		{"refusal with calls", says("refusal", cut), closed + "finish(the model refused to answer; change the prompt)"},
		{"content_filter", bare("content_filter"), "save(call) finish(the provider's content filter stopped the reply; change the prompt)"},
		{"malformed call", says("malformed_function_call", transcript.Text("x")), `save(call) finish(stop reason "malformed_function_call": the reply is not usable and was discarded)`},
		{"aborted", says("aborted", transcript.Text("x")), `save(call) finish(stop reason "aborted": the reply is not usable and was discarded)`},
		{"unknown", says("because", transcript.Text("x")), `save(call) finish(stop reason "because": the reply is not usable and was discarded)`},
		{"none", says("", transcript.Text("x")), `save(call) finish(stop reason "": the reply is not usable and was discarded)`},
		{"one id twice", calls("a", "a"), `save(call) finish(stop reason "tool_use": two tool calls have the same id)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, effects := step(fresh(t), begin{epoch, "go"})
			if got := trace(effects); got != "save(prefix user *prompt) call(1)" {
				t.Fatal(got)
			}
			s, effects = step(s, replied{epoch, c.reply})
			if got := trace(effects); got != c.want {
				t.Errorf("have %s\nwant %s", got, c.want)
			}
			if want := c.reply.Message.String(); s.text != want && strings.Contains(c.want, "(assistant") && !strings.Contains(c.want, " call(") {
				t.Errorf("text %q; want %q", s.text, want)
			}
			if s.usage.Total() != 13 || s.session.Usage.Total() != 13 || len(s.session.Calls) != 1 {
				t.Errorf("usage %v of %v", s.usage, s.session.Calls)
			}
			if _, tools := effects[len(effects)-1].(dispatch); !tools {
				legal(t, s.session.Messages)
			}
		})
	}
}

// TestClosuresTellTheTruth: what was cut off was not executed, what was under
// way may have been.
func TestClosuresTellTheTruth(t *testing.T) {
	for stop, want := range map[transcript.StopReason]string{
		"tool_use": "interrupted: the tool may have run", "max_tokens": "not executed: the reply was cut off", "refusal": "not executed: the reply was refused",
	} {
		s := fresh(t)
		s.session.Messages = []transcript.Message{transcript.User("a"), transcript.Assistant(stop, calls("x", "y").Message.Blocks...)}
		s, effects := step(s, begin{epoch, ""})
		if got := trace(effects); got != "save(prefix tool_results *tool_results) call(3)" {
			t.Error(got)
		}
		for _, r := range s.session.Last().Results {
			if !r.IsError || !strings.HasPrefix(r.Content, want) {
				t.Errorf("%s: %+v", stop, r)
			}
		}
		legal(t, s.session.Messages)
	}
	// An answer that is there already stays; only the rest is closed.
	got := dangling([]transcript.Message{calls("x", "y").Message, transcript.ToolResults(transcript.ToolResult{ToolUseID: "x"})})
	if len(got) != 1 || got[0].ToolUseID != "y" {
		t.Errorf("%v", got)
	}
}

func TestPausesAreCapped(t *testing.T) {
	s := fresh(t)
	s.settings.maxTurns = 100
	s, effects := step(s, begin{epoch, "go"})
	for n := 0; ; n++ {
		if _, ok := effects[len(effects)-1].(call); !ok {
			if want := "finish(stop reason \"pause_turn\""; n != maxPauses+1 || !strings.Contains(trace(effects), want) {
				t.Errorf("after %d pauses %s", n, trace(effects))
			}
			if s.text != strings.Repeat("part ", n) {
				t.Errorf("text %q", s.text)
			}
			return
		}
		s, effects = step(s, replied{epoch, says("pause_turn", transcript.Text("part "))})
	}
}

func TestTurnLimit(t *testing.T) {
	s, effects := step(fresh(t), begin{epoch, "go"})
	for range 3 {
		s, _ = step(s, replied{epoch, calls("a")})
		s, effects = step(s, answered{epoch, []transcript.ToolResult{{ToolUseID: "a"}}})
	}
	if got := trace(effects); got != "save(tool_results *tool_results) finish(the limit of 3 turns is reached; resume to go on)" {
		t.Error(got)
	}
	var limit *TurnLimitError
	if f := effects[1].(finish); !errors.As(f.err, &limit) || s.tools != 3 {
		t.Errorf("%v, %d tools", f.err, s.tools)
	}
}

// TestGuard refuses a request whose beginning is not what was sent before.
func TestGuard(t *testing.T) {
	for name, change := range map[string]func(*session.Session){
		"nothing":         func(*session.Session) {},
		"system prompt":   func(s *session.Session) { s.Prefix.System += "." },
		"tool schema":     func(s *session.Session) { s.Prefix.Tools[0].InputSchema = transcript.RawJSON(`{"type":"object"}`) },
		"tool removed":    func(s *session.Session) { s.Prefix.Tools = nil },
		"earlier message": func(s *session.Session) { s.Messages[0].Content = "other" },
		"message dropped": func(s *session.Session) { s.Messages = s.Messages[:1] },
		"signature":       func(s *session.Session) { s.Messages[1].Blocks[0].Meta.Signature = "EqQb" },
		"argument byte":   func(s *session.Session) { s.Messages[1].Blocks[1].Args[1] = '\n' },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := step(fresh(t), begin{epoch, "go"})
			s, _ = step(s, replied{epoch, says("tool_use", transcript.ToolUse("a", "run", []byte(`{ }`)))})
			s, _ = step(s, answered{epoch, []transcript.ToolResult{{ToolUseID: "a"}}})
			s, _ = step(s, replied{epoch, text("done")})
			change(&s.session)
			_, effects := step(s, begin{epoch, "more"})
			var prefix *PrefixError
			f, _ := effects[len(effects)-1].(finish)
			if refused := errors.As(f.err, &prefix); refused != (name != "nothing") {
				t.Errorf("%s", trace(effects))
			}
		})
	}
}

func TestNothingToContinue(t *testing.T) {
	for name, messages := range map[string][]transcript.Message{
		"empty": nil, "system": {transcript.System("s")}, "complete": {transcript.User("a"), text("b").Message},
		"cut off": {transcript.User("a"), transcript.Assistant("max_tokens", transcript.Text("b"))},
	} {
		s := fresh(t)
		s.session.Messages = messages
		if _, effects := step(s, begin{epoch, " \n"}); trace(effects) != "finish("+ErrNothingToContinue.Error()+")" {
			t.Errorf("%s: %s", name, trace(effects))
		}
	}
	for name, messages := range map[string][]transcript.Message{
		"unanswered": {transcript.User("a")}, "paused": {transcript.User("a"), says("pause_turn", transcript.Text("b")).Message},
		"results": {transcript.User("a"), calls("x").Message, transcript.ToolResults(transcript.ToolResult{ToolUseID: "x"})},
	} {
		s := fresh(t)
		s.session.Messages = messages
		if _, effects := step(s, begin{epoch, ""}); !strings.HasSuffix(trace(effects), fmt.Sprintf("call(%d)", len(messages))) {
			t.Errorf("%s: %s", name, trace(effects))
		}
	}
}

// TestEffortMayChange, and nothing else of the prefix.
func TestEffortMayChange(t *testing.T) {
	s, _ := step(fresh(t), begin{epoch, "go"})
	s, _ = step(s, replied{epoch, text("done")})
	s.settings.prefix = session.Prefix{Effort: "high", System: "other"}
	s, effects := step(s, begin{epoch, "more"})
	if got := trace(effects); got != "save(prefix user *prompt) call(3)" {
		t.Error(got)
	}
	if p := s.session.Prefix; p.Effort != "high" || p.System != "s" {
		t.Errorf("%+v", p)
	}
}

// TestStepIsPure: same state and input, same outcome, and the state that went
// in stays as it was.
func TestStepIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fresh(t)
		s.settings.maxTurns = 20
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			in := anyInput(t, &s)
			before := fmt.Sprintf("%+v", s)
			one, first := step(s, in)
			two, second := step(s, in)
			if fmt.Sprintf("%+v", s) != before {
				t.Fatalf("step changed its state")
			}
			opt := cmp.Exporter(func(reflect.Type) bool { return true })
			if d := cmp.Diff(first, second, opt, cmp.Comparer(sameError)) + cmp.Diff(one, two, opt); d != "" {
				t.Fatal(d)
			}
			s = one
		}
	})
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// anyInput is an input that can follow s.
func anyInput(t *rapid.T, s *state) input {
	last := s.session.Last()
	switch {
	case last == nil || s.sent.messages == 0:
		return begin{epoch, rapid.StringN(1, 4, -1).Draw(t, "prompt")}
	case last.HasToolCalls():
		var results []transcript.ToolResult
		for c := range last.ToolCalls() {
			results = append(results, transcript.ToolResult{ToolUseID: c.ID, Content: "r"})
		}
		return answered{epoch, results}
	}
	stop := rapid.SampledFrom([]transcript.StopReason{"end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "?"}).Draw(t, "stop")
	r := says(stop, transcript.Text("x"))
	if stop == "tool_use" || rapid.Bool().Draw(t, "calls?") {
		r.Message.Blocks = append(r.Message.Blocks, calls("a", "b").Message.Blocks...)
	}
	return replied{epoch, r}
}
