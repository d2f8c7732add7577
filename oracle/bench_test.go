package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/meerkat-go/conformance/meerkat/provider/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/openai"
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
				name := fmt.Sprintf("%s/%s/%d", provider, shape(one), events)
				b.Run(name+"/ours", func(b *testing.B) { run(b, body, func() error { return assemble(provider, body) }) })
				b.Run(name+"/sdk", func(b *testing.B) { run(b, body, func() error { return accumulate(provider, body) }) })
				b.Run(name+"/tokenise", func(b *testing.B) { run(b, body, func() error { return tokenise(body) }) })
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

func run(b *testing.B, body []byte, f func() error) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
}

func assemble(provider string, body []byte) error {
	parsers := map[string]func(stream.Options) stream.Parser{
		"anthropic": anthropic.NewParser, "openai": openai.NewParser, "gemini": gemini.NewParser,
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

// tokenise frames by line and reads every JSON token, and keeps nothing: what
// any decoder that looks at all bytes with a general tokeniser has to pay.
func tokenise(body []byte) error {
	var dec jsontext.Decoder
	var data bytes.Reader
	for line := range bytes.Lines(body) {
		payload, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		data.Reset(payload)
		dec.Reset(&data)
		for {
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
