package anthropic

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// flawed lists the recordings that strict mode refuses, with the words of the
// refusal. Lenient mode reads them.
var flawed = map[string]string{
	// The source rewrote the body and lost the last line feed.
	"rig__anthropic.prompt_caching.streaming_prompt_caching_reuses_tool_cache/02": "no message_stop; unterminated_event",
}

// TestCorpusStreams: every recorded stream decodes, both paths and all splits
// agree. The module oracle holds the blocks against those of the official SDK.
func TestCorpusStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n, blocks := 0, 0
	for _, e := range providertest.Corpus(t, "anthropic") {
		if e.Status != 200 || !e.Streamed() {
			continue
		}
		n++
		outcome := string(paths.Check(t, e.Body, rng))
		want, isFlawed := flawed[e.Name]
		if !strings.HasSuffix(outcome, "error <nil>\n") && (!isFlawed || !strings.Contains(outcome, want)) {
			t.Errorf("%s: %s", e.Name, outcome[strings.LastIndex(outcome, "error"):])
		}
		r, err := parse(stream.Options{Lenient: true}, e.Body)
		if err != nil {
			t.Errorf("%s: lenient: %v", e.Name, err)
		}
		blocks += len(r.Message.Blocks)
	}
	t.Logf("%d streams, %d blocks", n, blocks)
}

// flat is what two independent readings of a block must share.
type flat struct {
	Kind, Text, ID, Name, Args, Token string
}

func flatten(blocks []transcript.Block) []flat {
	out := []flat{}
	for _, b := range blocks {
		f := flat{Kind: string(b.Type), Text: b.Text, ID: b.ID, Name: b.Name, Args: string(b.Args)}
		if b.Meta != nil {
			f.Token = b.Meta.Signature + b.Meta.Data
		}
		if b.Type == transcript.BlockOpaque {
			f = flat{Kind: b.Kind, Args: normal(b.Raw)}
		}
		out = append(out, f)
	}
	return out
}

// normal returns JSON without spelling: keys sorted, no white space.
func normal(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "no JSON: " + string(raw)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestCorpusRawReplays: the raw form of every streamed block is the block that
// its fields give, so that sending it back loses nothing.
func TestCorpusRawReplays(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "anthropic") {
		if e.Status != 200 || !e.Streamed() {
			continue
		}
		r, _ := parse(stream.Options{Lenient: true}, e.Body)
		for _, b := range r.Message.Blocks {
			if b.Raw == nil {
				continue
			}
			n++
			again, _, err := newDialect(stream.Options{}).readBlock(b.Raw)
			again.Raw = b.Raw
			if d := cmp.Diff(
				flatten([]transcript.Block{b}), flatten([]transcript.Block{again}),
			); d != "" || err != nil {
				t.Errorf("%s: %v\n%s", e.Name, err, d)
			}
		}
	}
	t.Logf("%d raw blocks", n)
}

// TestCorpusReplies: every whole reply decodes, and the same message as a
// stream gives the same blocks.
func TestCorpusReplies(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	n := 0
	for _, e := range providertest.Corpus(t, "anthropic") {
		if e.Status != 200 || e.Streamed() {
			continue
		}
		n++
		whole, err := Codec{}.ParseReply(e.Body, stream.Options{})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		streamed, err := parse(stream.Options{}, restream(t, e.Body, rng))
		if err != nil {
			t.Errorf("%s as a stream: %v", e.Name, err)
		}
		if d := cmp.Diff(
			flatten(whole.Message.Blocks), flatten(streamed.Message.Blocks),
		); d != "" || whole.Message.StopReason != streamed.Message.StopReason {
			t.Errorf("%s: %s, %s\n%s", e.Name, whole.Message.StopReason, streamed.Message.StopReason, d)
		}
		if d := cmp.Diff(whole.Usage, streamed.Usage); d != "" {
			t.Errorf("%s: usage\n%s", e.Name, d)
		}
	}
	t.Logf("%d replies", n)
}

// restream writes a message as the stream that would have brought it.
func restream(t *testing.T, body []byte, rng *rand.Rand) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	var blocks []map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil || json.Unmarshal(m["content"], &blocks) != nil {
		t.Fatal("no message")
	}
	stop, _ := json.Marshal(m["stop_reason"])
	usage, _ := json.Marshal(m["usage"]) // compact: an event is one line
	m["content"], m["stop_reason"] = json.RawMessage("[]"), json.RawMessage("null")
	start, _ := json.Marshal(m)
	events := []string{`{"type":"message_start","message":` + string(start) + `}`}
	for i, b := range blocks {
		events = append(events, restreamBlock(i, b, rng)...)
	}
	events = append(
		events, `{"type":"message_delta","delta":{"stop_reason":`+string(stop)+`},"usage":`+string(usage)+`}`, finish,
	)
	return providertest.Events(events...)
}

func restreamBlock(i int, b map[string]json.RawMessage, rng *rand.Rand) []string {
	var deltas []string
	delta := func(kind, name string, value json.RawMessage) {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value) // an input object becomes text
		}
		for len(s) > 0 {
			n := 1 + rng.IntN(len(s))
			for n < len(s) && s[n]&0xC0 == 0x80 {
				n++
			}
			piece, _ := json.Marshal(s[:n])
			deltas = append(deltas, event(
				"content_block_delta", i, `"delta":{"type":"`+kind+`","`+name+`":`+string(piece)+`}`,
			))
			s = s[n:]
		}
	}
	switch string(b["type"]) {
	case `"text"`:
		delta("text_delta", "text", b["text"])
		b["text"] = json.RawMessage(`""`)
	case `"thinking"`:
		delta("thinking_delta", "thinking", b["thinking"])
		delta("signature_delta", "signature", b["signature"])
		b["thinking"], b["signature"] = json.RawMessage(`""`), json.RawMessage(`""`)
	case `"tool_use"`, `"server_tool_use"`, `"mcp_tool_use"`:
		delta("input_json_delta", "partial_json", b["input"])
		b["input"] = json.RawMessage(`{}`)
	}
	start, _ := json.Marshal(b)
	out := []string{event("content_block_start", i, `"content_block":`+string(start))}
	return append(append(out, deltas...), event("content_block_stop", i, ""))
}

func event(kind string, i int, rest string) string {
	index, _ := json.Marshal(i)
	if rest != "" {
		rest = "," + rest
	}
	return `{"type":"` + kind + `","index":` + string(index) + rest + `}`
}

// TestEverySplit cuts short recordings, and one with everything in it, at every
// byte.
func TestEverySplit(t *testing.T) {
	paths.CheckEverySplit(t, message("end_turn",
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, ping,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é\ud83d\ude00"}}`,
		`{"type":"content_block_stop","index":0}`))
	n := 0
	for _, e := range providertest.Corpus(t, "anthropic") {
		if e.Status == 200 && e.Streamed() && len(e.Body) < 4000 && n < 12 {
			n++
			paths.CheckEverySplit(t, e.Body)
		}
	}
}
