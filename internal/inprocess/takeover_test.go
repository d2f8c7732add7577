package inprocess

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTakenOverConnection holds that a handler which switches protocols has the client's
// connection, and that the end of either side ends the other.
func TestTakenOverConnection(t *testing.T) {
	ended := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("a connection was taken over before it was switched")
		}
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, err = io.Copy(conn, conn)
		<-r.Context().Done()
		ended <- err
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://in.process/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport(h).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "echo" || !ok {
		t.Fatalf("status %d, %v, a connection: %t", resp.StatusCode, resp.Header, ok)
	}
	const text = "over the connection"
	go func() { _, _ = io.WriteString(conn, text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	_ = conn.Close()
	if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}
