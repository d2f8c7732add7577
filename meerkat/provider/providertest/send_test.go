package providertest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestNoHalfOfASecret: an excerpt of an answer that repeats the key does not cut
// it in two before it is found.
func TestNoHalfOfASecret(t *testing.T) {
	const key = "canary-canary-canary-canary"
	for _, status := range []int{http.StatusBadGateway, http.StatusOK} {
		for room := 160; room < 210; room++ {
			text := strings.Repeat("x", room) + key
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			}))
			c, err := provider.New(openai.Codec{}, provider.Config{BaseURL: server.URL, APIKey: key})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Complete(
				t.Context(), &provider.Request{Model: "gpt-5.2", Messages: []transcript.Message{transcript.User("x")}},
				nil,
			)
			server.Close()
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Fatalf("%d: %v", room, err)
			}
		}
	}
}

// An unlisted model goes out when the caller's lookup lets it.
func TestLookupIsTheCallers(t *testing.T) {
	c, err := provider.New(openai.Codec{}, provider.Config{Lookup: catalog.Unlisted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Render(&provider.Request{
		Model: "gpt-4.1", Messages: []transcript.Message{transcript.User("x")},
	}); err != nil {
		t.Error(err)
	}
}
