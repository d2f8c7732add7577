package simulator

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"syscall"
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
			one.Targets = []specs.Target{{Provider: "anthropic", Model: "claude-opus-4-6"}, {Provider: "openai", Model: "gpt-5.5"}, {Provider: "gemini", Model: "gemini-3.5-flash"}}
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

// load sends a request over keep-alive connections of its own and reads the
// answers, as cheaply as a load generator can.
func load(b *testing.B, url string, request []byte) {
	b.Helper()
	b.SetParallelism(16)
	before := processor()
	b.RunParallel(func(pb *testing.PB) {
		conn := must(net.Dial("tcp", strings.TrimPrefix(url, "http://")))
		defer func() { _ = conn.Close() }()
		in := bufio.NewReaderSize(conn, 64<<10)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			resp, err := http.ReadResponse(in, nil)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
			}
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Errorf("%v %v", err, resp)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64((processor()-before).Microseconds())/float64(b.N), "cpu-µs/req")
}

// processor is the time that the process has computed, whatever else the machine
// does: server and load generator together.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmark(b *testing.B, stream bool) {
	b.Helper()
	scenario := shortTurn(b)
	for _, name := range Providers {
		strict := New(Config{Scenario: scenario})
		for kind, h := range map[string]http.Handler{"simulator": strict, "bare": bare(strict, asks[name]("http://x", 0, stream))} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				server := httptest.NewServer(h)
				defer server.Close()
				b.ReportAllocs()
				load(b, server.URL, wire(asks[name](server.URL, 0, stream)))
			})
		}
	}
}

func BenchmarkUnary(b *testing.B)  { benchmark(b, false) }
func BenchmarkStream(b *testing.B) { benchmark(b, true) }

// TestManyStreams holds 2,000 streams open at once and says what each costs.
func TestManyStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("2,000 connections")
	}
	const streams = 2000
	h := New(Config{Scenario: shortTurn(t), Pace: time.Hour})
	server, err := Open(Door{Plain: true}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before := inUse()
	conns, request := make([]net.Conn, streams), wire(asks["anthropic"](server.URL, 0, true))
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
	each := (inUse() - before) / streams
	t.Logf("%d open streams, %d KB each, client included", streams, each>>10)
	if each > 128<<10 {
		t.Errorf("an open stream takes %d bytes", each)
	}
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// inUse is the heap and the stacks after a collection.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// BenchmarkHandler is the simulator alone, without net/http.
func BenchmarkHandler(b *testing.B) {
	h := New(Config{Scenario: shortTurn(b)})
	for _, name := range Providers {
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
