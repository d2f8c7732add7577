package anthropic

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// fields is JSON that a test may edit.
type fields = map[string]any

func thinks(text string) script.Block {
	if text == "" {
		return script.Block{Kind: specs.KindThinking}
	}
	return script.Block{Kind: specs.KindThinking, Parts: []string{text}}
}

func speaks(text string) script.Block { return script.Block{Kind: specs.KindText, Text: text} }

func invokes() script.Block {
	return script.Block{Kind: specs.KindCall, Name: "f", Args: []byte(`{"b": 1, "a": "x"}`)}
}

var redact = script.Block{Kind: specs.KindRedacted}

// dialogue is a conversation as an agent holds it.
type dialogue struct {
	t       *testing.T
	body    fields
	headers []string
	turn    int
}

// talk begins a conversation with a model.
func talk(t *testing.T, model string) *dialogue {
	t.Helper()
	return &dialogue{t: t, body: fields{
		"model": model, "max_tokens": 4096, "system": "Be brief.",
		"tools":    []any{fields{"name": "f", "description": "d", "input_schema": fields{"type": "object"}}},
		"messages": []any{fields{"role": "user", "content": "hi"}},
		"thinking": fields{"type": "adaptive"},
	}}
}

func (d *dialogue) encode() string {
	raw, err := json.Marshal(d.body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(raw)
}

// answer lets the simulator reply to the conversation and returns the message.
func (d *dialogue) answer(blocks ...script.Block) fields {
	d.t.Helper()
	body := d.encode()
	if refusal := check(body, d.headers...); refusal != nil {
		d.t.Fatalf("turn %d: %v (%s)", d.turn, refusal, refusal.Note)
	}
	request, refused := Parse(ask("/v1/messages", body, d.headers...), []byte(body)).Turn()
	if refused != nil {
		d.t.Fatal(refused)
	}
	reply := script.Reply{Request: request, Ordinal: d.turn, Blocks: blocks, Stop: specs.StopTool, Seed: "s",
		Key: env.Key, At: time.Unix(0, 0)}
	d.turn++
	var out fields
	if err := json.Unmarshal(Provider{}.Frames(reply)[0], &out); err != nil {
		d.t.Fatal(err)
	}
	return out
}

// step lets the simulator reply, and answers its calls.
func (d *dialogue) step(blocks ...script.Block) *dialogue {
	d.t.Helper()
	content := d.answer(blocks...)["content"].([]any)
	d.say("assistant", content)
	var results []any
	for _, b := range content {
		if b.(fields)["type"] == "tool_use" {
			results = append(results, fields{"type": "tool_result", "tool_use_id": b.(fields)["id"], "content": "ok"})
		}
	}
	if results == nil {
		results = []any{fields{"type": "text", "text": "go on"}}
	}
	return d.say("user", results)
}

func (d *dialogue) say(role string, content any) *dialogue {
	d.body["messages"] = append(d.messages(), fields{"role": role, "content": content})
	return d
}

func (d *dialogue) messages() []any         { return d.body["messages"].([]any) }
func (d *dialogue) content(i int) []any     { return d.messages()[i].(fields)["content"].([]any) }
func (d *dialogue) block(i, j int) fields   { return d.content(i)[j].(fields) }
func (d *dialogue) put(i int, blocks []any) { d.messages()[i].(fields)["content"] = blocks }

// cut takes a block away.
func (d *dialogue) cut(i, j int) {
	all := d.content(i)
	d.put(i, append(append([]any{}, all[:j]...), all[j+1:]...))
}

// swap exchanges two blocks of a message.
func (d *dialogue) swap(i, j, k int) {
	all := d.content(i)
	all[j], all[k] = all[k], all[j]
}

// TestForgotten holds that a conversation whose beginning was forgotten goes on,
// as it may with models that do not bind.
func TestForgotten(t *testing.T) {
	d := talk(t, "claude-opus-4-6")
	for range 3 {
		d.step(thinks("now"), invokes())
	}
	d.body["messages"] = append([]any{fields{"role": "user", "content": "in short: hi"}}, d.messages()[5],
		d.messages()[6])
	d.turn = 10 // the reply is not one of those forgotten
	d.step(thinks("later"), invokes()).step(thinks("at last"), invokes())
	if refusal := check(d.encode()); refusal != nil {
		t.Errorf("%v (%s)", refusal, refusal.Note)
	}
}

// flip alters one character of a token.
func flip(token any) string {
	b := []byte(token.(string))
	if b[100]++; b[100] > 'y' {
		b[100] = 'a'
	}
	return string(b)
}

// expect holds the refusal of the conversation as it stands.
func (d *dialogue) expect(name, id, says string) {
	d.t.Helper()
	got := check(d.encode(), d.headers...)
	switch {
	case id == "" && got != nil:
		d.t.Errorf("%s: refused with %v (%s)", name, got, got.Note)
	case id != "" && (got == nil || got.Rule != id || got.Message != says):
		d.t.Errorf("%s: got %v\nwant %s: %s", name, got, id, says)
	}
}

// TestSeals alters a conversation of two turns of a model that does not bind its
// thinking: an old turn in messages.1, the latest in messages.3.
func TestSeals(t *testing.T) {
	old, latest := "messages.1.content.0: ", "messages.3.content."
	for name, c := range map[string]struct {
		edit     func(*dialogue)
		id, says string
	}{
		"nothing":              {func(*dialogue) {}, "", ""},
		"the system prompt":    {func(d *dialogue) { d.body["system"] = "Other." }, "", ""},
		"old thinking dropped": {func(d *dialogue) { d.cut(1, 0) }, "", ""},
		"old signature": {func(d *dialogue) {
			d.block(1,
				0)["signature"] = flip(d.block(1, 0)["signature"])
		}, "A-34", old + wrongSignature},
		"old text": {func(d *dialogue) { d.block(1, 0)["thinking"] = "x" }, "A-34",
			old + wrongSignature},
		"old signature cut": {func(d *dialogue) {
			d.block(1, 0)["signature"] = d.block(1,
				0)["signature"].(string)[:80]
		}, "A-34", old + wrongSignature},
		"old signature empty": {func(d *dialogue) { d.block(1, 0)["signature"] = "" }, "A-34",
			old + wrongSignature},
		"old text emptied": {func(d *dialogue) { d.block(1, 0)["thinking"] = "" }, "ANT-T6",
			"messages.1.content.0.thinking: each thinking block must contain thinking"},
		"another account": {func(d *dialogue) { d.headers = []string{"X-Api-Key: test-key@other"} }, "A-34",
			old + wrongSignature},
		"another model reads it": {func(d *dialogue) { d.body["model"] = "claude-fable-5-1" }, "", ""},
		"latest text": {func(d *dialogue) { d.block(3, 0)["thinking"] = "x" }, "A-37",
			latest + "0: " + modified},
		"latest signature": {func(d *dialogue) {
			d.block(3,
				0)["signature"] = flip(d.block(3, 0)["signature"])
		}, "A-34", latest + "0: " + wrongSignature},
		"latest data": {func(d *dialogue) { d.block(3, 1)["data"] = flip(d.block(3, 1)["data"]) }, "A-36",
			latest + "1: " + wrongData},
		"latest data a signature": {func(d *dialogue) { d.block(3, 1)["data"] = d.block(3, 0)["signature"] }, "A-36",
			latest + "1: " + wrongData},
		"latest reordered":        {func(d *dialogue) { d.swap(3, 0, 1) }, "A-37", latest + "0: " + modified},
		"latest first dropped":    {func(d *dialogue) { d.cut(3, 0) }, "A-37", latest + "0: " + modified},
		"latest redacted dropped": {func(d *dialogue) { d.cut(3, 1) }, "A-37", latest + "2: " + modified},
		"latest last dropped":     {func(d *dialogue) { d.cut(3, 3) }, "A-37", latest + "1: " + modified},
		"latest hoisted":          {func(d *dialogue) { d.swap(3, 2, 3) }, "A-37", latest + "2: " + modified},
		"latest all dropped":      {func(d *dialogue) { d.put(3, []any{d.block(3, 2), d.block(3, 4)}) }, "", ""},
		"old thinking used again": {func(d *dialogue) { d.put(3, []any{d.block(1, 0), d.block(3, 4)}) }, "A-37",
			latest + "0: " + modified},
		"old thinking moved": {func(d *dialogue) { d.put(3, []any{d.block(1, 0), d.block(3, 4)}); d.cut(1, 0) },
			"A-37", latest + "0: " + modified},
		"cache mark on a call": {func(d *dialogue) {
			d.block(3,
				4)["cache_control"] = fields{"type": "ephemeral"}
		}, "", ""},
		"signature from elsewhere": {func(d *dialogue) { d.block(1, 0)["signature"] = "EqQBCkYIBRgCKkD" }, "A-34",
			old + wrongSignature},
		"thinking off at a new ask": {func(d *dialogue) { d.body["thinking"] = fields{"type": "disabled"} }, "", ""},
	} {
		d := talk(t, "claude-sonnet-4-6").step(thinks("one"), speaks("s"), invokes()).
			step(thinks("two"), redact, speaks("s"), thinks("three"), invokes())
		c.edit(d)
		d.expect(name, c.id, c.says)
	}
}

// TestReuse holds what a looser level still refuses: thinking that stands in two
// turns, and thinking that stands behind later thinking. Where it came from is
// left to strictness.
func TestReuse(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*dialogue)
		refused bool
	}{
		"in two turns":      {func(d *dialogue) { d.put(5, []any{d.block(1, 0), d.block(5, 1)}); d.cut(3, 0) }, true},
		"behind later":      {func(d *dialogue) { d.put(5, []any{d.block(1, 0), d.block(5, 1)}); d.cut(1, 0) }, true},
		"alone, in another": {func(d *dialogue) { d.put(5, []any{d.block(1, 0), d.block(5, 1)}); d.cut(1, 0); d.cut(3, 0) }, false},
	} {
		d := talk(t, "claude-sonnet-4-6").step(thinks("one"), invokes()).step(thinks("two"),
			invokes()).step(thinks("three"), invokes())
		c.edit(d)
		body := d.encode()
		got := Parse(ask("/v1/messages", body), []byte(body)).Check(rule.Env{Key: env.Key, Level: rule.Live})
		if c.refused != (got != nil && got.Rule == "A-37") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestThinkingLoop holds that the first reply of an open tool loop must think
// and the later ones need not: without interleaving they never do.
func TestThinkingLoop(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*dialogue)
		id   string
	}{
		"as issued":       {func(*dialogue) {}, ""},
		"first unthought": {func(d *dialogue) { d.cut(1, 0) }, "A-38"},
		"a text with the last result": {func(d *dialogue) {
			d.cut(1, 0)
			d.put(4, append(d.content(4), fields{"type": "text", "text": "note"}))
		}, "A-38"},
		"a new prompt between": {func(d *dialogue) {
			d.cut(1, 0)
			d.put(2, append(d.content(2), fields{"type": "text", "text": "note"}))
			d.put(3, append([]any{fields{"type": "thinking", "thinking": "x", "signature": "x"}}, d.content(3)...))
		}, "A-34"},
	} {
		d := talk(t, "claude-sonnet-4-5")
		d.body["thinking"] = fields{"type": "enabled", "budget_tokens": 1024}
		d.step(thinks("one"), invokes()).step(invokes())
		c.edit(d)
		got := check(d.encode())
		if got == nil && c.id != "" || got != nil && got.Rule != c.id {
			t.Errorf("%s: %v, want %q", name, got, c.id)
		}
	}
}

