package recorder

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

func TestClientNumbers(t *testing.T) {
	type client struct{ session, process string }
	for name, c := range map[string]struct {
		isRun   bool
		clients []client
		want    []int
	}{
		"processes of a run":             {true, []client{{"", "1@5"}, {"", "2@6"}, {"", "1@5"}}, []int{1, 2, 1}},
		"a number that came again":       {true, []client{{"", "1@5"}, {"", "1@9"}}, []int{1, 2}},
		"a run without known clients":    {true, []client{{"", ""}, {"", ""}}, []int{1, 1}},
		"sessions":                       {false, []client{{"a", ""}, {"b", ""}, {"a", ""}}, []int{1, 2, 1}},
		"nothing tells clients apart":    {false, []client{{"", ""}, {"", ""}}, []int{0, 0}},
		"one process, several ingresses": {true, []client{{"a", "1@5"}, {"b", "1@5"}}, []int{1, 2}},
		"some have a session, not all":   {false, []client{{"a", ""}, {"", ""}}, []int{1, 0}},
	} {
		numbers, err := newClients(c.isRun, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, who := range c.clients {
			if got := numbers.processNumber(who.session, who.process); got != c.want[i] {
				t.Errorf("%s: client %d is %d, want %d", name, i, got, c.want[i])
			}
		}
	}
}

// What is recorded into a cassette later comes from another process.
func TestClientNumbersGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: "live"}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, 0} {
		if err := w.Append(cassette.Interaction{Request: cassette.Request{Header: http.Header{}}, Process: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := newClients(true, old)
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers.processNumber("", "1@5"); got != 4 {
		t.Errorf("the first process of the second run is %d, want 4", got)
	}
}

// TestWebSocketsAreNumbered holds that messages of one WebSocket share an ordinal, and that
// plain requests have none.
func TestWebSocketsAreNumbered(t *testing.T) {
	c, err := newClients(true, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewRequest(http.MethodPost, "https://api.openai.com/v1/responses", nil)
	_, one := websocket.WithSession(plain)
	_, two := websocket.WithSession(plain)
	for i, want := range []int{0, 1, 2, 1} {
		var in cassette.Interaction
		c.noteClient(plain.WithContext([]context.Context{t.Context(), one, two, one}[i]), &in)
		if in.WebSocket != want {
			t.Errorf("request %d: WebSocket %d, want %d", i, in.WebSocket, want)
		}
	}
}
