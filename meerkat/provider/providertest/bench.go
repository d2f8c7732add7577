package providertest

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Tokenise frames an event stream and reads every JSON token of every event
// with the jsontext tokeniser, doing nothing with them. It is the floor that
// decoders are measured against. It returns the number of tokens.
func Tokenise(body []byte) (tokens int, err error) {
	buf := new(bytes.Buffer)
	dec := jsontext.NewDecoder(buf, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	s := stream.NewSSE(0, func(f *stream.Frame) error {
		*buf = *bytes.NewBuffer(f.Data)
		dec.Reset(buf, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		for {
			switch _, err := dec.ReadToken(); err {
			case nil:
				tokens++
			case io.EOF:
				return nil
			default:
				return err
			}
		}
	})
	err = writeChunks(s, body)
	return tokens, err
}

// chunk is the size of the pieces that benchmarks deliver: what net/http reads
// at once.
const chunk = 32 << 10

func writeChunks(w io.Writer, body []byte) error {
	for len(body) > 0 {
		n := min(chunk, len(body))
		if _, err := w.Write(body[:n]); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

// Bench measures parsers of one provider on long streams of several lengths,
// turn by turn with Tokenise, so that both see the same machine: x-tokeniser is
// how many times as fast as the tokeniser the parser is. Every parser must get
// through without an error.
func Bench(b *testing.B, provider string, newParser func() stream.Parser) {
	for _, c := range []struct {
		name     string
		events   int
		oneBlock bool
	}{{"200", 200, false}, {"2000", 2000, false}, {"20000", 20000, false}, {"20000-one-block", 20000, true}} {
		body := LongStream(provider, c.events, c.oneBlock)
		b.Run(c.name, func(b *testing.B) { compare(b, body, c.events, newParser) })
	}
}

func compare(b *testing.B, body []byte, events int, newParser func() stream.Parser) {
	b.ReportAllocs()
	var ours, floor time.Duration
	for b.Loop() {
		start := time.Now()
		if err := decode(newParser(), body); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		b.StopTimer()
		start = time.Now()
		if _, err := Tokenise(body); err != nil {
			b.Fatal(err)
		}
		floor += time.Since(start)
		b.StartTimer()
	}
	mbps := func(d time.Duration) float64 { return float64(len(body)) * float64(b.N) / 1e6 / d.Seconds() }
	b.ReportMetric(mbps(ours), "MB/s")
	b.ReportMetric(mbps(floor), "tokeniser-MB/s")
	b.ReportMetric(floor.Seconds()/ours.Seconds(), "x-tokeniser")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

func decode(p stream.Parser, body []byte) error {
	if err := writeChunks(p, body); err != nil {
		return err
	}
	_, err := p.Close()
	return err
}
