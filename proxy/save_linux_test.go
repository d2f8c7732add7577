package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// repeated is a unit of text again and again, which needs no memory.
type repeated []byte

func (r repeated) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], r[(int(at)+n)%len(r):])
	}
	return n, nil
}

// hugeBody is a body of size bytes: a beginning, and a unit again and again.
type hugeBody struct {
	begin, unit string
	size        int64
}

func (h hugeBody) reader() io.Reader {
	return io.MultiReader(strings.NewReader(h.begin),
		io.NewSectionReader(repeated(h.unit), 0, h.size-int64(len(h.begin))))
}

// hugeReplies answers with one body.
type hugeReplies struct {
	body hugeBody
	kind string
}

func (h hugeReplies) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {h.kind}},
		ContentLength: -1,
		Body:          io.NopCloser(h.body.reader()), Request: r}, nil
}

// A huge body is saved in the memory that it takes once, whatever is in it: text, bytes
// that YAML has no line for, one string, secrets.
func TestHugeBodyIsInMemoryOnce(t *testing.T) {
	const size, secret = 34 << 20,
		"sk-ant-api03-Zk8sQ1mB7vT2xY9wL4pR6nC3dF5gH0jKaQwErTyUiOpLkJhGfDsAzXcVbNm1234567890-AbCdEfAA"
	event := "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"" + strings.Repeat("word ", 60) + "\"}}\n\n"
	short := hugeBody{unit: event, size: int64(len(event))}
	question, words := hugeBody{begin: `{"model":"claude"}`, size: 18},
		hugeBody{`{"text":"`, strings.Repeat("word ", 100), size}
	for name, c := range map[string]struct {
		asked, answered hugeBody
		kind            string
	}{
		"secrets": {question, hugeBody{unit: strings.Repeat(event, 500) + strings.Replace(event, "word word", secret,
			1), size: size}, "text/event-stream"},
		"one string": {question, words, "application/json"},
		"bytes":      {question, hugeBody{unit: "\xff\x00\x01abcdefgh", size: size}, "application/json"},
		"upload":     {words, short, "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.yaml")
			grown := peakWhile(t,
				func() { saveHuge(t, path, hugeReplies{c.answered, c.kind}, c.asked.reader(), secret) })
			if t.Logf("%.2f times the size", float64(grown)/size); grown > size*3/2 {
				t.Errorf("saving %d MiB took %d MiB", size>>20, grown>>20)
			}
			if file, err := os.ReadFile(path); err != nil || len(file) < size || bytes.Contains(file, []byte(secret)) {
				t.Errorf("the file has %d bytes; %v", len(file), err)
			}
		})
	}
}

// saveHuge records one exchange with the redactor, the gate and the cassette that the
// recorder command uses.
func saveHuge(t *testing.T, path string, transport http.RoundTripper, upload io.Reader, secret string) {
	t.Helper()
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	guard, redactor := gate.New(), redact.New([]byte("key"))
	rules, err := redact.ParseOwn(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	redactor.Use(rules)
	rec, err := record.New(record.Config{Transport: transport, Writer: w, Redactor: guard.Watch(redactor),
		Gate: guard.Check})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", upload)
	r.Header.Set("X-Api-Key", secret)
	rec.ServeHTTP(discardReply{http.Header{}}, r)
	report := rec.Close()
	if err := w.Close(); err != nil || report.Saved != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// discardReply is a client that keeps nothing.
type discardReply struct{ header http.Header }

func (d discardReply) Header() http.Header       { return d.header }
func (discardReply) Write(p []byte) (int, error) { return len(p), nil }
func (discardReply) WriteHeader(int)             {}

// peakWhile returns by how many bytes f raised the peak of resident memory. The collector
// runs as often as under the memory limit of the recorder command.
func peakWhile(t *testing.T, f func()) int64 {
	t.Helper()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(48 << 20))
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Skipf("the peak of memory cannot be reset here: %v", err)
	}
	before := peakMemory(t)
	f()
	return peakMemory(t) - before
}