// TestOmitted holds that text in place of withheld text is ignored.
func TestOmitted(t *testing.T) {
	d := talk(t, "claude-opus-4-7").step(thinks(""), invokes())
	d.expect("as issued", "", "")
	d.block(1, 0)["thinking"] = "a summary of one's own"
	d.expect("with text", "", "")
}

func TestForeignSeals(t *testing.T) {
	d := talk(t, "claude-sonnet-4-6").step(thinks("one"), invokes())
	d.block(1, 0)["signature"] = "EqQBCkYIBRgCKkD"
	body := d.encode()
	if got := Parse(ask("/v1/messages", body), []byte(body)).Check(rule.Env{Key: env.Key, ForeignTokens: true}); got != nil {
		t.Error(got)
	}
	d = talk(t, "claude-sonnet-4-6").step(thinks("one"), invokes())
	body = d.encode()
	if got := Parse(ask("/v1/messages", body), []byte(body)).Check(rule.Env{Key: seal.NewKey("other")}); got == nil || got.Rule != "A-34" {
		t.Errorf("another key: %v", got)
	}
}

const (
	boundElsewhere = wrongSignature + ". The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
	needsBeta      = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)

// TestBinding goes through what counts as an edit before bound thinking: three
// turns, in messages 1, 3 and 5.
func TestBinding(t *testing.T) {
	first, second, third := "messages.1.content.0: ", "messages.3.content.0: ", "messages.5.content.0: "
	for name, c := range map[string]struct {
		edit     func(*dialogue)
		id, says string
	}{
		"nothing":    {func(*dialogue) {}, "", ""},
		"appending":  {func(d *dialogue) { d.say("user", "more") }, "", ""},
		"parameters": {func(d *dialogue) { d.body["max_tokens"] = 9; d.body["output_config"] = fields{"effort": "low"} }, "", ""},
		"cache marks": {func(d *dialogue) {
			d.block(2, 0)["cache_control"] = fields{"type": "ephemeral"}
			d.body["tools"].([]any)[0].(fields)["cache_control"] = fields{"type": "ephemeral"}
		}, "", ""},
		"text as a list": {func(d *dialogue) { d.put(0, []any{fields{"type": "text", "text": "hi"}}) }, "", ""},
		"a deferred tool": {func(d *dialogue) {
			d.body["tools"] = append(d.body["tools"].([]any), fields{"name": "g", "defer_loading": true, "input_schema": fields{"type": "object"}})
		}, "", ""},
		"no thinking at all":     {func(d *dialogue) { d.cut(1, 0); d.cut(3, 0); d.cut(5, 0) }, "", ""},
		"the first removed":      {func(d *dialogue) { d.cut(1, 0) }, "", ""},
		"the first two removed":  {func(d *dialogue) { d.cut(1, 0); d.cut(3, 0) }, "", ""},
		"the middle one removed": {func(d *dialogue) { d.cut(3, 0) }, "ANT-B2", third + boundElsewhere + needsBeta + " " + missingThought},
		"system":                 {func(d *dialogue) { d.body["system"] = "Be brief!" }, "A-41", first + boundElsewhere + needsBeta + " " + systemDiffers},
		"a tool reworded":        {func(d *dialogue) { d.body["tools"].([]any)[0].(fields)["description"] = "e" }, "A-41", first + boundElsewhere + needsBeta + " " + toolsDiffer},
		"the first message":      {func(d *dialogue) { d.messages()[0].(fields)["content"] = "ho" }, "A-41", first + boundElsewhere + needsBeta},
		"an earlier result":      {func(d *dialogue) { d.block(2, 0)["content"] = "cleared" }, "A-41", second + boundElsewhere + needsBeta},
		"an earlier input":       {func(d *dialogue) { d.block(1, 1)["input"] = fields{"a": "y"} }, "A-41", second + boundElsewhere + needsBeta},
		"an earlier call's id": {func(d *dialogue) {
			d.block(1, 1)["id"], d.block(2, 0)["tool_use_id"] = "other", "other"
		}, "A-41", second + boundElsewhere + needsBeta},
		"an earlier call alone": {func(d *dialogue) { // its id stands in the result, too
			d.block(1, 1)["name"] = "g"
		}, "A-41", second + boundElsewhere + needsBeta},
		"an earlier result an error": {func(d *dialogue) { d.block(2, 0)["is_error"] = true }, "A-41", second + boundElsewhere + needsBeta},
		"who said the first message": {func(d *dialogue) { d.messages()[0].(fields)["role"] = "assistant" }, "A-41", first + boundElsewhere + needsBeta},
		"a text put in":              {func(d *dialogue) { d.put(2, append(d.content(2), fields{"type": "text", "text": "note"})) }, "A-41", second + boundElsewhere + needsBeta},
		"with the beta": {func(d *dialogue) {
			d.headers = []string{"Anthropic-Beta: " + betaBinding}
			d.body["system"] = "x"
		}, "A-41", first + boundElsewhere + " " + systemDiffers},
		"an altered signature under drop_block": {func(d *dialogue) {
			dropping(d)
			d.block(1, 0)["signature"] = flip(d.block(1, 0)["signature"])
		}, "A-34", first + wrongSignature},
		"drop_block": {func(d *dialogue) { dropping(d); d.body["system"] = "x" }, "", ""},
	} {
		d := talk(t, "claude-fable-5-1").step(thinks("one"), invokes()).step(thinks("two"), invokes()).step(thinks("three"), speaks("end"))
		c.edit(d)
		d.expect(name, c.id, c.says)
	}
}

