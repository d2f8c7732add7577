package replay

import (
	"io"
	"net/http"
	"testing"
)

// What the cassette does not know goes, unread, to somebody who may.
func TestFallbackAnswersWhatIsNotRecorded(t *testing.T) {
	p := newReplayer(t, Config{Fallback: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "fresh "+string(body))
	})}, pair(`{"q":1}`, "recorded"))
	for _, c := range [][2]string{{`{"q":2}`, `fresh {"q":2}`}, {`{"q":1}`, "recorded"}, {`{"q":1}`, `fresh {"q":1}`}} {
		if w, _ := ask(p, endpoint, c[0]); w.Body.String() != c[1] {
			t.Errorf("%s: %q, want %q", c[0], w.Body, c[1])
		}
	}
	if got := p.Receipt(); got.Served != 1 || got.Missed != 0 {
		t.Errorf("served %d, missed %d; want 1 and 0", got.Served, got.Missed)
	}
}
