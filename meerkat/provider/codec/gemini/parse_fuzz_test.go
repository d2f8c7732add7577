package gemini

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

var paths = providertest.Paths{Fast: Codec{}.NewParser, General: func(opts stream.Options) stream.Parser {
	d := newDialect(opts)
	d.general = true
	return stream.NewSniffingParser(opts, d.asm, d)
}}

// seeds have one of everything that the fast path looks at.
var seeds = [][]byte{
	providertest.Chunks(chunkOf(`{"text":"a\ud83d","thought":true}`), chunkOf(`{"text":"\ude00 \/","thought" : true}`),
		chunkOf(`{"text":"b"}`, `{"functionCall":{"name":"f","args":{"a":[1]},"id":"i"},"thoughtSignature":"S="}`),
		last("STOP", `{"text":"","thoughtSignature":"T"}`)),
	providertest.Chunks(chunkOf(`{"executableCode":{"code":"1"},"thoughtSignature":"S"}`, `{"thoughtSignature":"U"}`),
		`{"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"index":0,"safetyRatings":[],"finishMessage":"m"}],"createTime":"t","responseId":"R\u0031"}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}`),
	providertest.Chunks(chunkOf(`{"functionCall":{"name":"f","willContinue":true}}`),
		chunkOf(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"x","willContinue":true}],"willContinue":true}}`),
		chunkOf(`{"functionCall":{}}`), last("STOP")),
	[]byte("[" + chunkOf(`{"text":"a"}`) + ",\r\n" + last("STOP", `{"text":"b"}`) + "]"),
	[]byte(`{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}`),
}

func FuzzParser(f *testing.F) { paths.Fuzz(f, "gemini", seeds...) }

func TestMutations(t *testing.T) {
	for _, s := range seeds {
		paths.CheckMutations(t, s, 500)
	}
}
