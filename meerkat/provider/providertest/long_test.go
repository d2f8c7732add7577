package providertest_test

import (
	"bytes"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// TestLongStream: long streams are valid, as long as asked for, one block where
// asked for, and the same every time.
func TestLongStream(t *testing.T) {
	parsers := map[string]func(stream.Options) stream.Parser{
		"anthropic": anthropic.Codec{}.NewParser, "openai": openai.Codec{}.NewParser,
		"gemini": gemini.Codec{}.NewParser,
	}
	for provider, newParser := range parsers {
		for _, oneBlock := range []bool{false, true} {
			body := providertest.LongStream(provider, 1000, oneBlock)
			events := len(providertest.Payloads(body))
			if events < 1000 || events > 3000 || (oneBlock && events > 1001) {
				t.Errorf("%s: %d events, want about 1000", provider, events)
			}
			p := newParser(stream.Options{})
			_, _ = p.Write(body)
			r, err := p.Close()
			if err != nil || (len(r.Message.Blocks) == 1) != oneBlock && !synthetic() {
				t.Errorf("%s, one block %v: %d blocks, %v", provider, oneBlock, len(r.Message.Blocks), err)
			}
			if !bytes.Equal(body, providertest.LongStream(provider, 1000, oneBlock)) {
				t.Errorf("%s: two calls differ", provider)
			}
		}
	}
	if tokens, err := providertest.Tokenise(providertest.LongStream("openai", 100, false)); err != nil ||
		tokens < 1000 {
		t.Errorf("Tokenise: %d tokens, %v", tokens, err)
	}
}

// synthetic reports that there is no corpus: then all deltas are of one block.
func synthetic() bool {
	_, ok := corpus.Find()
	return !ok
}
