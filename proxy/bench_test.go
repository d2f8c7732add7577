package proxy_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// The benchmarks compare ways to one upstream, in turns within one run, so that
// the machine's mood is the same for all: read the ratios.
//
//	direct     no proxy
//	goproxy    goproxy's own MITM with an ECDSA authority and a certificate store
//	pass       this proxy, keeping nothing
//	recording  this proxy, recording: redactor, gate, cassette and disk included

// way is one way to the upstream.
type way struct {
	name   string
	client *http.Client
	url    string
	saved  func(n int) // waits until n interactions are saved, if any are
}

// ways starts every way to an upstream that answers with h.
func ways(b *testing.B, h http.HandlerFunc) []way {
	b.Helper()
	upstream := httptest.NewTLSServer(h)
	b.Cleanup(upstream.Close)
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	return []way{
		{"direct", benchClient(b, "", roots), upstream.URL, func(int) {}},
		peer(b, upstream.URL, roots),
		ours(b, "pass", upstream.URL, roots),
		ours(b, "recording", upstream.URL, roots),
	}
}

func benchClient(b *testing.B, through string, roots *x509.CertPool) *http.Client {
	b.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 512,
		DisableCompression: true}
	if through != "" {
		u, err := url.Parse(through)
		if err != nil {
			b.Fatal(err)
		}
		tr.Proxy = http.ProxyURL(u)
	}
	b.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func ours(b *testing.B, name, upstream string, roots *x509.CertPool) way {
	b.Helper()
	transport, err := proxy.NewTransport(map[string]string{"anthropic": upstream}, roots)
	if err != nil {
		b.Fatal(err)
	}
	cfg := record.Config{Transport: transport}
	var recording *noted
	if name == "recording" {
		redactor, guard := redact.New(nil), gate.New()
		out, err := cassette.Create(filepath.Join(b.TempDir(), "x.yaml"),
			cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		recording = &noted{Writer: out, grew: make(chan struct{}, 1)}
		cfg.Writer, cfg.Redactor, cfg.Gate = recording, guard.Watch(redactor), guard.Check
	}
	rec, err := record.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	a := authority(b)
	p := start(b, proxy.Config{CA: a}, rec.ServeHTTP)
	client := benchClient(b, p.URL(), a.Pool())
	b.Cleanup(func() {
		client.CloseIdleConnections()
		_ = p.Close(context.Background())
		if r := rec.Close(); len(r.Lost)+len(r.Refused) > 0 {
			b.Errorf("lost %v, refused %v", r.Lost, r.Refused)
		}
		if recording != nil {
			_ = recording.Discard()
		}
		transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	})
	saved := func(n int) {
		for recording != nil && recording.Len() < n {
			<-recording.grew
		}
	}
	return way{name, client, "https://" + host + "/v1/messages", saved}
}

// noted tells waiting callers that the recording grew.
type noted struct {
	*cassette.Writer
	grew chan struct{}
}

func (n *noted) AppendAll(ins []cassette.Interaction) []error {
	errs := n.Writer.AppendAll(ins)
	select {
	case n.grew <- struct{}{}:
	default: // the last notice is still unread
	}
	return errs
}

// peer is goproxy as it is best used by itself.
func peer(b *testing.B, upstream string, roots *x509.CertPool) way {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		b.Fatal(err)
	}
	signing := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}
	gp := goproxy.NewProxyHttpServer()
	gp.CertStore = &certStore{}
	gp.Tr = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 512,
		DisableCompression: true}
	gp.KeepAcceptEncoding = true
	mitm := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(signing)}
	gp.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction,
		string) {
		return mitm, host
	})
	server := httptest.NewServer(gp)
	b.Cleanup(server.Close)
	b.Cleanup(gp.Tr.CloseIdleConnections)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return way{"goproxy", benchClient(b, server.URL, pool), upstream, func(int) {}}
}

type certStore struct{ certs sync.Map }

func (s *certStore) Fetch(name string, gen func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	if cert, ok := s.certs.Load(name); ok {
		return cert.(*tls.Certificate), nil
	}
	cert, err := gen()
	if err == nil {
		s.certs.Store(name, cert)
	}
	return cert, err
}

const (
	eventSize   = 150
	eventEvery  = 2 * time.Millisecond
	eventsCount = 50
)

// stampedEvents sends events that carry the time they were sent at.
func stampedEvents(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	event := bytes.Repeat([]byte("e"), eventSize)
	for range eventsCount {
		binary.BigEndian.PutUint64(event, uint64(time.Now().UnixNano()))
		_, _ = w.Write(event)
		w.(http.Flusher).Flush()
		<-tick.C
	}
}

// prompt is a request as agents send it, of some 2 KB.
var prompt = `{"model":"claude-sonnet-4-5","max_tokens":1024,"stream":true,"messages":[{"role":"user","content":"` +
	strings.Repeat("Name three capitals of Europe and a river each. ", 39) + `"}]}`

