package record_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A secret that becomes known in the middle of a recording is in none of its interactions,
// also in those that were redacted beside the one that showed it. Those long after it are
// not looked at again.
func TestLateSecretUnderLoad(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // so that several are redacted at once
	const requests, clients, secret = 600, 64, "late-Ab3dEf9hIj2kLmN4pQr6"
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	check(t, err)
	redactor, guard := redact.New(nil), gate.New()
	looked, first := 0, 0
	w.Revise(func() (func(cassette.Interaction) (cassette.Interaction, error), int) {
		again, n := record.LastLook(redactor, guard)
		first = n
		return func(in cassette.Interaction) (cassette.Interaction, error) { looked++; return again(in) }, n
	})
	echo := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		body := `{"text":"the key is ` + secret + `"}`
		return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ContentLength: int64(len(body)),
			Body:   io.NopCloser(strings.NewReader(body)),
			Header: http.Header{"Content-Type": {"application/json"}}}, nil
	})
	rec, err := record.New(record.Config{Transport: echo, Writer: w, Redactor: guard.Watch(redactor),
		Gate: guard.Check})
	check(t, err)
	numbers := make(chan int, requests)
	for n := range requests {
		numbers <- n
	}
	close(numbers)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for n := range numbers {
				r := httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages",
					strings.NewReader(`{"messages":[]}`))
				if n == requests/4 {
					r.Header.Set("X-Api-Key", secret)
				}
				rec.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	wg.Wait()
	if report := rec.Close(); report.Saved != requests {
		t.Fatalf("%+v", report)
	}
	check(t, w.Close())
	check(t, cassette.Verify(path))
	data, err := os.ReadFile(path)
	check(t, err)
	if bytes.Contains(data, []byte(secret)) || bytes.Count(data, []byte("the key is REDACTED")) != requests {
		t.Errorf("the secret is in the cassette %d times, its pseudonym %d times", bytes.Count(data, []byte(secret)),
			bytes.Count(data, []byte("the key is REDACTED")))
	}
	if looked != first || first <= requests/4-clients || first >= requests {
		t.Errorf("%d interactions were looked at again, of %d that may hold it", looked, first)
	}
}
