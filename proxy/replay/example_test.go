package replay_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// recordExample returns a cassette with one interaction.
func recordExample(dir string) (*cassette.Cassette, error) {
	path := filepath.Join(dir, "hello.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if err := w.Append(cassette.Interaction{
		Request: cassette.Request{Method: http.MethodPost, URL: "https://api.openai.com/v1/responses",
			Header: http.Header{}, Body: []byte(`{"model":"m","input":"hello"}`)},
		Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"output":[]}`)},
		End: cassette.EndEOF,
	}); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return cassette.Open(path)
}

// A replayer is an http.Handler for a proxy. The order of JSON members does not
// matter; a request that was not recorded is refused.
func ExampleReplayer() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := recordExample(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := replay.New(replay.Config{Cassette: c, Redactor: redact.New(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{`{"input":"hello","model":"m"}`, `{"input":"good-bye","model":"m"}`} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "https://api.openai.com/v1/responses",
			strings.NewReader(body)))
		fmt.Printf("%d %q\n", answer.Code, answer.Header().Get("X-Cassette-Miss"))
	}
	fmt.Println(r.Receipt().Summary())
	// Output:
	// 200 ""
	// 400 "unknown"
	// served 1, missed 1, unused 0, relaxed 0, egress 0
}
