package openai

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

var paths = providertest.Paths{Fast: Codec{}.NewParser, General: func(opts stream.Options) stream.Parser {
	d := newDialect(opts)
	d.general = true
	return stream.NewParser(opts, d.asm, d)
}}

// seeds have one of everything that the fast path looks at.
var seeds = [][]byte{
	providertest.Events(created, added(0, openItem),
		`{"type":"response.content_part.added","item_id":"m","output_index":0,"content_index":0,"part":{}}`,
		delta("output_text", 0, `a\ud83d`), delta("output_text", 0, `\ude00 \/`),
		`{"type":"response.output_text.delta","output_index":0,"delta":"x","logprobs":[{"token":"x","logprob":-0.5}]}`,
		`{"type":"response.output_text.done","output_index":0,"text":"x","logprobs":[]}`, done(0, messageItem),
		completed(messageItem)),
	providertest.Events(created, added(1, callItem), delta("function_call_arguments", 1, `{\"a\":`),
		`{"type":"response.function_call_arguments.delta","sequence_number":5,"item_id":"fc","output_index":1,"delta":"1}","obfuscation":"k"}`,
		`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{}"}`, done(1, callItem),
		completed(callItem)),
	providertest.Events(created, added(0, reasoningItem),
		`{"type":"response.reasoning_summary_text.delta","sequence_number":5,"item_id":"rs","output_index":0,"summary_index":0,"delta":"s"}`,
		delta("reasoning_text", 0, "t"), completed(reasoningItem)),
	providertest.Events(created, `{"type":"error","error":{"type":"a","code":"b","message":"c"}}`),
}

func FuzzParser(f *testing.F) { paths.Fuzz(f, "openai", seeds...) }

func TestMutations(t *testing.T) {
	for _, s := range seeds {
		paths.CheckMutations(t, s, 500)
	}
}

// FuzzReply: no body breaks the reader of whole replies.
func FuzzReply(f *testing.F) {
	f.Add([]byte(object("completed", `,"usage":`+usage, reasoningItem, callItem, messageItem)))
	f.Add([]byte(object("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, callItem)))
	f.Add([]byte(`{"error":{"message":"m"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Codec{}.ParseReply(body, stream.Options{})
		again, err2 := Codec{}.ParseReply(body, stream.Options{})
		if providertest.OutcomeOf(r, err) != providertest.OutcomeOf(again, err2) {
			t.Fatal("two readings differ")
		}
	})
}
