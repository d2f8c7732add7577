package vcr

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// A matcher gets a request with its whole body or not at all.
func TestLongRequestForMatcher(t *testing.T) {
	const limit = 1 << 20
	for _, length := range []int{limit, limit + 1} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.anthropic.com/v1/messages",
			strings.NewReader(strings.Repeat("a", length)))
		if err != nil {
			t.Fatal(err)
		}
		asked, err := readRequest(redact.New(nil), req, limit)
		if length <= limit {
			if err != nil || len(asked.body) != length {
				t.Errorf("%d bytes: %v", length, err)
			}
			continue
		}
		want := "POST https://api.anthropic.com/v1/messages: the request body is longer than 1 MiB, the most that is read; send it by a Passthrough"
		if err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", length, err, want)
		}
	}
}
