package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// long is a reply after which the conversation has n tokens.
func long(n uint64, r stream.Reply) stream.Reply {
	r.Usage = transcript.Usage{InputTokens: n - 1, OutputTokens: 1}
	return r
}

// thoughtless is a reply without its thought.
func thoughtless(r stream.Reply) stream.Reply {
	r.Message.Blocks = r.Message.Blocks[1:]
	return r
}

// TestCompactsByItself between the results of tools and the next call, once the
// threshold is reached: pairs stay whole, the request goes on from the summary,
// the store keeps everything, and the summary is asked for behind the very
// conversation that was sent before.
func TestCompactsByItself(t *testing.T) {
	store, tools := session.NewMemoryStore(), &counter{}
	m := &model{replies: []any{
		long(50, thoughtless(calls("a"))), long(900, thoughtless(calls("b"))),
		says("end_turn", transcript.Text("All about a and b.")), text("done"),
	},
		events: []stream.Event{{Kind: stream.EventTextDelta, Delta: []byte("x")}}}
	cfg := config(m, store, tools)
	cfg.Compaction = Compaction{Threshold: 0.9, Window: 1000, Keep: 1}
	events := heard(&cfg)
	got, err := Run(ctx, cfg, "go")
	if err != nil || got.Text != "done" || got.Turns != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	asked, next := m.requests[2], m.requests[3]
	if n := len(asked.Messages); n != 6 || asked.Messages[5].Content != DefaultCompactionPrompt ||
		asked.ToolChoice != "none" || len(asked.Tools) != 1 {
		t.Errorf("asked with %v", asked)
	}
	legal(t, asked.Messages)
	legal(t, next.Messages)
	if n := next.Messages; len(n) != 4 || n[0].Content != summaryHead+"All about a and b." || n[1].Content != "go" ||
		n[3].Results[0].ToolUseID != "b" {
		t.Errorf("went on with %v", n)
	}
	s := load(t, store)
	if len(s.Messages) != 6 || len(s.Compactions) != 1 || s.Compactions[0].Through != 5 ||
		!slices.Equal(s.Compactions[0].Kept, []int{0, 3, 4}) {
		t.Errorf("%v, %+v", s.Messages, s.Compactions)
	}
	if s.Usage.Total() != 50+900+13+13 || got.Usage.Total() != s.Usage.Total() {
		t.Errorf("usage %v of the session, %v of the run", s.Usage, got.Usage)
	}
	const want = "compaction_completed"
	if all := types(*events); !strings.Contains(all, want) || strings.Count(all, "compaction_started") != 1 ||
		strings.Count(all, "text_complete") != 1 || strings.Count(all, "text_delta") != 3 {
		t.Error(all)
	}
	ordered(t, *events, nil)
	legal(t, s.Messages)
	agrees(t, &s)

	// Another process goes on from the summary, too; the guard still holds.
	rest := &model{replies: []any{text("more")}}
	if _, err := Resume(ctx, config(rest, store, tools), sessionID, "and?"); err != nil {
		t.Fatal(err)
	}
	if n := rest.requests[0].Messages; len(n) != 6 || n[0].Content != next.Messages[0].Content ||
		n[5].Content != "and?" {
		t.Errorf("resumed with %v", n)
	}
}

// TestCompactOnDemand of a session that is complete, and of one with a new
// threshold that is not reached.
func TestCompactOnDemand(t *testing.T) {
	store := session.NewMemoryStore()
	if _, err := Run(
		ctx, config(&model{replies: []any{calls("a"), text("one")}}, store, &counter{}), "go",
	); err != nil {
		t.Fatal(err)
	}
	asked := &model{replies: []any{text("It went well.")}}
	cfg := config(asked, store, &counter{})
	cfg.OutputSchema = transcript.RawJSON(`{"type":"object"}`)
	got, err := Compact(ctx, cfg, sessionID)
	if err != nil || asked.requests[0].OutputSchema != nil || got.Text != "It went well." || got.Turns != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	m := &model{replies: []any{text("two")}}
	if _, err := Resume(ctx, config(m, store, &counter{}), sessionID, "more"); err != nil {
		t.Fatal(err)
	}
	s := load(t, store)
	if n := m.requests[0].Messages; n[0].Content != s.Compactions[0].Summary || n[len(n)-1].Content != "more" {
		t.Errorf("%v", n)
	}
	legal(t, m.requests[0].Messages)
	again := config(&model{replies: []any{text("Still well.")}}, store, &counter{})
	if _, err := Compact(ctx, again, sessionID); err != nil {
		t.Error(err)
	}
	if s = load(t, store); len(s.Compactions) != 2 || s.Compactions[1].Through != len(s.Messages) {
		t.Errorf("%+v", s.Compactions)
	}
}

