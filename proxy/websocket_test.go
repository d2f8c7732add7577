package proxy_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	coder "github.com/coder/websocket"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
)

// TestWebSocketsReachTheHandler holds that only handshakes of the Responses API that
// Config.WebSocket admits reach the handler, and that a refusal has a length.
func TestWebSocketsReachTheHandler(t *testing.T) {
	a := authority(t)
	p := start(t, proxy.Config{CA: a, WebSocket: func(r *http.Request) bool { return r.Header.Get("X-Admit") != "" }},
		func(w http.ResponseWriter, r *http.Request) {
			websocket.Serve(w, r,
				websocket.Config{Turns: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, `data: {"type":"response.completed"}`+"\n\n")
				})})
		})
	c, _ := client(t, p, a)
	for path, admit := range map[string]string{"/v1/responses": "", "/v1/realtime": "1"} {
		_, resp, err := coder.Dial(t.Context(), "https://api.openai.com"+path,
			&coder.DialOptions{HTTPClient: c, HTTPHeader: http.Header{"X-Admit": {admit}}})
		if err == nil || resp.StatusCode != http.StatusUpgradeRequired || resp.ContentLength <= 0 {
			t.Errorf("%s: %v, %v", path, resp, err)
		}
	}
	if p.Upgrades() != 2 {
		t.Errorf("%d upgrades were refused, want 2", p.Upgrades())
	}

	conn, _, err := coder.Dial(t.Context(), "https://api.openai.com/v1/responses",
		&coder.DialOptions{HTTPClient: c, HTTPHeader: http.Header{"X-Admit": {"1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), coder.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
		t.Fatal(err)
	}
	if _, event, err := conn.Read(t.Context()); err != nil || string(event) != `{"type":"response.completed"}` {
		t.Errorf("%s, %v", event, err)
	}

	// Closing ends a WebSocket that waits for its client, and says so.
	closed := make(chan error)
	go func() { closed <- p.Close(context.Background()) }()
	if _, _, err := conn.Read(t.Context()); coder.CloseStatus(err) != coder.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestCloseCutsWebSockets holds that Close does not wait for a reply longer than it is
// told to.
func TestCloseCutsWebSockets(t *testing.T) {
	a, began := authority(t), make(chan struct{})
	p := start(t, proxy.Config{CA: a, WebSocket: func(*http.Request) bool { return true }},
		func(w http.ResponseWriter, r *http.Request) {
			websocket.Serve(w, r,
				websocket.Config{Turns: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					close(began)
					<-r.Context().Done()
				})})
		})
	c, _ := client(t, p, a)
	conn, _, err := coder.Dial(t.Context(), "https://api.openai.com/v1/responses", &coder.DialOptions{HTTPClient: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(t.Context(), coder.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
		t.Fatal(err)
	}
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Close(ctx) // returns, which is what is tested
	if _, _, err := conn.Read(t.Context()); err == nil {
		t.Error("the WebSocket goes on")
	}
}
