package providertest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// damagedReplies have @ where a byte is not valid UTF-8: in a text, in the arguments of
// a call, and in a block of an unknown type.
var damagedReplies = []struct {
	name         string
	codec        provider.Codec
	body, events string
}{
	{
		"anthropic", anthropic.Codec{},
		`{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"a@b"},{"type":"future_block","note":"a@b"},{"type":"tool_use","id":"t","name":"n","input":{"p":"a@b"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
		`{"type":"message_start","message":{"id":"m","role":"assistant","model":"claude-opus-4-6","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a@b"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"future_block","note":"a@b"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":\"a@b\"}"}}
{"type":"content_block_stop","index":2}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}
{"type":"message_stop"}`,
	},
	{
		"openai", openai.Codec{},
		`{"id":"r","object":"response","status":"completed","model":"gpt-5.2","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a@b","annotations":[]}]},{"type":"future_item","note":"a@b"},{"type":"function_call","id":"fc","call_id":"c","name":"n","arguments":"{\"p\":\"a@b\"}","status":"completed"}]}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}
{"type":"response.output_text.delta","output_index":0,"delta":"a@b"}
{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a@b","annotations":[]}]}}
{"type":"response.output_item.added","output_index":1,"item":{"type":"future_item","note":"a@b"}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"future_item","note":"a@b"}}
{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"n","arguments":""}}
{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"n","arguments":"{\"p\":\"a@b\"}","status":"completed"}}
{"type":"response.completed","response":{"id":"r","status":"completed","model":"gpt-5.2","output":[]}}`,
	},
	{
		"gemini", gemini.Codec{},
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"a@b"},{"futurePart":{"note":"a@b"}},{"functionCall":{"id":"c","name":"n","args":{"p":"a@b"}}}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"a@b"}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"futurePart":{"note":"a@b"}}]}}]}
{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"n","args":{"p":"a@b"}}}]},"finishReason":"STOP"}]}`,
	},
}

// TestInvalidUTF8 holds that bytes that no provider takes back never become a part of
// a conversation, and that the change is reported, once a reply.
func TestInvalidUTF8(t *testing.T) {
	for _, c := range damagedReplies {
		for byteOfOthers, replaced := range map[string]bool{
			"\xff": true, "\xed\xa0\x80": true, "\xc3": true, "é": false,
		} {
			damage := func(s string) string { return strings.ReplaceAll(s, "@", byteOfOthers) }
			reply, err := c.codec.ParseReply([]byte(damage(c.body)), stream.Options{})
			checkReplaced(t, c.name+" at once", reply, err, replaced)
			p := c.codec.NewParser(stream.Options{})
			for line := range strings.Lines(damage(c.events)) {
				if _, err := p.Write([]byte("data: " + strings.TrimSpace(line) + "\n\n")); err != nil {
					t.Fatal(c.name, err)
				}
			}
			reply, err = p.Close()
			checkReplaced(t, c.name+" as a stream", reply, err, replaced)
		}
	}
}

func checkReplaced(t *testing.T, name string, reply stream.Reply, err error, replaced bool) {
	t.Helper()
	if err != nil {
		t.Fatal(name, err)
	}
	reported := 0
	for _, a := range reply.Anomalies {
		if a.Rule == stream.RuleInvalidUTF8 {
			reported++
		}
	}
	if reported == 1 != replaced || reported > 1 {
		t.Errorf("%s: %v", name, reply.Anomalies)
	}
	if len(reply.Message.Blocks) != 3 {
		t.Fatalf("%s: %+v", name, reply.Message.Blocks)
	}
	for _, b := range reply.Message.Blocks {
		whole := b.Text + string(b.Args) + string(b.Raw)
		if !utf8.ValidString(whole) || replaced != strings.Contains(whole, "a\uFFFD") ||
			b.Type == transcript.BlockToolUse && !json.Valid(b.Args) {
			t.Errorf("%s: %q", name, whole)
		}
	}
}