// TestCompactionFails: by itself the run goes on as it was and does not try
// again; on demand it is the error. Nothing half-done is stored, but what it took
// is.
func TestCompactionFails(t *testing.T) {
	for name, bad := range map[string]any{
		"error": &provider.Error{Kind: provider.InvalidRequest}, "cut": says("max_tokens", transcript.Text("All ab")),
		"calls": calls("z"), "silent": bare("end_turn"),
	} {
		store, tools := session.NewMemoryStore(), &counter{}
		cfg := config(
			&model{
				replies: []any{
					long(50, thoughtless(calls("0"))), long(900, thoughtless(calls("a"))), bad,
					long(950, thoughtless(calls("b"))), text("done"),
				},
			},
			store, tools,
		)
		cfg.Compaction = Compaction{Threshold: 0.9, Window: 1000}
		events := heard(&cfg)
		got, err := Run(ctx, cfg, "go")
		if err != nil || got.Text != "done" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		spent := got.Usage.Total()
		if s := load(t, store); len(s.Compactions) != 0 || strings.Count(
			types(*events), string(CompactionStarted),
		) != 1 || tools.runs["z"] != 0 {
			t.Errorf("%s: %+v, %s", name, s.Compactions, types(*events))
		}
		cfg = config(&model{replies: []any{bad}}, store, tools)
		if _, err := Compact(ctx, cfg, sessionID); err == nil {
			t.Errorf("%s: no error on demand", name)
		}
		if s := load(t, store); len(s.Compactions) != 0 || s.Errors == nil || s.Usage.Total() != spent+paid(bad) {
			t.Errorf("%s: %+v", name, s.Compactions)
		}
	}
	if _, err := Compact(
		ctx, config(&model{}, session.NewMemoryStore(), nil), sessionID,
	); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
}

// paid is what a reply of a fake took.
func paid(reply any) uint64 {
	r, _ := reply.(stream.Reply)
	return r.Usage.Total()
}

// TestCompactionSurvivesPowerFailure at each of its writes.
func TestCompactionSurvivesPowerFailure(t *testing.T) {
	for n := range 9 {
		for _, after := range []bool{false, true} {
			store, tools := session.NewMemoryStore(), &counter{}
			cfg := config(
				&model{
					replies: []any{
						long(50, thoughtless(calls("0"))), long(900, thoughtless(calls("a"))), text("Summary."),
						text("done"),
					},
				},
				&flaky{Store: store, n: n, after: after}, tools,
			)
			cfg.Compaction = Compaction{Threshold: 0.9, Window: 1000}
			if _, err := Run(ctx, cfg, "go"); !errors.Is(err, errPower) {
				t.Fatalf("append %d: %v", n, err)
			}
			m := &model{replies: []any{text("done after all")}}
			if _, err := Resume(ctx, config(m, store, tools), sessionID, "go on"); err != nil {
				t.Fatalf("append %d: %v", n, err)
			}
			s := load(t, store)
			legal(t, s.Messages)
			agrees(t, &s)
			legal(t, m.requests[0].Messages)
		}
	}
}

