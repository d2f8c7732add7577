package oracle

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// BenchmarkAssemble times stream decoding and assembly: ours, the official
// SDK, and a bare JSON tokeniser over the same bytes, in one run. Read the
// ratios; the machine is not quiet.
func BenchmarkAssemble(b *testing.B) {
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		for _, one := range []bool{false, true} {
			for _, events := range []int{200, 2000, 20000} {
				if one && events != 20000 {
					continue
				}
				body := judgeable(providertest.LongStream(provider, events, one))
				b.Run(fmt.Sprintf("%s/%s/%d", provider, shape(one), events),
					func(b *testing.B) { compare(b, provider, body) })
			}
		}
	}
}

func shape(one bool) string {
	if one {
		return "oneblock"
	}
	return "mix"
}

// compare lets the three take turns, so that a busy moment hits all of them.
// Garbage is collected between the turns: no turn pays for another's.
func compare(b *testing.B, provider string, body []byte) {
	b.Helper()
	turns := []func() error{
		func() error { return assemble(provider, body) },
		func() error { return accumulate(provider, body) },
		func() error { _, err := providertest.Tokenise(body); return err },
	}
	took := make([]time.Duration, len(turns))
	repeat := 1 + 1<<20/len(body) // short streams in batches: a turn begins with cold caches
	for b.Loop() {
		for i, turn := range turns {
			runtime.GC()
			start := time.Now()
			for range repeat {
				if err := turn(); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(start)
		}
	}
	ours, sdk, floor := took[0].Seconds(), took[1].Seconds(), took[2].Seconds()
	b.ReportMetric(float64(len(body)*repeat*b.N)/1e6/ours, "MB/s")
	b.ReportMetric(sdk/ours, "x-sdk")
	b.ReportMetric(floor/ours, "x-tokeniser")
	b.ReportMetric(0, "ns/op")
}

func assemble(provider string, body []byte) error {
	parsers := map[string]func(stream.Options) stream.Parser{
		"anthropic": anthropic.Codec{}.NewParser, "openai": openai.Codec{}.NewParser,
		"gemini": gemini.Codec{}.NewParser,
	}
	p := parsers[provider](stream.Options{})
	// Network-sized pieces, as a client would feed them.
	for rest := body; len(rest) > 0; {
		n := min(len(rest), 32<<10)
		if _, err := p.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	_, err := p.Close()
	return err
}

func accumulate(provider string, body []byte) error {
	var err error
	switch provider {
	case "anthropic":
		_, err = AccumulateAnthropic(body)
	case "openai":
		_, err = FinalOpenAI(body)
	default:
		err = eachGemini(body, func(*genai.GenerateContentResponse) error { return nil })
	}
	return err
}