// BenchmarkChunkDelay is the time from an event's sending to its arrival, with
// 32 streams at once, and what each way adds to the direct one; cpu is what a
// chunk costs altogether.
func BenchmarkChunkDelay(b *testing.B) {
	all := ways(b, stampedEvents)
	delays, cpu := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for _, w := range all {
			used := cpuTime()
			delays[w.name] = append(delays[w.name], streamDelays(b, w, 32)...)
			cpu[w.name] = append(cpu[w.name], float64((cpuTime()-used).Nanoseconds())/1e3/(32*eventsCount))
		}
	}
	direct := quantile(delays["direct"], 0.5)
	for _, w := range all {
		b.ReportMetric(quantile(delays[w.name], 0.5), w.name+"-p50-µs")
		b.ReportMetric(quantile(delays[w.name], 0.99), w.name+"-p99-µs")
		b.ReportMetric(quantile(cpu[w.name], 0.5), w.name+"-cpu-µs")
		if w.name != "direct" {
			b.ReportMetric(quantile(delays[w.name], 0.5)-direct, w.name+"-added-µs")
		}
	}
	b.ReportMetric(quantile(delays["recording"], 0.5)/quantile(delays["goproxy"], 0.5), "recording/goproxy")
	b.ReportMetric(quantile(cpu["recording"], 0.5)/quantile(cpu["goproxy"], 0.5), "recording/goproxy-cpu")
	b.ReportMetric(0, "ns/op")
}

// streamDelays reads streams at once and returns each event's delay in µs.
func streamDelays(b *testing.B, w way, streams int) (all []float64) {
	b.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			resp, err := w.client.Post(w.url, "application/json", strings.NewReader(prompt))
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			event := make([]byte, eventSize)
			var mine []float64
			for {
				if _, err := io.ReadFull(resp.Body, event); err != nil {
					break
				}
				sent := time.Unix(0, int64(binary.BigEndian.Uint64(event)))
				mine = append(mine, float64(time.Since(sent).Nanoseconds())/1e3)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	return all
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.SortFunc(values, cmp.Compare)
	return values[int(q*float64(len(values)-1))]
}

// BenchmarkFirstByte is the time to the first byte of a stream that goes on for
// 100 ms, on a connection that is open already and on a new one.
func BenchmarkFirstByte(b *testing.B) {
	all := ways(b, stampedEvents)
	warm, cold := map[string][]float64{}, map[string][]float64{}
	first := func(w way) float64 {
		begin := time.Now()
		resp, err := w.client.Post(w.url, "application/json", strings.NewReader(prompt))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		took := float64(time.Since(begin).Nanoseconds()) / 1e3
		_, _ = io.Copy(io.Discard, resp.Body)
		return took
	}
	for b.Loop() {
		for _, w := range all {
			w.client.CloseIdleConnections()
			cold[w.name] = append(cold[w.name], first(w))
			warm[w.name] = append(warm[w.name], first(w))
		}
	}
	for _, w := range all {
		b.ReportMetric(quantile(warm[w.name], 0.5), w.name+"-warm-µs")
		b.ReportMetric(quantile(cold[w.name], 0.5), w.name+"-new-µs")
	}
	b.ReportMetric(quantile(warm["recording"], 0.5)/quantile(warm["pass"], 0.5), "recording/pass")
	b.ReportMetric(quantile(warm["recording"], 0.5)/quantile(warm["goproxy"], 0.5), "recording/goproxy")
	b.ReportMetric(0, "ns/op")
}

const bulk = 64 << 20

// BenchmarkLongStream is the throughput of one stream of 64 MiB, what the heap
// grows by while it passes, and how long saving it takes afterwards.
func BenchmarkLongStream(b *testing.B) {
	block := bytes.Repeat([]byte("data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"0123456789\"}}\n\n"),
		512)
	block = block[:32<<10]
	all := ways(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range bulk / len(block) {
			_, _ = w.Write(block)
			w.(http.Flusher).Flush()
		}
	})
	speed, heap := map[string][]float64{}, map[string][]float64{}
	var save []float64
	for n := 1; b.Loop(); n++ {
		for _, w := range all {
			s, h := longStream(b, w)
			speed[w.name], heap[w.name] = append(speed[w.name], s), append(heap[w.name], h)
			begin := time.Now()
			w.saved(n)
			if w.name == "recording" {
				save = append(save, float64(time.Since(begin).Milliseconds()))
			}
		}
	}
	for _, w := range all {
		b.ReportMetric(quantile(speed[w.name], 0.5), w.name+"-MB/s")
		b.ReportMetric(quantile(heap[w.name], 0.5), w.name+"-heap-MiB")
	}
	b.ReportMetric(quantile(save, 0.5), "save-ms")
	b.ReportMetric(quantile(speed["recording"], 0.5)/quantile(speed["goproxy"], 0.5), "recording/goproxy")
	b.ReportMetric(0, "ns/op")
}