// TestKeep checks what is kept: user messages before results before replies, the
// newest first, at most half, pairs whole, and always the prompt and what waits for
// an answer. An answer in which the model thought is kept or left out as a whole.
func TestKeep(t *testing.T) {
	big := strings.Repeat("x", 400) // about 100 tokens
	call := func(id string) transcript.Message {
		return transcript.Assistant(transcript.StopToolUse, transcript.ToolUse(id, "run", []byte(`{}`)))
	}
	result := func(id string) transcript.Message {
		return transcript.ToolResults(transcript.ToolResult{ToolUseID: id, Content: big})
	}
	thought := transcript.Reasoning(
		"hm", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: strings.Repeat("E", 200)},
	)
	plain := []transcript.Message{
		0: transcript.User("first " + big), 1: call("a"), 2: result("a"),
		3: transcript.Assistant(transcript.StopEndTurn, transcript.Text(big+big+big)),
		4: transcript.User("second"), 5: transcript.Developer("changed"), 6: call("b"), 7: result("b"),
		8: transcript.Assistant(transcript.StopPauseTurn, transcript.Text("hm")),
	}
	thinking := slices.Clone(plain)
	for _, i := range []int{1, 6} {
		thinking[i].Blocks = append([]transcript.Block{thought}, thinking[i].Blocks...)
	}
	for name, c := range map[string]struct {
		history   []transcript.Message
		n, window int
		keep      int
		want      string
	}{
		"nothing but what must":         {plain, 9, 0, 1, "[4 5 8]"},
		"the user too":                  {plain, 9, 0, 120, "[0 4 5 8]"},
		"and new results":               {plain, 9, 0, 250, "[0 4 5 6 7 8]"},
		"half at most":                  {plain, 9, 0, 1000, "[0 4 5 6 7 8]"},
		"open results":                  {plain, 8, 0, 1, "[4 5 6 7]"},
		"complete":                      {plain, 4, 0, 1, "[]"},
		"a prompt":                      {plain, 5, 0, 1, "[4]"},
		"an open answer with thoughts":  {thinking, 8, 0, 1, "[4 5 6 7]"},
		"one that is too long":          {thinking, 8, 200, 120, "[0 4 5]"},
		"a whole answer with thoughts":  {thinking, 9, 0, 290, "[0 4 5 6 7 8]"},
		"no part of a thoughtful reply": {thinking, 4, 0, 250, "[0]"},
	} {
		s := fresh(t)
		s.session.Messages = c.history[:c.n]
		s.settings.compaction.Keep, s.settings.compaction.Window = c.keep, c.window
		if got := fmt.Sprint(s.messagesToKeep()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestKeepIsLegal for any conversation: the kept indices ascend, are no later
// than the end, hold whole pairs and whole answers with thoughts, and what asks for
// the next reply.
func TestKeepIsLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fresh(t)
		add := func(messages ...transcript.Message) { s.session.Messages = append(s.session.Messages, messages...) }
		for i := range rapid.IntRange(1, 12).Draw(t, "messages") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				add(transcript.User(strings.Repeat("u", rapid.IntRange(1, 400).Draw(t, "size"))))
			case 1, 2:
				id := fmt.Sprint(i)
				m := calls(id, id+"x").Message
				if rapid.Bool().Draw(t, "thoughtless") {
					m.Blocks = m.Blocks[1:]
				}
				result := strings.Repeat("r", rapid.IntRange(1, 400).Draw(t, "size"))
				add(m, transcript.ToolResults(
					transcript.ToolResult{ToolUseID: id, Content: result},
					transcript.ToolResult{ToolUseID: id + "x", Content: "y"},
				))
			case 3:
				add(text("t").Message)
			case 4:
				if n := len(s.session.Messages); n > 0 && rapid.Bool().Draw(t, "compacted") {
					s.session.Compactions = append(s.session.Compactions, session.Compaction{
						Through: n, Kept: s.messagesToKeep(),
					})
				}
			}
		}
		s.settings.compaction.Keep = rapid.IntRange(1, 300).Draw(t, "keep")
		if len(s.session.Messages) == 0 {
			return
		}
		candidates := unitIndices(s.retentionUnits())
		kept := s.messagesToKeep()
		var left []transcript.Message
		for i, k := range kept {
			if k >= len(s.session.Messages) || i > 0 && k <= kept[i-1] || !slices.Contains(candidates, k) {
				t.Fatalf("kept %v of %v", kept, candidates)
			}
			left = append(left, s.session.Messages[k])
		}
		legal(t, left)
		for i := 1; i < len(candidates); i++ {
			a, b := candidates[i-1], candidates[i]
			m := &s.session.Messages[b]
			if m.Role == transcript.RoleAssistant && m.HasReasoning() &&
				s.session.Messages[a].Role != transcript.RoleUser &&
				slices.Contains(kept, a) != slices.Contains(kept, b) {
				t.Fatalf("kept %v of %v: a border inside an answer with thoughts", kept, candidates)
			}
		}
		last := len(s.session.Messages) - 1
		if slices.Contains(candidates, last) && canContinue(s.session.Messages) && !slices.Contains(kept, last) {
			t.Fatalf("message %d wants an answer and is not in %v", last, kept)
		}
	})
}

