package simulator

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

// pieces records what a handler writes, flush by flush.
type pieces struct {
	*httptest.ResponseRecorder
	writes [][]byte
	seen   int
}

func (p *pieces) Flush() {
	p.writes = append(p.writes, bytes.Clone(p.Body.Bytes()[p.seen:]))
	p.seen = p.Body.Len()
}

// bare is a handler that reads the request and writes the bytes that h writes,
// in the same pieces: what net/http costs without a simulator.
func bare(h http.Handler, r *http.Request) http.Handler {
	p := &pieces{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(p, r)
	header, code, rest := p.Header(), p.Code, p.Body.Bytes()[p.seen:]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		maps.Copy(w.Header(), header)
		w.WriteHeader(code)
		out := http.NewResponseController(w)
		for _, chunk := range p.writes {
			_, _ = w.Write(chunk)
			_ = out.Flush()
		}
		_, _ = w.Write(rest)
	})
}

// shortTurn is one thought, one call: a short stream.
func shortTurn(tb testing.TB) *specs.Scenario {
	tb.Helper()
	for _, s := range must(specs.Scenarios()) {
		if s.Name == "thinking-tool-loop" {
			one := *s
			one.Targets = []specs.Target{{Provider: "anthropic", Model: "claude-opus-4-6"},
				{Provider: "openai", Model: "gpt-5.5"}, {Provider: "gemini", Model: "gemini-3.5-flash"}}
			return &one
		}
	}
	tb.Fatal("no scenario")
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// wire is a request as it goes over the wire, again and again.
func wire(r *http.Request) []byte {
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// clients are connections of a load generator that costs as little as one can.
type clients []*bufio.ReadWriter

func dial(b *testing.B, url string) clients {
	b.Helper()
	all := make(clients, 16)
	for i := range all {
		conn := must(net.Dial("tcp", strings.TrimPrefix(url, "http://")))
		b.Cleanup(func() { _ = conn.Close() })
		all[i] = bufio.NewReadWriter(bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10))
	}
	return all
}

// ask sends a request so many times over the connections and reads the answers.
func (c clients) ask(b *testing.B, request []byte, times int) {
	b.Helper()
	var all sync.WaitGroup
	for i, client := range c {
		all.Go(func() {
			for n := i; n < times; n += len(c) {
				_, _ = client.Write(request) // Flush tells
				err := client.Flush()
				resp, failed := http.ReadResponse(client.Reader, nil)
				if err = errors.Join(err, failed); err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Errorf("%v %v", err, resp)
					return
				}
			}
		})
	}
	all.Wait()
}

// cost is what some requests took.
type cost struct{ wall, cpu time.Duration }

func (c *cost) add(f func()) {
	wall, cpu := time.Now(), processorTime()
	f()
	c.wall += time.Since(wall)
	c.cpu += processorTime() - cpu
}

// BenchmarkServer lets the simulator and a bare handler that writes the same bytes
// in the same pieces take turns in one run, and says how much of the bare
// handler's speed is left: of its rate, and of its requests per CPU second, which
// a busy machine disturbs less.
func BenchmarkServer(b *testing.B) {
	simulated := New(Config{Scenario: shortTurn(b)})
	for _, name := range Providers() {
		for kind, stream := range map[string]bool{"unary": false, "stream": true} {
			b.Run(name+"/"+kind, func(b *testing.B) { compare(b, simulated, asks[name], stream) })
		}
	}
}

func compare(b *testing.B, simulated http.Handler, ask ask, stream bool) {
	b.Helper()
	const round = 160
	handlers := []http.Handler{simulated, bare(simulated, ask("http://x", 0, stream))}
	costs, rounds := make([]cost, len(handlers)), make([]func(), len(handlers))
	for i, h := range handlers {
		server := httptest.NewServer(h)
		b.Cleanup(server.Close)
		all, request := dial(b, server.URL), wire(ask(server.URL, 0, stream))
		rounds[i] = func() { costs[i].add(func() { all.ask(b, request, round) }) }
		all.ask(b, request, round)
	}
	n := 0
	for b.Loop() {
		for _, f := range rounds {
			f()
		}
		n += round
	}
	rate := func(d time.Duration) float64 { return float64(n) / d.Seconds() }
	ours, theirs := costs[0], costs[1]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate(ours.wall), "req/s")
	b.ReportMetric(rate(theirs.wall), "bare-req/s")
	b.ReportMetric(100*rate(ours.wall)/rate(theirs.wall), "%-of-rate")
	b.ReportMetric(float64(ours.cpu.Microseconds())/float64(n), "cpu-µs/req")
	b.ReportMetric(float64(theirs.cpu.Microseconds())/float64(n), "bare-cpu-µs/req")
	b.ReportMetric(100*rate(ours.cpu)/rate(theirs.cpu), "%-by-cpu")
}

// TestManyStreams holds 2,000 streams open at once and says what each costs, and
// what a bare handler's would.
func TestManyStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 connections")
	}
	ask := func() *http.Request { return asks["anthropic"]("http://x", 0, true) }
	w := httptest.NewRecorder()
	New(Config{Scenario: shortTurn(t)}).ServeHTTP(w, ask())
	first := bytes.SplitAfter(w.Body.Bytes(), []byte("\n\n"))[0]
	ours := held(t, New(Config{Scenario: shortTurn(t), Pace: time.Hour}), ask())
	theirs := held(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(first)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), ask())
	t.Logf("%d open streams, %.1f KB each, of a bare handler %.1f KB, client included", heldStreams, float64(ours)/1024,
		float64(theirs)/1024)
	if ours > 64<<10 {
		t.Errorf("an open stream takes %d bytes", ours)
	}
}

const heldStreams = 2000

// held opens streams and returns the bytes that each takes.
func held(t *testing.T, h http.Handler, r *http.Request) int {
	t.Helper()
	server, err := Open(ListenConfig{Plain: true}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before := inUse()
	conns, request := make([]net.Conn, heldStreams), wire(r)
	var failed sync.Map
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
			if err == nil {
				_, err = conn.Write(request)
				conns[i] = conn
			}
			if err == nil {
				_, err = conn.Read(make([]byte, 64)) // the stream has begun
			}
			if err != nil {
				failed.Store(i, err)
			}
		})
	}
	all.Wait()
	failed.Range(func(i, err any) bool { t.Errorf("stream %d: %v", i, err); return true })
	each := (inUse() - before) / heldStreams
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
	return each
}

// inUse is the heap and the stacks after a collection.
func inUse() int {
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// BenchmarkHandler is the simulator alone, without net/http.
func BenchmarkHandler(b *testing.B) {
	h := New(Config{Scenario: shortTurn(b)})
	for _, name := range Providers() {
		for _, stream := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/stream=%t", name, stream), func(b *testing.B) {
				r := asks[name]("http://x", 0, stream)
				body := must(io.ReadAll(r.Body))
				b.ReportAllocs()
				for b.Loop() {
					r.Body = io.NopCloser(bytes.NewReader(body))
					h.ServeHTTP(&sink{header: http.Header{}}, r)
				}
			})
		}
	}
}

// sink is a writer that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}
