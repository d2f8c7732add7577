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
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const events = 20

var event = []byte("data: " + strings.Repeat("e", 213) + "\n\n")

// BenchmarkReplay is the rate of replayed streams of 20 events, 32 at once, each
// to a request of its own of 2 KB, from cassettes of three sizes; beside it the
// rate of a handler that does nothing but send such a stream. Read the ratios.
func BenchmarkReplay(b *testing.B) {
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range events {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	sizes := []int{10, 1000, 10000}
	tapes := map[int]*cassette.Cassette{}
	for _, n := range sizes {
		tapes[n] = streams(b, n)
	}
	rates := map[string][]float64{}
	for b.Loop() {
		rates["bare"] = append(rates["bare"], rate(b, func() http.Handler { return floor }, 10000))
		for _, n := range sizes {
			name := fmt.Sprint(n)
			rates[name] = append(rates[name], rate(b, func() http.Handler { return fresh(b, tapes[n]) }, n))
		}
	}
	bare := median(rates["bare"])
	b.ReportMetric(bare, "bare-req/s")
	for _, n := range sizes {
		b.ReportMetric(median(rates[fmt.Sprint(n)]), fmt.Sprint(n, "-req/s"))
		b.ReportMetric(median(rates[fmt.Sprint(n)])/bare, fmt.Sprint(n, "/bare"))
	}
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func request(i int) string {
	return fmt.Sprintf(`{"n":%d,"prompt":"%s"}`, i, strings.Repeat("p", 2000))
}

func streams(b *testing.B, n int) *cassette.Cassette {
	b.Helper()
	ins := make([]cassette.Interaction, n)
	for i := range ins {
		ins[i] = pair(request(i), string(bytes.Repeat(event, events)))
		ins[i].Response.Header = http.Header{"Content-Type": {"text/event-stream"}}
		for range events {
			ins[i].Timeline = append(ins[i].Timeline, cassette.Chunk{Length: len(event)})
		}
	}
	return tape(b, ins...)
}

func fresh(b *testing.B, c *cassette.Cassette) http.Handler {
	b.Helper()
	p, err := New(Config{Cassette: c, Redactor: masked{}})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// rate serves a fixed number of requests; each worker goes through a whole
// cassette, again and again, with a player of its own.
func rate(b *testing.B, handler func() http.Handler, cassetteSize int) float64 {
	b.Helper()
	const workers, each = 32, 300
	server := httptest.NewServer(http.HandlerFunc(serveFor))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	begin := time.Now()
	for worker := range workers {
		wg.Go(func() {
			for i := range each {
				if i%cassetteSize == 0 {
					players.Store(strconv.Itoa(worker), handler())
				}
				resp, err := client.Post(server.URL+"/v1/messages", strconv.Itoa(worker), strings.NewReader(request(i%cassetteSize)))
				if err != nil {
					b.Error(err)
					return
				}
				n, _ := io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if n != int64(events*len(event)) {
					b.Errorf("status %d, %d bytes", resp.StatusCode, n)
					return
				}
			}
		})
	}
	wg.Wait()
	return workers * each / time.Since(begin).Seconds()
}

var players sync.Map // by worker, which its requests name as content type

// serveFor is a door without TLS: absolute URL, each Write flushed.
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

func (w *flushing) Unwrap() http.ResponseWriter { return w.ResponseWriter }