// Claude Code's attribution block holds a checksum of the request. It does not count;
// everything else of the system prompt does.
func TestAttributionIsNotBound(t *testing.T) {
	system := func(texts ...string) []any {
		var blocks []any
		for _, s := range texts {
			blocks = append(blocks, fields{"type": "text", "text": s})
		}
		return blocks
	}
	const billing = "x-anthropic-billing-header: cc_version=2.1.330.55b; cc_entrypoint=cli; cch="
	for name, c := range map[string]struct {
		system []any
		id     string
	}{
		"another checksum": {system(billing+"5b2c1;", "You are an agent.", "Be kind."), ""},
		"no attribution":   {system("You are an agent.", "Be kind."), ""},
		"another prompt":   {system(billing+"5b2c1;", "You are an agent.", "Be brief."), "A-41"},
		"not the first":    {system("You are an agent.", billing+"72246;", "Be kind."), "A-41"},
	} {
		d := talk(t, "claude-opus-5-5")
		d.body["system"] = system(billing+"72246;", "You are an agent.", "Be kind.")
		d = d.step(thinks("one"), invokes()).step(thinks("two"), speaks("end"))
		d.body["system"] = c.system
		says := ""
		if c.id != "" {
			says = "messages.1.content.0: " + boundElsewhere + needsBeta + " " + systemDiffers
		}
		d.expect(name, c.id, says)
	}
}

