package simulator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func roundTrip(ctx context.Context, t *testing.T, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.anthropic.com/v1/messages?x=1",
		strings.NewReader("asked"))
	if err != nil {
		t.Fatal(err)
	}
	return Transport(h).RoundTrip(r)
}

// TestTransportKeepsPieces holds that each flush is one piece, read or not.
func TestTransportKeepsPieces(t *testing.T) {
	resp, err := roundTrip(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); string(body) != "asked" || err != nil || r.Host != "api.anthropic.com" ||
			r.RequestURI != "/v1/messages?x=1" {
			t.Errorf("arrived: %q, %v, %s %s", body, err, r.Host, r.RequestURI)
		}
		w.Header().Set("X-Sent", "yes")
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("X-Late", "yes")
		flush := http.NewResponseController(w).Flush
		for _, piece := range []string{"one", "two", strings.Repeat("3", 20_000)} {
			_, _ = io.WriteString(w, piece[:1])
			_, _ = io.WriteString(w, piece[1:])
			if err := errors.Join(flush(), flush()); err != nil {
				t.Error(err)
			}
		}
		_, _ = io.WriteString(w, "rest")
	})
	if err != nil || resp.StatusCode != http.StatusAccepted || resp.Header.Get("X-Sent") == "" ||
		resp.Header.Get("X-Late") != "" || resp.ContentLength != -1 {
		t.Fatalf("%+v, %v", resp, err)
	}
	var lengths []int
	for buf := make([]byte, 32<<10); err == nil; {
		var n int
		if n, err = resp.Body.Read(buf); n > 0 {
			lengths = append(lengths, n)
		}
	}
	if want := []int{3, 3, 20_000, 4}; !errors.Is(err, io.EOF) || !slices.Equal(lengths, want) {
		t.Errorf("pieces of %v, %v; want %v", lengths, err, want)
	}
}

// TestTransportBreaks holds that a panic is a reply that breaks off, and no
// reply where none had begun.
func TestTransportBreaks(t *testing.T) {
	resp, err := roundTrip(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "kept")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "never flushed")
		panic(http.ErrAbortHandler)
	})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "kept" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", body, err)
	}
	for want, cause := range map[string]any{"unexpected EOF": http.ErrAbortHandler, "panicked: oops": "oops"} {
		resp, err := roundTrip(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic(cause)
		})
		if resp != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v", cause, resp, err)
		}
	}
}

// TestTransportLeaves holds that a handler learns that its client has left, and
// that a client who waits no longer is let go.
func TestTransportLeaves(t *testing.T) {
	ended := make(chan error)
	stall := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, _ = io.WriteString(w, "x")
		ended <- http.NewResponseController(w).Flush()
	}
	resp, err := roundTrip(t.Context(), t, stall)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("a piece went to nobody")
	}
	ctx, leave := context.WithCancel(t.Context())
	if resp, err = roundTrip(ctx, t, stall); err != nil {
		t.Fatal(err)
	}
	leave()
	if body, err := io.ReadAll(resp.Body); len(body) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", body, err)
	}
	<-ended
	_ = resp.Body.Close()
	ctx, leave = context.WithCancel(t.Context())
	if _, err := roundTrip(ctx, t, func(http.ResponseWriter, *http.Request) { leave(); <-ended }); !errors.Is(err, context.Canceled) {
		t.Errorf("a reply that never begins: %v", err)
	}
	close(ended)
}

// TestTransportIsTheServer holds that a client cannot tell it from a socket,
// except by its pieces.
func TestTransportIsTheServer(t *testing.T) {
	for name, ask := range asks {
		h := New(Config{Seed: "both"})
		server, client := serve(t, h)
		over := send(t, client, ask(server.URL, 0, true))
		r := ask("https://127.0.0.1", 0, true)
		resp, err := Transport(New(Config{Seed: "both"})).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != over.status || !bytes.Equal(body, over.body) ||
			len(resp.Header) != len(over.header) {
			t.Errorf("%s: %v, status %d, %d bytes, headers %v\nover a socket: status %d, %d bytes, headers %v",
				name, err, resp.StatusCode, len(body), resp.Header, over.status, len(over.body), over.header)
		}
	}
}
