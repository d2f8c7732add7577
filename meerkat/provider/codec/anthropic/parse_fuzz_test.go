package anthropic

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
	message("tool_use",
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a\ud83d"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00 \/"} }`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"E=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{},"caller":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_stop","index":1}`),
	message("end_turn",
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"a":[1]}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_stop","index":0}`),
	providertest.Events(head, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
}

func FuzzParser(f *testing.F) { paths.Fuzz(f, "anthropic", seeds...) }

func TestMutations(t *testing.T) {
	for _, s := range seeds {
		paths.CheckMutations(t, s, 500)
	}
}

// FuzzReply: no body breaks the reader of whole replies.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":"m","type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"i","name":"n","input":{}}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`))
	f.Add([]byte(`{"type":"error","error":{"type":"a","message":"b"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Codec{}.ParseReply(body, stream.Options{})
		again, err2 := Codec{}.ParseReply(body, stream.Options{})
		if providertest.OutcomeOf(r, err) != providertest.OutcomeOf(again, err2) {
			t.Fatal("two readings differ")
		}
	})
}