func dropping(d *dialogue) {
	d.headers = []string{"Anthropic-Beta: " + betaBinding}
	d.body["thinking"] = fields{"type": "adaptive", "block_binding": fields{"prefix_mismatch_behavior": "drop_block"}}
}

// TestDropBlock follows a conversation whose system prompt changed: what was
// thought before is dropped on every later request, what is thought from then on
// stays (ANT-B4).
func TestDropBlock(t *testing.T) {
	d := talk(t, "claude-opus-5-5").step(thinks("one"), invokes())
	dropping(d)
	d.body["system"] = "Other."
	const entry = `[{"path":"messages.1.content.0","reason":"prefix_binding_mismatch","type":"thinking_dropped"}]`
	for range 3 {
		if got, _ := json.Marshal(d.answer(thinks("two"), invokes())["input_transformations"]); string(got) != entry {
			t.Fatalf("got %s", got)
		}
		d.step(thinks("two"), invokes())
	}
	if got, _ := json.Marshal(talkWith(t, dropping).answer(speaks("x"))["input_transformations"]); string(got) != `[]` {
		t.Errorf("nothing to drop: %s", got)
	}
	if _, ok := talk(t, "claude-opus-5-5").answer(speaks("x"))["input_transformations"]; ok {
		t.Error("transformations without the beta")
	}
}

