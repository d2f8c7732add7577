package proxy_test

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// quickPosts is how many POSTs are sent; MEERKAT_POSTS sets another number.
func quickPosts() int {
	if n, err := strconv.Atoi(os.Getenv("MEERKAT_POSTS")); err == nil {
		return n
	}
	return 2000
}

// An upstream that answers before it has read the request closes its half of
// the connection early; a plain reverse proxy loses some of those requests.
// None is lost here, with everything recorded on disk (golang/go#40747).
func TestQuicklyAnsweredPosts(t *testing.T) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"type":"message"}`) // the body is left unread
	}))
	defer upstream.Close()
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	transport, err := proxy.NewTransport(map[string]string{"anthropic": upstream.URL}, roots)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
	guard := gate.New()
	writer, err := cassette.Create(filepath.Join(t.TempDir(), "x.yaml"),
		cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Discard() }()
	rec, err := record.New(record.Config{Transport: transport, Writer: writer, Redactor: guard.Watch(redact.New(nil)),
		Gate: guard.Check})
	if err != nil {
		t.Fatal(err)
	}
	a := authority(t)
	p := start(t, proxy.Config{CA: a}, rec.ServeHTTP)
	c, tr := client(t, p, a)
	tr.MaxIdleConnsPerHost = 64
	failed := post(c, quickPosts())
	tr.CloseIdleConnections()
	_ = p.Close(t.Context())
	if report := rec.Close(); len(failed) > 0 || report.Saved != quickPosts() ||
		len(report.Cut)+len(report.Lost)+len(report.Refused) > 0 {
		t.Errorf("%d of %d failed, %d saved, first: %v; cut %d, lost %d", len(failed), quickPosts(), report.Saved,
			failed[:min(len(failed), 1)], len(report.Cut), len(report.Lost))
	}
}

// post sends n requests from 32 workers and returns what went wrong.
func post(c *http.Client, n int) (failed []string) {
	prompt := strings.Repeat("p", 20_000)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 32 {
		wg.Go(func() {
			for range n/32 + map[bool]int{true: 1}[worker < n%32] {
				resp, err := c.Post("https://"+host+"/v1/messages", "application/json",
					strings.NewReader(`{"p":"`+prompt+`"}`))
				why := ""
				if err != nil {
					why = err.Error()
				} else {
					text, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err != nil || resp.StatusCode != http.StatusOK || string(text) != `{"type":"message"}` {
						why = resp.Status + " " + string(text)
					}
				}
				if why != "" {
					mu.Lock()
					failed = append(failed, why)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}
