package agent

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func fresh(t interface{ Fatal(...any) }) state {
	s, err := session.Load(session.Header{Version: 1, ID: sessionID, Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return state{session: s, settings: settings{maxTurns: 3, interrupted: AskModel, prefix: session.Prefix{Provider: "anthropic", Model: "m", System: "s", Tools: (&counter{}).Defs()}}}
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
		case wait:
			out = append(out, fmt.Sprintf("wait(%v)", e.delay))
		case finish:
			out = append(out, fmt.Sprintf("finish(%v)", e.err))
		}
	}
	return strings.Join(out, " ")
}

// TestStops holds what becomes of every stop reason: what is stored, what is
// run, how it ends (seed 000 §4.2, DESIGN §3.13, R30, R31).
func TestStops(t *testing.T) {
	const (
		kept   = "save(assistant call *assistant *completed task) finish(<nil>)"
		lost   = "save(assistant call *assistant *completed failure task) finish(%s)"
		closed = "save(assistant call *assistant tool tool_results *tool_results *completed failure task) finish(%s)"
		gone   = "save(call failure task) finish(%s)"
		cutoff = "the reply was cut off at the output token limit; raise the limit and resume with a prompt"
	)
	cut := transcript.ToolUse("c", "run", []byte(`{"a":`))
	for _, c := range []struct {
		name  string
		reply stream.Reply
		want  string
	}{
		{"end_turn", text("hi"), kept},
		{"end_turn without a word", bare("end_turn"), "save(call *completed task) finish(<nil>)"},
		{"stop_sequence", says("stop_sequence", transcript.Text("x")), kept},
		{"tool_use", calls("a", "b"), "save(assistant call *assistant) dispatch(2)"},
		{"end_turn with calls", says("end_turn", cut), "save(assistant call *assistant) dispatch(1)"},
		{"tool_use without calls", says("tool_use", transcript.Text("x")), fmt.Sprintf(gone, `stop reason "tool_use": the model stopped for tools but called none`)},
		// What paused without a tool of the server is asked to go on (ANT-S2).
		{"pause_turn", says("pause_turn", transcript.Text("x")), "save(assistant call *assistant) call(3)"},
		{"pause_turn with calls", says("pause_turn", cut), "save(assistant call *assistant) dispatch(1)"},
		{"max_tokens", says("max_tokens", transcript.Text("x")), fmt.Sprintf(lost, cutoff)},
		{"max_tokens in a call", says("max_tokens", cut), fmt.Sprintf(closed, cutoff)},
		{"max_tokens before a word", bare("max_tokens"), fmt.Sprintf(gone, cutoff)},
		{"context window", says("context_window_exceeded", cut), fmt.Sprintf(closed, "the reply was cut off: the model's context window is full; compact the session or start a new one")},
		{"refusal", says("refusal", transcript.Text("no")), fmt.Sprintf(lost, "the model refused to answer; change the prompt")},
		{"refusal with calls", says("refusal", cut), fmt.Sprintf(closed, "the model refused to answer; change the prompt")},
		{"content_filter", bare("content_filter"), fmt.Sprintf(gone, "the provider's content filter stopped the reply; change the prompt")},
		{"malformed call", says("malformed_function_call", transcript.Text("x")), fmt.Sprintf(gone, `stop reason "malformed_function_call": the reply is not usable and was discarded`)},
		{"aborted", says("aborted", transcript.Text("x")), fmt.Sprintf(gone, `stop reason "aborted": the reply is not usable and was discarded`)},
		{"unknown", says("because", transcript.Text("x")), fmt.Sprintf(gone, `stop reason "because": the reply is not usable and was discarded`)},
		{"none", says("", transcript.Text("x")), fmt.Sprintf(gone, `stop reason "": the reply is not usable and was discarded`)},
		{"one id twice", calls("a", "a"), fmt.Sprintf(gone, `stop reason "tool_use": two tool calls have the same id`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, effects := step(fresh(t), begin{epoch, "r1", "go"})
			if got := trace(effects); got != "save(run prefix user *prompt) call(1)" {
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

// TestClosuresTellTheTruth: what was cut off was not executed, what had not
// started was not, what was under way may have been, and what had ended is as
// it was (open-call).
func TestClosuresTellTheTruth(t *testing.T) {
	reply := calls("x", "y").Message
	opened := []session.Record{
		session.Run{At: epoch, ID: "r0"}, prefixed(t),
		session.Entry{At: epoch, Message: transcript.User("a")}, session.Entry{At: epoch, Message: reply},
	}
	running := func(id string) session.Record {
		return session.Tool{At: epoch, CallRecord: transcript.CallRecord{Message: 1, CallID: id, Name: "run", Status: transcript.CallRunning}}
	}
	ended := session.Tool{At: epoch, CallRecord: transcript.CallRecord{Message: 1, CallID: "x", Name: "run", Status: transcript.CallComplete,
		Result: &transcript.ToolResult{ToolUseID: "x", Content: "found"}}}
	const unknown, not = "interrupted: the tool may have run", "not executed: "
	for name, c := range map[string]struct {
		stop  transcript.StopReason
		more  []session.Record
		old   bool // a writer without a ledger
		wants [2]string
	}{
		"none had started":   {"tool_use", nil, false, [2]string{not + "the session was interrupted", not}},
		"one had started":    {"tool_use", []session.Record{running("x")}, false, [2]string{unknown, not}},
		"one had ended":      {"tool_use", []session.Record{running("x"), running("y"), ended}, false, [2]string{"found", unknown}},
		"no ledger":          {"tool_use", nil, true, [2]string{unknown, unknown}},
		"the reply was cut":  {"max_tokens", nil, false, [2]string{not + "the reply was cut off", not}},
		"it was refused":     {"refusal", nil, false, [2]string{not + "the reply was refused", not}},
		"the user cut it":    {"aborted", nil, false, [2]string{not + "the reply was interrupted", not}},
		"cut by the budget":  {"cancelled", nil, false, [2]string{not + "the reply was interrupted", not}},
		"the writer is gone": {"max_tokens", nil, true, [2]string{not, not}},
	} {
		s := fresh(t)
		records := slices.Clone(opened)
		cut := reply
		cut.StopReason = c.stop
		records[3] = session.Entry{At: epoch, Message: cut}
		if c.old {
			records = records[1:]
		}
		var err error
		if s.session, err = s.session.With(append(records, c.more...)...); err != nil {
			t.Fatal(err)
		}
		s, effects := step(s, begin{epoch, "r1", ""})
		if _, ok := effects[len(effects)-1].(call); !ok {
			t.Errorf("%s: %s", name, trace(effects))
		}
		results := s.session.Last().Results
		if len(results) != 2 {
			t.Fatalf("%s: %+v", name, s.session.Messages)
		}
		for i, r := range results {
			if !strings.HasPrefix(r.Content, c.wants[i]) || r.IsError != (r.Content != "found") || r.Status != "" {
				t.Errorf("%s: %+v; want %q", name, r, c.wants[i])
			}
		}
		legal(t, s.session.Messages)
		agrees(t, &s.session)
	}
	// An answer that is there already stays; only the rest is closed.
	var s session.Session
	s.Messages = []transcript.Message{calls("x", "y").Message, transcript.ToolResults(transcript.ToolResult{ToolUseID: "x"})}
	if b := opens(&s); len(b.calls) != 1 || b.calls[0].ID != "y" {
		t.Errorf("%v", b)
	}
}

// prefixed is the prefix of the settings of a fresh state.
func prefixed(t *testing.T) session.Prefix {
	t.Helper()
	p := fresh(t).settings.prefix
	p.At = epoch
	var err error
	if p.Hash, err = session.Digest(p.System, p.Tools, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// ran answers all calls of the last reply as tools that end in order.
func ran(s state) (state, []effect) {
	var effects []effect
	for _, c := range s.batch.calls {
		s, _ = step(s, starting{epoch, c.ID})
		s, _ = step(s, settled{epoch, c.ID, transcript.ToolResult{ToolUseID: c.ID, Content: "r"}, tool.Outcome{Status: tool.StatusComplete}})
	}
	s, effects = step(s, answered{at: epoch})
	return s, effects
}

func TestPausesAreCapped(t *testing.T) {
	s := fresh(t)
	s.settings.maxTurns = 100
	s, effects := step(s, begin{epoch, "r1", "go"})
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
	s, effects := step(fresh(t), begin{epoch, "r1", "go"})
	for range 3 {
		s, _ = step(s, replied{epoch, calls("a")})
		s, effects = ran(s)
	}
	if got := trace(effects); got != "save(tool_results *tool_results failure task) finish(the limit of 3 turns is reached; resume to go on)" {
		t.Error(got)
	}
	var limit *TurnLimitError
	if f := effects[len(effects)-1].(finish); !errors.As(f.err, &limit) || s.tools != 3 {
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
			s, _ := step(fresh(t), begin{epoch, "r1", "go"})
			s, _ = step(s, replied{epoch, says("tool_use", transcript.ToolUse("a", "run", []byte(`{ }`)))})
			s, _ = ran(s)
			s, _ = step(s, replied{epoch, text("done")})
			change(&s.session)
			_, effects := step(again(s), begin{epoch, "r2", "more"})
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
		if _, effects := step(s, begin{epoch, "r1", " \n"}); trace(effects) != "finish("+ErrNothingToContinue.Error()+")" {
			t.Errorf("%s: %s", name, trace(effects))
		}
	}
	for name, messages := range map[string][]transcript.Message{
		"unanswered": {transcript.User("a")}, "paused": {transcript.User("a"), says("pause_turn", transcript.Text("b")).Message},
		"results": {transcript.User("a"), calls("x").Message, transcript.ToolResults(transcript.ToolResult{ToolUseID: "x"})},
	} {
		s := fresh(t)
		s.session.Messages = messages
		if _, effects := step(s, begin{epoch, "r1", ""}); !strings.Contains(trace(effects), " call(") {
			t.Errorf("%s: %s", name, trace(effects))
		}
	}
}

// TestEffortMayChange without a word to the model.
func TestEffortMayChange(t *testing.T) {
	s, _ := step(fresh(t), begin{epoch, "r1", "go"})
	s, _ = step(s, replied{epoch, text("done")})
	s = again(s)
	s.settings.prefix.Effort = "high"
	s, effects := step(s, begin{epoch, "r2", "more"})
	if got := trace(effects); got != "save(run prefix user *prompt) call(3)" {
		t.Error(got)
	}
	if p := s.session.Prefix; p.Effort != "high" || p.System != "s" {
		t.Errorf("%+v", p)
	}
}

// again is the state of a further run of the session of s.
func again(s state) state {
	return state{session: s.session, settings: s.settings}
}

// TestStepIsPure: same state and input, same outcome, and the state that went
// in stays as it was.
func TestStepIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fresh(t)
		s.settings.maxTurns = 20
		s.settings.retry = provider.RetryPolicy{MaxRetries: 2}
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			in := anyInput(t, &s)
			before := show(s)
			one, first := step(s, in)
			two, second := step(s, in)
			if show(s) != before {
				t.Fatalf("step changed its state")
			}
			exported := cmp.Exporter(func(reflect.Type) bool { return true })
			if d := cmp.Diff(first, second, exported, cmp.Comparer(sameError)); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(one.session, two.session, cmpopts.IgnoreUnexported(session.Session{}), cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
			if s = one; s.phase == phaseDone {
				legal(t, s.session.Messages)
				agrees(t, &s.session)
				s = again(s)
			}
		}
	})
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// show is all that a state holds; its session shares its log with later ones.
func show(s state) string {
	entries := s.session.Ledger.Entries()
	session := s.session
	session.Ledger = transcript.Ledger{}
	s.session, s.settings.idempotent = session, nil
	return fmt.Sprintf("%+v %+v", s, entries)
}

// anyInput is an input that can follow s.
func anyInput(t *rapid.T, s *state) input {
	switch s.phase {
	case phaseNew, phaseDone:
		return begin{epoch, "r", rapid.StringN(1, 4, -1).Draw(t, "prompt")}
	case phaseWaiting:
		return waited{epoch}
	case phaseTools:
		for i, c := range s.batch.calls {
			switch a := s.batch.answers[i]; {
			case a.known:
			case a.ran:
				status := rapid.SampledFrom([]tool.Status{tool.StatusComplete, tool.StatusError, tool.StatusTimedOut, tool.StatusInterrupted}).Draw(t, "status")
				return settled{epoch, c.ID, transcript.ToolResult{ToolUseID: c.ID, Content: "r", IsError: status != tool.StatusComplete}, tool.Outcome{Status: status}}
			default:
				return starting{epoch, c.ID}
			}
		}
		return answered{at: epoch, cause: rapid.SampledFrom([]cause{causeNone, causeUser}).Draw(t, "cause")}
	case phaseCalling: // below
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		return failed{at: epoch, err: &provider.Error{Kind: provider.Overloaded}, cause: rapid.SampledFrom([]cause{causeNone, causeUser, causeLate}).Draw(t, "cause"),
			shown: rapid.Bool().Draw(t, "shown"), blocks: []transcript.Block{transcript.Text("t"), transcript.Reasoning("r", nil)}}
	}
	stop := rapid.SampledFrom([]transcript.StopReason{"end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "?"}).Draw(t, "stop")
	r := says(stop, transcript.Text("x"))
	if stop == "tool_use" || rapid.Bool().Draw(t, "calls?") {
		r.Message.Blocks = append(r.Message.Blocks, calls("a", "b").Message.Blocks...)
	}
	return replied{epoch, r}
}
