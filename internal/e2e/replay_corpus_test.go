package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// wireCase is one recorded exchange of the corpus.
type wireCase struct {
	name    string
	url     string
	request []byte
	status  int
	kind    string // content type
	body    []byte
	chunks  []int // the sizes in which the source's client received it
	ack     chan struct{}
}

// isBody reports whether got is the body of the case. Two replies quote the API key that they
// refuse: a pseudonym of the same length stands for it in the cassette.
func (c *wireCase) isBody(got []byte) bool {
	return bytes.Equal(got, c.body) || strings.Contains(c.name, "-failure-api-key/") && len(got) == len(c.body) &&
		bytes.Contains(got, []byte("REDACTED"))
}

// TestCorpusReplaysByteForByte records every raw response of the corpus
// through the intercepting proxy, over TLS on both legs, and replays it: bytes
// are the same, and chunk boundaries where the corpus kept them.
func TestCorpusReplaysByteForByte(t *testing.T) {
	cases := rawCases(t)
	upstream := httptest.NewTLSServer(corpusProvider(cases))
	defer upstream.Close()
	path := filepath.Join(t.TempDir(), "corpus.yaml")
	began := time.Now()
	recordCorpus(t, upstream, path, cases)
	recorded := time.Now()
	tape, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	exact := checkTape(t, tape, cases)
	replayCorpus(t, tape, cases)
	size, chunked := 0, 0
	for _, c := range cases {
		if size += len(c.body); c.chunks != nil {
			chunked++
		}
	}
	t.Logf("%d raw responses, %d bytes: recorded in %v, replayed in %v; %d with known chunks, %d of them recorded in exactly these",
		len(cases), size, recorded.Sub(began).Round(time.Millisecond), time.Since(recorded).Round(time.Millisecond),
		chunked, exact)
}

// rawCases loads the exchanges whose response bytes are as on the wire.
func rawCases(t *testing.T) (cases []*wireCase) {
	t.Helper()
	root := corpus.Dir(t)
	manifest, err := os.ReadFile(filepath.Join(root, "manifest.jsonl"))
	fatal(t, err)
	for line := range bytes.Lines(manifest) {
		var entry struct {
			Dir        string
			Provenance struct{ Response []string }
		}
		fatal(t, json.Unmarshal(line, &entry))
		if !slices.Contains(entry.Provenance.Response, "raw") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, entry.Dir, "*.response.json"))
		fatal(t, err)
		for _, file := range files {
			c := loadCase(t, file)
			c.name = entry.Dir + "/" + strings.TrimSuffix(filepath.Base(file), ".response.json")
			c.url = addQuery(t, c.url, "case", strconv.Itoa(len(cases)))
			cases = append(cases, c)
		}
	}
	return cases
}

func loadCase(t *testing.T, responseFile string) *wireCase {
	t.Helper()
	var response struct {
		Status  int
		Headers map[string][]string
		Chunks  []int `json:"recorded_chunk_sizes"`
	}
	var request struct {
		URL  string
		Body *string
	}
	requestFile := strings.Replace(responseFile, ".response.json", ".request.json", 1)
	for file, v := range map[string]any{responseFile: &response, requestFile: &request} {
		data, err := os.ReadFile(file)
		fatal(t, err)
		fatal(t, json.Unmarshal(data, v))
	}
	body, err := os.ReadFile(strings.TrimSuffix(responseFile, ".json") + ".body")
	fatal(t, err)
	c := &wireCase{url: request.URL, status: response.Status, body: body, ack: make(chan struct{})}
	for name, values := range response.Headers {
		if strings.EqualFold(name, "Content-Type") && len(values) > 0 {
			c.kind = values[0]
		}
	}
	if request.Body != nil {
		c.request = []byte(*request.Body)
	}
	sum := 0
	for _, n := range response.Chunks {
		sum += n
	}
	if sum == len(body) {
		c.chunks = response.Chunks
	}
	return c
}

