package openai

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

func BenchmarkParser(b *testing.B) {
	providertest.Bench(b, "openai", func() stream.Parser { return Codec{}.NewParser(stream.Options{}) })
}

func TestAllocations(t *testing.T) {
	providertest.CheckAllocations(t, "openai", func() stream.Parser { return Codec{}.NewParser(stream.Options{}) })
}
