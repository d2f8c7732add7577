package simulator

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// packers compress as clients do.
var packers = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithWindowSize(1<<20)) // the options are valid
		return z
	},
}

func packBody(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := packers[coding](&packed)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// askPacked sends a body to a path and returns the status and the reply.
func askPacked(h http.Handler, path, coding string, body []byte) (int, string) {
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {coding},
		"Authorization": {"Bearer made-up"}, "X-Api-Key": {"made-up"}, "Anthropic-Version": {"2023-06-01"},
		"X-Goog-Api-Key": {"made-up"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestCompressedRequests holds that a compressed request is answered as a plain one is, by
// all three providers and by the host that codex calls when it is logged in.
func TestCompressedRequests(t *testing.T) {
	bodies := map[string]string{
		"/v1/messages":                      `{"model":"claude-opus-4-5","max_tokens":4096,"messages":[{"role":"user","content":"Name one bird."}]}`,
		"/v1/responses":                     `{"model":"gpt-5.5","store":false,"input":"Name one bird."}`,
		"/backend-api/codex/" + "responses": `{"model":"gpt-5.5","store":false,"input":"Name one bird."}`,
		"/v1beta/models/gemini-3.5-flash:generateContent": `{"contents":[{"role":"user","parts":[{"text":"Name one bird."}]}]}`,
	}
	for path, body := range bodies {
		status, want := askPacked(New(Config{}), path, "", []byte(body))
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, want)
		}
		for coding := range packers {
			if status, got := askPacked(New(Config{}), path, strings.ToUpper(coding),
				packBody(t, coding, []byte(body))); status != http.StatusOK || got != want {
				t.Errorf("%s, %s: %d %s", path, coding, status, got)
			}
			if status, got := askPacked(New(Config{}), path, coding, []byte("no "+coding)); status != http.StatusBadRequest {
				t.Errorf("%s, damaged %s: %d %s", path, coding, status, got)
			}
			bomb := packBody(t, coding, bytes.Repeat([]byte(" "), maxRequest+1))
			if status, got := askPacked(New(Config{}), path, coding, bomb); status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %d bytes of %s that unpack to too much: %d %s", path, len(bomb), coding, status, got)
			}
		}
		twice := packBody(t, "gzip", packBody(t, "br", []byte(body)))
		if status, got := askPacked(New(Config{}), path, "br, gzip", twice); status != http.StatusOK {
			t.Errorf("%s, packed twice: %d %s", path, status, got)
		}
		for _, unknown := range []string{"lzma", "gzip, gzip, gzip, gzip, gzip"} {
			if status, got := askPacked(New(Config{}), path, unknown, []byte(body)); status != http.StatusUnsupportedMediaType || !strings.Contains(got, "Content-Encoding") {
				t.Errorf("%s, %s: %d %s", path, unknown, status, got)
			}
		}
	}
}

// FuzzDecodeBody holds that no body unpacks to more than a provider takes, and none panics.
func FuzzDecodeBody(f *testing.F) {
	for coding := range packers {
		f.Add(coding, packBody(f, coding, []byte(`{"a":1}`)))
	}
	f.Add("gzip, br", []byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, coding string, body []byte) {
		plain, err := decodeBody(http.Header{"Content-Encoding": {coding}}, body)
		if err == nil && len(plain) > max(maxRequest, len(body)) {
			t.Errorf("%d bytes", len(plain))
		}
	})
}