func addQuery(t *testing.T, raw, name, value string) string {
	t.Helper()
	u, err := url.Parse(raw)
	fatal(t, err)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// corpusProvider answers as recorded. Where chunk sizes are known it sends one
// chunk at a time and waits until the client has it.
func corpusProvider(cases []*wireCase) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.URL.Query().Get("case"))
		if err != nil || i >= len(cases) {
			http.Error(w, "no such case", http.StatusTeapot)
			return
		}
		c := cases[i]
		if c.kind != "" {
			w.Header().Set("Content-Type", c.kind)
		}
		w.WriteHeader(c.status)
		rest := c.body
		for _, n := range c.chunks {
			_, _ = w.Write(rest[:n])
			w.(http.Flusher).Flush()
			rest = rest[n:]
			select {
			case <-c.ack:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = w.Write(rest)
	}
}

// toUpstream leads every request to the local upstream, whoever it is for.
type toUpstream struct {
	next http.RoundTripper
	host string
}

func (u toUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "https", u.host, ""
	return u.next.RoundTrip(r)
}

func recordCorpus(t *testing.T, upstream *httptest.Server, path string, cases []*wireCase) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	transport, err := proxy.NewTransport(nil, roots)
	fatal(t, err)
	redactor, guard := redact.New(nil), gate.New()
	tape, err := cassette.Create(path,
		cassette.Meta{Provenance: cassette.ProvenanceSynthetic, Redaction: redactor.Rules()}, cassette.CreateOptions{})
	fatal(t, err)
	recorder, err := record.New(record.Config{
		Transport: toUpstream{transport, strings.TrimPrefix(upstream.URL, "https://")},
		Writer:    tape, Redactor: guard.Watch(redactor), Gate: guard.Check,
	})
	fatal(t, err)
	through(t, recorder, cases, func(p *proxy.Proxy, a *ca.Authority) {
		client := corpusClient(t, p, a)
		together(t, cases, func(c *wireCase) error { return askCorpus(client, c, true) })
		client.CloseIdleConnections()
	})
	report := recorder.Close()
	fatal(t, tape.Close())
	if report.Saved != len(cases) || report.Lost != nil || report.Refused != nil {
		t.Fatalf("saved %d of %d, lost %v, refused %v", report.Saved, len(cases), report.Lost, report.Refused)
	}
}

func replayCorpus(t *testing.T, tape *cassette.Cassette, cases []*wireCase) {
	t.Helper()
	player, err := replay.New(replay.Config{Cassette: tape, Redactor: redact.New(nil)})
	fatal(t, err)
	through(t, player, cases, func(p *proxy.Proxy, a *ca.Authority) {
		client := corpusClient(t, p, a)
		together(t, cases, func(c *wireCase) error {
			if c.chunks != nil {
				return askFramed(p, a, c)
			}
			return askCorpus(client, c, false)
		})
		client.CloseIdleConnections()
	})
	if r := player.Receipt(); r.Served != len(cases) || r.Missed != 0 || r.Unused != 0 || len(r.Relaxed) != 0 {
		t.Errorf("receipt %+v", r)
	}
}

// through runs work behind an intercepting proxy in front of h.
func through(t *testing.T, h http.Handler, cases []*wireCase, work func(*proxy.Proxy, *ca.Authority)) {
	t.Helper()
	var allow []string
	for _, c := range cases {
		u, err := url.Parse(c.url)
		fatal(t, err)
		allow = append(allow, u.Host)
	}
	hosts, err := proxy.Hosts(allow)
	fatal(t, err)
	authority, err := ca.New(hosts, time.Now())
	fatal(t, err)
	p, err := proxy.New(proxy.Config{CA: authority, AllowHosts: allow, Handler: h})
	fatal(t, err)
	fatal(t, p.Start())
	work(p, authority)
	fatal(t, p.Close(context.Background()))
}

func corpusClient(t *testing.T, p *proxy.Proxy, a *ca.Authority) *http.Client {
	t.Helper()
	address, err := url.Parse(p.URL())
	fatal(t, err)
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(address), TLSClientConfig: &tls.Config{RootCAs: a.Pool()},
		MaxIdleConnsPerHost: corpusWorkers, DisableCompression: true,
	}}
}

const corpusWorkers = 8

