package fault

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy/llm"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// Every whole recorded stream has a place for every fault, and the modes, in
// turns, keep its bytes.
func TestOnRecordedTraffic(t *testing.T) {
	bodies := corpus.Files(t, "*/*/*.response.body")
	faults := []string{"fault: reset, before_terminal: true", "fault: garbage, before_terminal: true",
		"fault: bad_utf8, at_start: true",
		"fault: error_event, before_terminal: true", "fault: ping_flood, before_terminal: true",
		"fault: duplicate, after_terminal: true"}
	streams := 0
	for i, path := range bodies {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		provider := filepath.Base(filepath.Dir(filepath.Dir(path)))
		kind := "application/json"
		if bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte("data:")) {
			kind = "text/event-stream"
		}
		s := Script{Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
			Steps: []Step{{Data: body}}, End: EOF}
		if mode := modes[i%len(modes)]; !bytes.Equal(Rechunk(s, mode, Dice(1)).Body(), body) {
			t.Errorf("%s: %s changed the bytes", path, mode)
		}
		// Enums sent as numbers: those streams say no word that ends them.
		numbers := bytes.Contains(body, []byte(`"finishReason": 1`))
		if llm.FramingOf(kind, body) == llm.Document || !llm.IsComplete(provider, kind, body) || numbers {
			continue
		}
		streams++
		for _, plan := range faults {
			if _, out := injector(t, plan).Apply(s, Reply{Provider: provider}); len(out.Fired) != 1 {
				t.Errorf("%s: no place for %s", path, plan)
			}
		}
	}
	if streams < 800 {
		t.Errorf("only %d whole streams were tried", streams)
	}
	t.Logf("%d bodies, %d whole streams", len(bodies), streams)
}
