package replay

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRepeat holds that a repeating replayer answers equal requests with the first
// recorded reply, again and again.
func TestRepeat(t *testing.T) {
	p := newReplayer(t, Config{Repeat: true}, pair(`{"a":1}`, `{"n":1}`), pair(`{"a":1}`, `{"n":2}`),
		pair(`{"b":1}`, `{"n":3}`))
	for _, c := range []struct{ body, want string }{{`{"a":1}`, `{"n":1}`}, {`{"b":1}`, `{"n":3}`},
		{`{"a":1}`, `{"n":1}`}, {`{"b": 1}`, `{"n":3}`}} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(c.body)))
		if got := w.Body.String(); got != c.want {
			t.Errorf("%s answered with %s", c.body, got)
		}
	}
	if r := p.Receipt(); r.Served != 4 || r.Missed != 0 {
		t.Errorf("receipt: %s", r.Summary())
	}
}

// An interaction that repeats answers a request while it answers another one.
func TestRepeatTogether(t *testing.T) {
	p := newReplayer(t, Config{Repeat: true}, pair(`{"a":1}`, "yes"))
	for _, body := range []string{`{"a":1}`, `{"a":1}`, `{ "a":1}`, `{ "a":1}`} {
		q := p.newLookup(httptest.NewRequest(http.MethodPost, endpoint, nil), []byte(body))
		if found := p.findAnswer(q); found.reason != "" { // and is not sent yet
			t.Errorf("%s: %s", body, found.reason)
		}
	}
}

func TestSameURL(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://h/v1?key=REDACTEDabcdefgh1&x=1", "https://h/v1?x=1&key=test", true},
		{"https://h/v1?x=1", "https://h/v1?x=2", false},
		{"https://h/v1", "https://h/v2", false},
		{"https://h/v1", "::", false},
	} {
		if SameURL(c.a, c.b) != c.same {
			t.Errorf("%s and %s: same is %v", c.a, c.b, !c.same)
		}
	}
}
