package cassette

import (
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Where a client ran survives the file, however it is written, and a client cannot
// forge it.
func TestPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, Meta{Provenance: ProvenanceLive}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]string{"folder": "/a b/ü&c=d%", "user": "bob"}
	request := Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
		Header: http.Header{"X-Cassette-Place": {"user=eve"}}}
	if err := w.Append(Interaction{Request: request, Place: place}); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(Interaction{Request: request}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{place, nil} {
		in, err := c.At(i)
		if err != nil || !maps.Equal(in.Place, want) || in.Request.Header["X-Cassette-Place"] != nil {
			t.Errorf("%d: %v, %v, %v", i, in.Place, in.Request.Header, err)
		}
	}
	in := Interaction{Request: Request{Header: http.Header{hdrPlace: {"user=%zz"}}}}
	if err := takeReserved(&in); err == nil || !strings.Contains(err.Error(), hdrPlace) {
		t.Errorf("an unreadable place: %v", err)
	}
}