// TestNotSmaller: what a summary cannot make smaller stays as it is, and the error
// says why; a conversation of which nothing can be left out costs no call.
func TestNotSmaller(t *testing.T) {
	for name, c := range map[string]struct {
		prompt, summary string
		requests        int
	}{
		"a summary that is longer":   {"go", strings.Repeat("word ", 500), 2},
		"nothing can be left out":    {"", "never asked for", 0},
		"one giant message, open":    {"", "never asked for", 0},
		"one giant message, dropped": {strings.Repeat("word ", 50_000), "short", 2},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.NewMemoryStore()
			m := &model{replies: []any{text("one"), text(c.summary)}}
			cfg := config(m, store, nil)
			if c.requests > 0 {
				if _, err := Run(ctx, cfg, c.prompt); err != nil {
					t.Fatal(err)
				}
			} else {
				w, err := store.Create(ctx, session.Header{
					Version: session.Version, ID: sessionID, Provider: "anthropic", Model: cfg.Model,
				})
				giant := session.MessageRecord{At: epoch, Message: transcript.User(strings.Repeat("word ", 50_000))}
				if err := errors.Join(err, w.Append(ctx, giant), w.Close()); err != nil {
					t.Fatal(err)
				}
			}
			before := load(t, store)
			_, err := Compact(ctx, cfg, sessionID)
			after := load(t, store)
			smaller := name == "one giant message, dropped"
			if errors.As(err, new(*NotSmallerError)) == smaller || len(after.Compactions) > 0 != smaller ||
				len(m.requests) != c.requests {
				t.Errorf("%v, %d requests, %+v", err, len(m.requests), after.Compactions)
			}
			if after.Usage.Total() <= before.Usage.Total() && c.requests > 0 {
				t.Errorf("the summary was paid for: %+v, %+v", before.Usage, after.Usage)
			}
		})
	}
}

func tooMuch() error {
	return &provider.Error{
		Kind: provider.ContextTooLong, Provider: "anthropic", Status: 400,
		Message: "prompt is too long: 2 tokens > 1 maximum",
	}
}

// TestTooLong checks that a conversation the provider rejects as too long is
// summarised from a part of it, once, and that the run continues. If compaction
// is off, nothing can be left out, or it does not help, the run ends with the
// rejection, and the session can be resumed or summarised on demand.
func TestTooLong(t *testing.T) {
	big := strings.Repeat("x", 4000)
	history := func(t *testing.T) session.Store {
		t.Helper()
		store := session.NewMemoryStore()
		first := says("end_turn", transcript.Text(big))
		if _, err := Run(ctx, config(&model{replies: []any{first}}, store, &counter{}), "old "+big); err != nil {
			t.Fatal(err)
		}
		return store
	}
	summary := says("end_turn", transcript.Text("It was long."))
	for name, c := range map[string]struct {
		on      bool
		replies []any
		want    string // requests by their number of messages
		fails   bool
	}{
		"goes on":              {true, []any{tooMuch(), summary, calls("a"), text("done")}, "3 4 2 4", false},
		"off":                  {false, []any{tooMuch()}, "3", true},
		"still too long":       {true, []any{tooMuch(), summary, tooMuch()}, "3 4 2", true},
		"nothing to leave out": {true, []any{tooMuch(), summary, calls("a"), tooMuch(), tooMuch()}, "3 4 2 4", true},
		"summary too long":     {true, []any{tooMuch(), tooMuch(), tooMuch()}, "3 4", true},
		"kept too much":        {true, []any{tooMuch(), summary, tooMuch(), tooMuch()}, "3 4 3", true},
		"no summary":           {true, []any{tooMuch(), bare("end_turn")}, "3 4", true},
		"again when it has more": {
			true,
			[]any{
				tooMuch(), summary, thoughtless(calls("a")), thoughtless(calls("b")), tooMuch(), summary, text("done"),
			},
			"3 4 2 4 6 5 4", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, tools, m := history(t), &counter{}, &model{replies: c.replies}
			cfg := config(m, store, tools)
			if c.on {
				cfg.Compaction = Compaction{Threshold: 1, Window: 1 << 30, Keep: 1}
			}
			if name == "kept too much" {
				cfg.Compaction.Keep = 1 << 20
			}
			events := heard(&cfg)
			got, err := Resume(ctx, cfg, sessionID, "new")
			if c.fails != isTooLong(err) || c.fails == (err == nil) || !c.fails && got.Text != "done" {
				t.Errorf("%+v, %v", got, err)
			}
			ordered(t, *events, err)
			var sizes []string
			for _, r := range m.requests {
				legal(t, r.Messages)
				sizes = append(sizes, fmt.Sprint(len(r.Messages)))
			}
			if have := strings.Join(sizes, " "); have != c.want {
				t.Errorf("requests of %s messages, want %s", have, c.want)
			}
			all := types(*events)
			if strings.Count(all, string(CompactionStarted)) != strings.Count(all, string(CompactionCompleted)) {
				t.Error(all)
			}
			if s := load(t, store); len(s.Messages) < 3 || s.Messages[2].Content != "new" {
				t.Errorf("%v", s.Messages)
			}
		})
	}

	store, m := history(t), &model{replies: []any{tooMuch(), summary}}
	if _, err := Compact(ctx, config(m, store, nil), sessionID); err != nil {
		t.Errorf("on demand: %v", err)
	}
	if s := load(t, store); len(s.Compactions) != 1 || !strings.Contains(m.requests[1].Messages[0].Content, leftOut) {
		t.Errorf("%+v, %v", s.Compactions, m.requests[1].Messages)
	}
}