func together(t *testing.T, cases []*wireCase, ask func(*wireCase) error) {
	t.Helper()
	queue := make(chan *wireCase)
	var wg sync.WaitGroup
	for range corpusWorkers {
		wg.Go(func() {
			for c := range queue {
				if err := ask(c); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		})
	}
	for _, c := range cases {
		queue <- c
	}
	close(queue)
	wg.Wait()
}

// askCorpus sends a case's request and compares the reply. In step it tells the
// upstream of each chunk received.
func askCorpus(client *http.Client, c *wireCase, inStep bool) error {
	resp, err := client.Post(c.url, "application/json", bytes.NewReader(c.request))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var got []byte
	if inStep {
		for _, n := range c.chunks {
			buf := make([]byte, n)
			if _, err := io.ReadFull(resp.Body, buf); err != nil {
				return err
			}
			got = append(got, buf...)
			c.ack <- struct{}{}
		}
	}
	rest, err := io.ReadAll(resp.Body)
	return errors.Join(err, sameReply(c, resp, append(got, rest...)))
}

func sameReply(c *wireCase, resp *http.Response, got []byte) error {
	switch {
	case resp.StatusCode != c.status:
		return fmt.Errorf("status %d, recorded %d: %.300s", resp.StatusCode, c.status, got)
	case c.kind != "" && resp.Header.Get("Content-Type") != c.kind:
		return fmt.Errorf("content type %q, recorded %q", resp.Header.Get("Content-Type"), c.kind)
	case !c.isBody(got):
		return fmt.Errorf("%d bytes, recorded %d; they differ", len(got), len(c.body))
	}
	return nil
}

// askFramed asks for a replay over a connection of its own and reads the chunks
// as HTTP/1.1 frames them.
func askFramed(p *proxy.Proxy, a *ca.Authority, c *wireCase) error {
	u, err := url.Parse(c.url)
	if err != nil {
		return err
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	fmt.Fprintf(raw, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", u.Host, u.Host)
	if resp, err := http.ReadResponse(bufio.NewReaderSize(raw, 16), nil); err != nil ||
		resp.StatusCode != http.StatusOK {
		return fmt.Errorf("CONNECT: %v, %w", resp, err)
	}
	conn := tls.Client(raw, &tls.Config{RootCAs: a.Pool(), ServerName: u.Host})
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		u.RequestURI(), u.Host, len(c.request), c.request)
	r := bufio.NewReader(conn)
	for { // the header; its end is an empty line
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "\r\n" {
			break
		}
	}
	sizes, got, err := readFrames(r)
	if err != nil {
		return err
	}
	if !c.isBody(got) {
		return fmt.Errorf("%d bytes, recorded %d; they differ", len(got), len(c.body))
	}
	return keepsBoundaries(c.chunks, sizes)
}

// readFrames reads a chunked body and returns the chunks' sizes.
func readFrames(r *bufio.Reader) (sizes []int, body []byte, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil || n == 0 {
			return sizes, body, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(r, chunk); err != nil {
			return nil, nil, err
		}
		sizes, body = append(sizes, int(n)), append(body, chunk[:n]...)
	}
}

// keepsBoundaries reports as an error a place where the source's chunks ended
// and ours do not. A chunk larger than a TLS record may come in several.
func keepsBoundaries(source, ours []int) error {
	ends := map[int]bool{}
	at := 0
	for _, n := range ours {
		at += n
		ends[at] = true
	}
	at = 0
	for i, n := range source {
		if at += n; n > 0 && !ends[at] {
			return fmt.Errorf("chunk %d ended at byte %d, which is no boundary any more: %v became %v", i, at,
				source, ours)
		}
	}
	return nil
}

// checkTape compares what is in the cassette, and returns how many replies have
// exactly the source's chunks.
func checkTape(t *testing.T, tape *cassette.Cassette, cases []*wireCase) (exact int) {
	t.Helper()
	for in, err := range tape.All() {
		fatal(t, err)
		u, err := url.Parse(in.Request.URL)
		fatal(t, err)
		i, err := strconv.Atoi(u.Query().Get("case"))
		fatal(t, err)
		c := cases[i]
		if !c.isBody(in.Response.Body) || in.End != cassette.EndEOF {
			t.Errorf("%s: %d bytes kept of %d, ended %s", c.name, len(in.Response.Body), len(c.body), in.End)
		}
		if c.chunks == nil {
			continue
		}
		var kept []int
		for _, chunk := range in.Timeline {
			kept = append(kept, chunk.Length)
		}
		if err := keepsBoundaries(c.chunks, kept); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if slices.Equal(kept, c.chunks) {
			exact++
		}
	}
	return exact
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
