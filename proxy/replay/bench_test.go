package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const events = 20

var event = []byte("data: " + strings.Repeat("e", 213) + "\n\n")

// BenchmarkReplay is the rate of replayed streams of 20 events, 32 at once, each
// to a request of its own of 2 KB, from cassettes of three sizes: by players that
// are each asked in the recorded order, and by one replayer that 32 clients share.
// Beside it, in the same rounds, is the rate of a handler that does nothing but
// send such a stream. Read the ratios, each the median of its round's.
func BenchmarkReplay(b *testing.B) {
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range events {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	bare := &contest{name: "bare", size: 1, handler: func() http.Handler { return floor }}
	all := []*contest{bare}
	for _, n := range []int{10, 1000, 10000} {
		recording := streams(b, n)
		each := func() http.Handler { return fresh(b, recording) }
		all = append(all, &contest{name: fmt.Sprint(n), size: n, handler: each})
		if n >= workers*requests {
			all = append(all, &contest{name: fmt.Sprint(n, "-shared"), size: n, handler: each, shared: true})
		}
	}
	for b.Loop() {
		for _, c := range all {
			c.rates = append(c.rates, c.rate(b))
		}
	}
	for _, c := range all {
		b.ReportMetric(median(c.rates), c.name+"-req/s")
		if c != bare {
			ratios := slices.Clone(c.rates)
			for i := range ratios {
				ratios[i] /= bare.rates[i]
			}
			b.ReportMetric(median(ratios), c.name+"/bare")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// contest is one of the handlers whose rates are compared.
type contest struct {
	name    string
	size    int // of its cassette
	handler func() http.Handler
	shared  bool // by all workers; otherwise each has its own
	rates   []float64
}

// What is asked in one round: few enough that a round is over before the machine
// has other things to do.
const workers, requests = 32, 60

func request(i int) string {
	return fmt.Sprintf(`{"model":"%d","messages":[{"role":"assistant","content":"a"},{"role":"user","content":"%s"}]}`,
		i, strings.Repeat("p", 2000))
}

func streams(b *testing.B, n int) *cassette.Cassette {
	b.Helper()
	ins := make([]cassette.Interaction, n)
	for i := range ins {
		ins[i] = streamOf(i)
	}
	return newCassette(b, ins...)
}

// streamOf is an interaction whose reply is a stream of 20 events.
func streamOf(i int) cassette.Interaction {
	in := pair(request(i), string(bytes.Repeat(event, events)))
	in.Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
	for range events {
		in.Timeline = append(in.Timeline, cassette.Chunk{Length: len(event)})
	}
	return in
}

func fresh(b *testing.B, c *cassette.Cassette) http.Handler {
	b.Helper()
	p, err := New(Config{Cassette: c, Redactor: masked{}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// rate serves one round and returns requests a second.
func (c *contest) rate(b *testing.B) float64 {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(serveFor))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	if c.shared {
		one := c.handler()
		for worker := range workers {
			players.Store(strconv.Itoa(worker), one)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for worker := range workers {
		wg.Go(func() {
			for i := range requests {
				n := i % c.size
				switch {
				case c.shared:
					n = int(next.Add(1)) - 1
				case n == 0:
					players.Store(strconv.Itoa(worker), c.handler())
				}
				if err := fetch(client, server.URL, worker, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return workers * requests / time.Since(begin).Seconds()
}

func fetch(client *http.Client, server string, worker, n int) error {
	resp, err := client.Post(server+"/v1/messages", strconv.Itoa(worker), strings.NewReader(request(n)))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.Copy(io.Discard, resp.Body)
	if err == nil && got != int64(events*len(event)) {
		err = fmt.Errorf("status %d, %d bytes", resp.StatusCode, got)
	}
	return err
}

var players sync.Map // by worker, which its requests name as content type

// serveFor is an ingress without TLS: absolute URL, each Write flushed but the last.
func serveFor(w http.ResponseWriter, r *http.Request) {
	h, _ := players.Load(r.Header.Get("Content-Type"))
	r.URL.Scheme, r.URL.Host = "https", "api.anthropic.com"
	h.(http.Handler).ServeHTTP(&flushing{w, http.NewResponseController(w)}, r)
}

type flushing struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *flushing) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = w.control.Flush()
	}
	return n, err
}

func (w *flushing) WriteEnd(last []byte) (int, error) { return w.ResponseWriter.Write(last) }

func (w *flushing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// BenchmarkLookUp is what finding and reading an answer costs, without a
// network, by level and by the cassette's size: in the recorded order, and in
// the reverse one. Each table is complete before the clock runs.
func BenchmarkLookUp(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		recording := streams(b, n)
		for _, order := range []string{"recorded", "reverse"} {
			for l := Exact; l < levels; l++ {
				b.Run(fmt.Sprintf("%d/%s/%s", n, order, l), func(b *testing.B) { lookUp(b, recording, order, l) })
			}
		}
	}
}

func lookUp(b *testing.B, recording *cassette.Cassette, order string, l Level) {
	b.Helper()
	n := recording.Len()
	bodies := make([]string, n)
	for i := range bodies {
		at := i
		if order == "reverse" {
			at = n - 1 - i
		}
		bodies[i] = differing(request(at), l)
	}
	var p *Replayer
	done := 0
	b.ResetTimer()
	for b.Loop() {
		if done%n == 0 {
			b.StopTimer()
			p = fresh(b, recording).(*Replayer)
			p.cfg.Match = l
			for l := identical; l <= p.cfg.Match; l++ {
				p.index.acquire(l, digest{}) // reads all
			}
			b.StartTimer()
		}
		r, _ := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(bodies[done%n]))
		q := p.newLookup(r, []byte(bodies[done%n]))
		if found := p.findAnswer(q); found.reason != "" {
			b.Fatalf("%s: %.40s", found.reason, bodies[done%n])
		}
		done++
	}
}

// differing is a request that is equal at a level and at none before.
func differing(body string, l Level) string {
	switch l {
	case Exact:
		return body
	case Anchored:
		return strings.Replace(body, "{", `{"system":1,`, 1)
	case Shape:
		return strings.Replace(body, `"a"`, `"b"`, 1)
	default:
		return strings.Replace(body, "pp", "q", 1)
	}
}
