package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// killed stores a session that was killed while tools ran: "ended" had ended,
// "safe" and "risky" were running, "new" had not started.
func killed(t *testing.T) session.Store {
	t.Helper()
	store := session.NewMemoryStore()
	w, err := store.Create(ctx, session.Header{Version: 1, ID: sessionID, Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	reply := says("tool_use")
	records := []session.Record{
		session.Run{At: epoch, ID: "r0"}, prefixOf(), session.MessageRecord{At: epoch, Message: transcript.User("go")},
		nil,
	}
	for _, name := range []string{"ended", "safe", "risky", "new"} {
		reply.Message.Blocks = append(reply.Message.Blocks, transcript.ToolUse("id_"+name, name, []byte("{}")))
		e := transcript.CallRecord{Message: 1, CallID: "id_" + name, Name: name, Status: transcript.CallRunning}
		if name != "new" {
			records = append(records, session.Tool{At: epoch, CallRecord: e})
		}
	}
	records[3] = session.MessageRecord{At: epoch, Message: reply.Message}
	records = append(records, session.Tool{At: epoch, CallRecord: transcript.CallRecord{Message: 1, CallID: "id_ended",
		Name: "ended", Status: transcript.CallComplete,
		Result: &transcript.ToolResult{ToolUseID: "id_ended", Content: "found"}}})
	if err := errors.Join(w.Append(ctx, records...), w.Close()); err != nil {
		t.Fatal(err)
	}
	return store
}

func prefixOf() session.Prefix {
	p := session.Prefix{
		At: epoch, Provider: "anthropic", Model: "claude-opus-4-5", System: "be brief", Tools: fourTools().Defs(),
	}
	p.Hash, _ = session.Digest(p.System, p.Tools, nil)
	return p
}

// four offers the four tools; "safe" may run again.
type four struct{ counter }

func fourTools() *four { return &four{} }

func (*four) Defs() []transcript.ToolDef {
	var defs []transcript.ToolDef
	for _, name := range []string{"ended", "safe", "risky", "new"} {
		defs = append(defs, transcript.ToolDef{Name: name, InputSchema: transcript.RawJSON(`{"type":"object"}`)})
	}
	return defs
}

func (*four) Traits(name string) tool.Traits { return tool.Traits{Idempotent: name == "safe"} }

// TestPolicies after a kill: what had ended keeps its result, what ran is not
// run again unless both policy and tool say so (open-call).
func TestPolicies(t *testing.T) {
	const unknown, not = "interrupted: the tool may have run; check its effects before calling it again",
		"not executed: " + notStarted
	for policy, want := range map[Policy]struct {
		ran     string
		results [4]string
	}{
		"":              {"", [4]string{"found", unknown, unknown, not}},
		AskModel:        {"", [4]string{"found", unknown, unknown, not}},
		RetryIdempotent: {"id_safe", [4]string{"found", "ran {}", unknown, not}},
	} {
		store, tools := killed(t), fourTools()
		m := &model{replies: []any{text("done")}}
		cfg := config(m, store, tools)
		cfg.OnInterrupted = policy
		if _, err := Resume(ctx, cfg, sessionID, "and?"); err != nil {
			t.Fatalf("%q: %v", policy, err)
		}
		for id, n := range tools.runs {
			if id != want.ran || n != 1 {
				t.Errorf("%q: %v ran", policy, tools.runs)
			}
		}
		if want.ran != "" && len(tools.runs) != 1 {
			t.Errorf("%q: %v ran", policy, tools.runs)
		}
		s := load(t, store)
		legal(t, s.Messages)
		agrees(t, &s)
		for i, r := range s.Messages[2].Results {
			if r.Content != want.results[i] {
				t.Errorf("%q: %+v, want %q", policy, r, want.results[i])
			}
		}
		if req := m.requests[0].Messages; len(req) != 4 || req[3].Content != "and?" {
			t.Errorf("%q: %v", policy, req)
		}
	}
	store := killed(t)
	cfg := config(&model{}, store, fourTools())
	cfg.OnInterrupted = Fail
	var running *InterruptedError
	if _, err := Resume(ctx, cfg, sessionID, "and?"); !errors.As(err, &running) || len(running.Calls) != 2 ||
		running.Calls[0].CallID != "id_safe" {
		t.Errorf("%v", err)
	} else if text := err.Error(); !strings.Contains(text, "safe (id_safe), risky (id_risky)") {
		t.Error(text)
	}
	if s := load(t, store); len(s.Messages) != 2 || len(s.Runs) != 1 {
		t.Errorf("%v", s.Messages)
	}
}

// offering has the given tools.
type offering struct {
	counter
	defs []transcript.ToolDef
}

func (o *offering) Defs() []transcript.ToolDef { return o.defs }

func def(name, description string) transcript.ToolDef {
	return transcript.ToolDef{
		Name: name, Description: description, InputSchema: transcript.RawJSON(`{"type":"object"}`),
	}
}

// changing is a session that is resumed with changed settings.
type changing struct {
	t     *testing.T
	store session.Store
	cfg   Config
}

func newChanging(t *testing.T) *changing {
	t.Helper()
	c := &changing{t: t, store: session.NewMemoryStore()}
	tools := &offering{defs: []transcript.ToolDef{def("run", "r"), def("old", "o"), def("kept", "k")}}
	c.cfg = config(&model{replies: []any{text("one")}}, c.store, tools)
	if _, err := Run(ctx, c.cfg, "go"); err != nil {
		t.Fatal(err)
	}
	return c
}

// resume returns the requests of a run and what the model has been told in all.
func (c *changing) resume(prompt string, replies ...any) ([]provider.Request, []string) {
	c.t.Helper()
	m := &model{replies: replies}
	c.cfg.Client = m
	if _, err := Resume(ctx, c.cfg, sessionID, prompt); err != nil {
		c.t.Fatal(err)
	}
	for _, r := range m.requests {
		if r.System != "be brief" || len(r.Tools) != 3 || r.Tools[1].Name != "old" {
			c.t.Errorf("the prefix has changed: %+v", r)
		}
	}
	var said []string
	for _, msg := range m.requests[len(m.requests)-1].Messages {
		if msg.Role == transcript.RoleDeveloper {
			said = append(said, msg.Content)
		}
	}
	return m.requests, said
}

// TestChangedSettings checks that changed settings are sent once, after the
// prompt, and that what is sent ahead of the messages stays the same byte for
// byte.
func TestChangedSettings(t *testing.T) {
	c := newChanging(t)
	// Another order is not a change.
	c.cfg.Tools = &offering{defs: []transcript.ToolDef{def("kept", "k"), def("old", "o"), def("run", "r")}}
	if _, said := c.resume("two", text("two")); said != nil {
		t.Errorf("%q", said)
	}
	c.cfg.System = "be long"
	tools := &offering{defs: []transcript.ToolDef{def("kept", "better"), def("fresh", "f"), def("run", "r")}}
	c.cfg.Tools = tools
	asked, said := c.resume(
		"three",
		says("tool_use", transcript.ToolUse("1", "old", []byte("{}")), transcript.ToolUse("2", "run", []byte("{}"))),
		text("three"),
	)
	const want = "From here on these instructions take the place of the system prompt:\n\nbe long\n\n" +
		"These tools are no longer available, and calls of them are refused: old.\n\n" +
		"The tool kept has changed. Its description: better\nIts input schema: {\"type\":\"object\"}\n\n" +
		"These tools exist now, but cannot be called in this conversation: fresh."
	if len(said) != 1 || said[0] != want {
		t.Errorf("%q", said)
	}
	if at := asked[0].Messages; at[len(at)-2].Content != "three" || at[len(at)-1].Role != transcript.RoleDeveloper {
		t.Errorf("%v", at)
	}
	s := load(t, c.store)
	if r := s.Messages[len(s.Messages)-2].Results; tools.runs["1"] != 0 ||
		r[0].Content != "not executed: the tool old is no longer available" || r[1].IsError {
		t.Errorf("%+v, %v", r, tools.runs)
	}
	if _, said := c.resume("four", text("four")); len(said) != 1 {
		t.Errorf("told again: %q", said)
	}
}

// TestChangedBack checks that a run without a system prompt keeps the one in
// force, and that a new text replaces the earlier one.
func TestChangedBack(t *testing.T) {
	c := newChanging(t)
	before := c.cfg.Tools
	const long = "From here on these instructions take the place of the system prompt:\n\nbe long"
	var told []string
	for i, step := range []struct {
		system string
		tools  tool.Dispatcher
		says   string // "": nothing
	}{
		{"be long", &counter{},
			long + "\n\nThese tools are no longer available, and calls of them are refused: old, kept.\n\n" +
				"The tool run has changed. Its description: \nIts input schema: { \"type\": \"object\" }"},
		{"", before, replacesNote + long},
		{"", before, ""},
		{"be brief", before, asBeforeNote},
		{"", before, ""},
		{"be long", before, replacesNote + long},
	} {
		c.cfg.System, c.cfg.Tools = step.system, step.tools
		_, said := c.resume("go on", text("done"))
		if step.says != "" {
			told = append(told, step.says)
		}
		if diff := cmp.Diff(told, said); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// TestDeferredIsNoChange: the stored tools are sent as they are, so that the model is told
// nothing when another run would defer them.
func TestDeferredIsNoChange(t *testing.T) {
	c := newChanging(t)
	loaded := c.cfg.Tools
	deferred := &offering{}
	for _, d := range loaded.Defs() {
		d.Deferred = true
		deferred.defs = append(deferred.defs, d)
	}
	for i, step := range []struct {
		system string
		tools  tool.Dispatcher
		told   int // in all
	}{{"be brief", deferred, 0}, {"be long", deferred, 1}, {"be long", loaded, 1}, {"be brief", loaded, 2},
		{"be brief", deferred, 2}} {
		c.cfg.System, c.cfg.Tools = step.system, step.tools
		if _, said := c.resume("go on", text("done")); len(said) != step.told {
			t.Errorf("step %d: told %q", i, said)
		}
	}
}

// TestToolsChangeInTheMiddle checks that a server's new list is sent once, after
// the results that came with it, and that the prefix stays the same.
func TestToolsChangeInTheMiddle(t *testing.T) {
	store := session.NewMemoryStore()
	m := &model{
		replies: []any{
			calls("a"), says("tool_use", transcript.ToolUse("b", "old", []byte("{}"))), calls("c"), text("done"),
		},
	}
	cfg := config(m, store, &offering{defs: []transcript.ToolDef{def("run", "r"), def("old", "o")}})
	cfg.ToolsNow = func(context.Context) []transcript.ToolDef { return []transcript.ToolDef{def("run", "r")} }
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	s := load(t, store)
	legal(t, s.Messages)
	agrees(t, &s)
	if d := s.Messages[3]; d.Role != transcript.RoleDeveloper ||
		d.Content != "These tools are no longer available, and calls of them are refused: old." {
		t.Errorf("%+v", d)
	}
	if r := s.Messages[5].Results[0]; r.Content != "not executed: the tool old is no longer available" {
		t.Errorf("%+v", r)
	}
	for _, r := range m.requests {
		if len(r.Tools) != 2 {
			t.Errorf("%+v", r.Tools)
		}
	}
	if len(s.Messages) != 9 {
		t.Errorf("told again: %v", s.Messages)
	}
}

// TestOtherModel checks that another model can take over: the store keeps
// everything, the new model is not given what it cannot take, and that is
// reported once.
func TestOtherModel(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Run(
		ctx, config(&model{replies: []any{calls("a"), text("one")}}, store, &counter{}), "go",
	); err != nil {
		t.Fatal(err)
	}
	m := &model{provider: "openai", replies: []any{calls("b"), text("two")}}
	cfg := config(m, store, &counter{})
	cfg.Model = "gpt-5.2"
	events := heard(&cfg)
	if _, err := Resume(ctx, cfg, sessionID, "more"); err != nil {
		t.Fatal(err)
	}
	degraded, told := map[string]int{}, map[handoff.Degradation]bool{}
	for _, e := range *events {
		if e.Type == Degraded {
			if e.Degradation == nil || e.Rule != e.Degradation.Rule || told[*e.Degradation] {
				t.Errorf("%+v", e)
			}
			told[*e.Degradation] = true
			degraded[e.Rule]++
		}
	}
	if degraded["foreign-thinking"] < 2 {
		t.Errorf("degraded by %v", degraded)
	}
	for _, r := range m.requests {
		legal(t, r.Messages)
		for _, msg := range r.Messages {
			for _, b := range msg.Blocks {
				if b.Meta != nil && b.Meta.Provider == transcript.MetaAnthropic {
					t.Errorf("a token of Anthropic goes to OpenAI: %+v", b)
				}
			}
		}
	}
	s := load(t, store)
	if s.Prefix.Provider != "openai" || s.Prefix.Model != "gpt-5.2" || s.Prefix.System != "be brief" ||
		s.Messages[1].Blocks[0].Meta == nil {
		t.Errorf("%+v %+v", s.Prefix, s.Messages[1])
	}
	n := len(s.Calls)
	if len(s.Calls[n-2].Degraded) < 2 || s.Calls[n-1].Provider != "openai" {
		t.Errorf("%+v", s.Calls)
	}
	back := &model{replies: []any{text("three")}}
	cfg = config(back, store, &counter{})
	if _, err := Resume(ctx, cfg, sessionID, "back"); err != nil {
		t.Fatal(err)
	}
	if b := back.requests[0].Messages[1].Blocks[0]; b.Meta == nil || b.Meta.Signature != "EqQB" {
		t.Errorf("its own token did not come back: %+v", b)
	}
}
