package providertest

import (
	"bytes"
	"io"
	"runtime"
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
			case io.EOF: //nolint:errorlint // a floor does nothing that it need not
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
	b.Helper()
	for _, c := range []struct {
		name     string
		events   int
		oneBlock bool
	}{{"200", 200, false}, {"2000", 2000, false}, {"20000", 20000, false}, {"20000-one-block", 20000, true}} {
		body := LongStream(provider, c.events, c.oneBlock)
		b.Run(c.name, func(b *testing.B) { comparePaths(b, body, c.events, newParser) })
	}
}

func comparePaths(b *testing.B, body []byte, events int, newParser func() stream.Parser) {
	b.Helper()
	b.ReportAllocs()
	var ours, floor time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := decodeStream(newParser(), body); err != nil {
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

// CheckAllocations holds a parser to its memory budget on long streams: at most
// half an allocation an event, or three a block where blocks are many; as many on
// a long stream as on a short one; three bytes a byte of payload.
func CheckAllocations(t *testing.T, provider string, newParser func() stream.Parser) {
	t.Helper()
	var short float64
	for _, c := range []struct {
		events   int
		oneBlock bool
	}{{2000, false}, {20000, false}, {20000, true}} {
		body := LongStream(provider, c.events, c.oneBlock)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := decodeStream(newParser(), body)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		allocs := float64(after.Mallocs-before.Mallocs) / float64(c.events)
		size := float64(after.TotalAlloc - before.TotalAlloc)
		t.Logf(
			"%d events, one block %v: %.2f allocations an event, %.2f bytes a byte", c.events, c.oneBlock, allocs,
			size/float64(len(body)),
		)
		if blocks := float64(len(r.Message.Blocks)); allocs > max(0.5, 3*blocks/float64(c.events)) {
			t.Errorf("%d events in %.0f blocks: %.2f allocations an event, want at most 0.5", c.events, blocks, allocs)
		}
		if size > 3*float64(len(body)) {
			t.Errorf(
				"%d events: %.0f bytes allocated for %d, want at most three times as many", c.events, size, len(body),
			)
		}
		if c.events == 2000 {
			short = allocs
		} else if allocs > 1.25*short+0.01 {
			t.Errorf("%d events: %.2f allocations an event, %.2f with 2000 events", c.events, allocs, short)
		}
	}
}

func decodeStream(p stream.Parser, body []byte) (stream.Reply, error) {
	if err := writeChunks(p, body); err != nil {
		return stream.Reply{}, err
	}
	return p.Close()
}