func talkWith(t *testing.T, prepare func(*dialogue)) *dialogue {
	t.Helper()
	d := talk(t, "claude-opus-5-5")
	prepare(d)
	return d
}

// TestUnreadable holds that thinking of a model that this one cannot read is
// dropped, and said so under the beta.
func TestUnreadable(t *testing.T) {
	d := talk(t, "claude-fable-5-1").step(thinks("one"), invokes())
	d.body["model"] = "claude-opus-5-5"
	d.expect("silently", "", "")
	d.headers = []string{"Anthropic-Beta: " + betaBinding}
	const entry = `[{"path":"messages.1.content.0","reason":"model_binding_mismatch","type":"thinking_dropped"}]`
	if got, _ := json.Marshal(d.answer(speaks("x"))["input_transformations"]); string(got) != entry {
		t.Errorf("got %s", got)
	}
}

// TestSameForStreams holds that a streamed reply has the tokens of a whole one.
func TestSameForStreams(t *testing.T) {
	d := talk(t, "claude-opus-5-5")
	whole := d.answer(thinks("one"), redact, invokes())["content"].([]any)
	d.turn--
	d.body["stream"] = true
	body := d.encode()
	request, _ := Parse(ask("/v1/messages", body), []byte(body)).Turn()
	reply := script.Reply{Request: request, Blocks: []script.Block{thinks("one"), redact, invokes()}, Seed: "s", Key: env.Key, At: time.Unix(0, 0)}
	var stream strings.Builder
	for _, frame := range (Provider{}).Frames(reply) {
		stream.Write(frame)
	}
	for i, field := range []string{"signature", "data"} {
		if token := whole[i].(fields)[field].(string); !strings.Contains(stream.String(), token) {
			t.Errorf("the stream lacks the %s %.20s…", field, token)
		}
	}
}