// TestWindow: a provider that compacts on demand is asked for a window first. What is no
// window, refused or not smaller is paid for and replaced by a summary; a prompt of one's
// own is followed by a summary alone.
func TestWindow(t *testing.T) {
	item := func(kind, raw string) transcript.Block {
		return transcript.Block{
			Type: transcript.BlockOpaque, Kind: kind, Raw: []byte(raw),
			Origin: &transcript.Origin{Provider: "openai", API: "responses", Model: "gpt-5.2"},
		}
	}
	compaction := item("compaction", `{"type":"compaction","encrypted_content":"gAAAA"}`)
	for name, c := range map[string]struct {
		prompt string
		reply  any
		asked  int // how often the provider is asked for a window
		stored bool
	}{
		"window": {
			reply: thoughtless(says("compaction", item("message", `{"type":"message","role":"user"}`), compaction)),
			asked: 1, stored: true,
		},
		"of another model": {reply: thoughtless(says("compaction", item("message", `{"type":"message"}`))), asked: 1},
		"with an open call": {
			reply: thoughtless(says("compaction", compaction, transcript.ToolUse("c", "f", []byte("{}")))), asked: 1,
		},
		"an answer": {reply: text("hi"), asked: 1},
		"too large": {
			reply: thoughtless(says(
				"compaction", item("message", `{"type":"`+strings.Repeat("x", 4000)+`"}`), compaction,
			)),
			asked: 1,
		},
		"not found":          {reply: &provider.Error{Kind: provider.ModelNotFound, Status: 404}, asked: 1},
		"a prompt of theirs": {prompt: "Be brief."},
	} {
		t.Run(name, func(t *testing.T) {
			store := session.NewMemoryStore()
			first := config(
				&model{provider: "openai", replies: []any{calls("a"), text(strings.Repeat("word ", 400))}}, store,
				&counter{},
			)
			first.Model, first.Effort = "gpt-5.2", ""
			if _, err := Run(ctx, first, "go"); err != nil {
				t.Fatal(err)
			}
			m := &model{provider: "openai", replies: []any{text("It went well.")}}
			if c.asked > 0 {
				m.replies = []any{c.reply, text("It went well.")}
			}
			cfg := config(m, store, &counter{})
			cfg.Model, cfg.Effort, cfg.Compaction.Prompt = "gpt-5.2", "", c.prompt
			if _, err := Compact(ctx, cfg, sessionID); err != nil {
				t.Fatal(err)
			}
			s, asked := load(t, store), 0
			for _, r := range m.requests {
				if r.Compact {
					asked++
				}
			}
			if got := s.Compactions[0]; asked != c.asked || (got.Window != nil) != c.stored ||
				(got.Summary == "") != c.stored || (len(m.replies) > 0) != c.stored {
				t.Errorf("asked %d times for a window, stored %+v, %d replies left", asked, got, len(m.replies))
			}
		})
	}
}