// longStream reads one stream and returns its speed, and how much the heap was
// above its start at the stream's end, before anything is saved.
func longStream(b *testing.B, w way) (speed, grown float64) {
	b.Helper()
	runtime.GC()
	before := heapInUse()
	begin := time.Now()
	resp, err := w.client.Post(w.url, "application/json", strings.NewReader(prompt))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 64<<10)
	var n, peak int64
	for {
		m, err := resp.Body.Read(buf)
		if after := n + int64(m); after>>23 != n>>23 &&
			after < bulk { // every 8 MiB; at the last byte the saving may have begun
			peak = max(peak, heapInUse())
		}
		n += int64(m)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / 1e6 / time.Since(begin).Seconds(), float64(max(peak-before, 0)) / (1 << 20)
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// BenchmarkManyStreams is how long 300 streams of one second take together.
func BenchmarkManyStreams(b *testing.B) {
	all := ways(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		event := bytes.Repeat([]byte("e"), eventSize)
		for range 20 {
			_, _ = w.Write(event)
			w.(http.Flusher).Flush()
			<-tick.C
		}
	})
	took := map[string][]float64{}
	for b.Loop() {
		for _, w := range all {
			begin := time.Now()
			streamDelays(b, w, 300)
			took[w.name] = append(took[w.name], time.Since(begin).Seconds())
		}
	}
	for _, w := range all {
		b.ReportMetric(quantile(took[w.name], 0.5), w.name+"-s")
	}
	b.ReportMetric(quantile(took["recording"], 0.5)/quantile(took["direct"], 0.5), "recording/direct")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkShortReplies is the rate of quickly answered requests, 1, 32 and 256
// at once; saved is the rate at which a recording is on disk. cpu is what a
// request costs altogether: client, upstream, proxy and, of a recording, saving.
func BenchmarkShortReplies(b *testing.B) {
	for _, workers := range []int{1, 32, 256} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) { benchShortReplies(b, workers) })
	}
}

func benchShortReplies(b *testing.B, workers int) {
	b.Helper()
	const requests = 2048
	all := ways(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"type":"message"}`)
	})
	rate, cpu, saved := map[string][]float64{}, map[string][]float64{}, []float64{}
	for n := 1; b.Loop(); n++ {
		for _, w := range all {
			begin, used := time.Now(), cpuTime()
			rate[w.name] = append(rate[w.name], shortReplies(b, w, workers, requests))
			w.saved(n * requests)
			cpu[w.name] = append(cpu[w.name], float64((cpuTime()-used).Nanoseconds())/1e3/requests)
			if w.name == "recording" {
				saved = append(saved, requests/time.Since(begin).Seconds())
			}
		}
	}
	for _, w := range all {
		b.ReportMetric(quantile(rate[w.name], 0.5), w.name+"-req/s")
		b.ReportMetric(quantile(cpu[w.name], 0.5), w.name+"-cpu-µs")
	}
	b.ReportMetric(quantile(saved, 0.5), "saved-req/s")
	b.ReportMetric(quantile(cpu["recording"], 0.5)/quantile(cpu["goproxy"], 0.5), "recording/goproxy-cpu")
	b.ReportMetric(quantile(rate["recording"], 0.5)/quantile(rate["goproxy"], 0.5), "recording/goproxy")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkKeep is what keeping a reply of 4 KB to a request of 2 KB costs beyond passing it on: no
// network is part of it. cpu is processor time, saving included.
func BenchmarkKeep(b *testing.B) {
	redactor, guard := redact.New(nil), gate.New()
	out, err := cassette.Create(filepath.Join(b.TempDir(), "x.yaml"),
		cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = out.Discard() }()
	rec, err := record.New(record.Config{Transport: shortReply{}, Writer: out, Redactor: guard.Watch(redactor),
		Gate: guard.Check})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n, used := 0, cpuTime()
	for ; b.Loop(); n++ {
		r := httptest.NewRequest(http.MethodPost, "https://"+host+"/v1/messages", strings.NewReader(prompt))
		r.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Go-http-client/1.1"},
			"Accept-Encoding": {"gzip"}, "X-Api-Key": {"sk-ant-api03-0123456789abcdef0123456789"}}
		rec.ServeHTTP(httptest.NewRecorder(), r)
	}
	if r := rec.Close(); r.Saved != n {
		b.Fatalf("%d of %d were saved: %+v", r.Saved, n, r)
	}
	b.ReportMetric(float64((cpuTime()-used).Nanoseconds())/1e3/float64(n), "cpu-µs")
}

// shortReply answers at once.
type shortReply struct{}

// shortBody is a reply of some 4 KB.
var shortBody = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"` +
	strings.Repeat("Lisbon on the Tagus, Vienna on the Danube, Prague on the Vltava. ", 60) +
	`"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

func (shortReply) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ContentLength: int64(len(shortBody)),
		Body: io.NopCloser(strings.NewReader(shortBody)),
		Header: http.Header{"Content-Type": {"application/json"}, "Date": {"Sat, 21 Nov 2026 13:00:00 GMT"},
			"Content-Length": {strconv.Itoa(len(shortBody))}}}, nil
}

func shortReplies(b *testing.B, w way, workers, requests int) float64 {
	b.Helper()
	begin := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range requests / workers {
				resp, err := w.client.Post(w.url, "application/json", strings.NewReader(prompt))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	return float64(requests/workers*workers) / time.Since(begin).Seconds()
}
