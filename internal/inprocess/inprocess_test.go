package inprocess

import (
	"io"
	"net/http"
	"testing"
)

// TestTrailers holds that trailers arrive as from a server, announced or not. The
// other properties are tested in package simulator.
func TestTrailers(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "1")
		w.Header().Set(http.TrailerPrefix+"X-More", "2")
		w.Header().Set("X-Late", "3")
	})
	resp, err := (&http.Client{Transport: Transport(h)}).Get("http://in.process/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, ok := resp.Trailer["X-Sum"]; !ok || resp.Header["Trailer"] != nil {
		t.Errorf("announced %v, header %v", resp.Trailer, resp.Header)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "body" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if resp.Trailer.Get("X-Sum") != "1" || resp.Trailer.Get("X-More") != "2" || len(resp.Trailer) != 2 {
		t.Errorf("trailer %v", resp.Trailer)
	}
}
