package replay

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// BenchmarkFirstReply is the time from opening a file of 10,000 interactions to the
// answer of the first request: one for the first interaction, one for the last, one
// for the last in another spelling, and one that was never recorded.
func BenchmarkFirstReply(b *testing.B) {
	const n = 10000
	path := filepath.Join(b.TempDir(), "c.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic,
		Created: "2026-01-01T00:00:00Z"}, cassette.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := w.Append(streamOf(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, body, missed string }{
		{"first", request(0), ""},
		{"last", request(n - 1), ""},
		{"respelled", request(n-1) + " ", ""},
		{"unknown", request(n), missUnknown},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				recording, err := cassette.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				p := fresh(b, recording).(*Replayer)
				r, _ := http.NewRequest(http.MethodPost, endpoint, nil)
				if found := p.findAnswer(p.newLookup(r, []byte(c.body))); found.reason != c.missed {
					b.Fatalf("reason %q, not %q", found.reason, c.missed)
				}
			}
		})
	}
}
