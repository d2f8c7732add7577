package wire_test

import (
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/corpus"
	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/wire"
)

// TestCorpusTerminal reads every recorded OpenAI stream twice: event by event,
// and from the response its terminal event repeats. Both are one reply.
func TestCorpusTerminal(t *testing.T) {
	recordings, err := evidence.Load(filepath.Join(corpus.Dir(t), "data", "openai"))
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for _, rec := range recordings {
		for _, x := range rec.Evidence.Exchanges {
			r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
			if r.Form != wire.SSE || !r.Usable() {
				continue
			}
			streams++
			last := r.Events[len(r.Events)-1].JSON.Get("response")
			if len(last.Get("output").List()) == 0 {
				continue // the host repeats nothing
			}
			same(t, rec.Path, r.Items, wire.ReadReply(x.Provider, 200, []byte(last.Raw())).Items)
		}
	}
	if streams < 100 {
		t.Errorf("only %d streams", streams)
	}
}

func same(t *testing.T, path string, a, b []wire.Item) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d items in events, %d in the response", path, len(a), len(b))
		return
	}
	for i := range a {
		if a[i].What != b[i].What || a[i].Text != b[i].Text || a[i].Args != b[i].Args || a[i].ID != b[i].ID ||
			a[i].Name != b[i].Name {
			t.Errorf("%s: item %d is %s %q %q in events, %s %q %q in the response", path, i, a[i].What, a[i].Text,
				a[i].Args, b[i].What, b[i].Text, b[i].Args)
		}
	}
}
