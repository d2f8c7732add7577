package oracle

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

// recording is one streamed, successful response of the traffic corpus.
type recording struct {
	name     string
	provider string
	body     []byte
}

// recordings reads the corpus, or skips the test when it is not there.
func recordings(tb testing.TB, provider string) []recording {
	tb.Helper()
	root := corpus.Dir(tb)
	f, err := os.Open(filepath.Join(root, "manifest.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []recording
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Dir      string `json:"dir"`
			Provider string `json:"provider"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		if c.Provider == provider {
			out = append(out, streamed(tb, filepath.Join(root, c.Dir), provider)...)
		}
	}
	if len(out) == 0 {
		tb.Fatalf("no streamed %s response in %s", provider, root)
	}
	return out
}

// streamed returns the SSE bodies with status 200 of one case.
func streamed(tb testing.TB, dir, provider string) []recording {
	tb.Helper()
	metas, err := filepath.Glob(filepath.Join(dir, "*.response.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var out []recording
	for _, m := range metas {
		var head struct {
			Status int `json:"status"`
		}
		raw, err := os.ReadFile(m)
		if err != nil {
			tb.Fatal(err)
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			tb.Fatal(err)
		}
		body, err := os.ReadFile(m[:len(m)-len("json")] + "body")
		if err != nil {
			tb.Fatal(err)
		}
		if head.Status == 200 && isSSE(body) {
			name := filepath.Base(dir) + "/" + filepath.Base(m)[:2]
			out = append(out, recording{name: name, provider: provider, body: judgeable(body)})
		}
	}
	return out
}

func isSSE(body []byte) bool {
	for _, p := range []string{"event:", "data:", ": "} {
		if len(body) >= len(p) && string(body[:len(p)]) == p {
			return true
		}
	}
	return false
}
