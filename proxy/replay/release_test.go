package replay

import (
	"testing"

	"github.com/meerkat-go/conformance/proxy/fault"
)

// An interaction that is given back is the next answer again, also when later
// ones were taken meanwhile: to the same bytes, and to an equal request.
func TestGiveBack(t *testing.T) {
	for name, body := range map[string]string{"the same bytes": `{"a":1}`, "an equal request": `{ "a" : 1 }`} {
		p := newReplayer(t, Config{}, pair(`{"a":1}`, "0"), pair(`{"a":1}`, "1"), pair(`{"a":1}`, "2"))
		for _, want := range []string{"0", "1"} {
			if w, _ := ask(p, endpoint, body); w.Body.String() != want {
				t.Fatalf("%s: got %s, want %s", name, w.Body, want)
			}
		}
		p.index.release(0)
		if n := len(p.index.unusedInteractions()); n != 1 {
			t.Errorf("%s: %d unused, want 1: the one that was given back was asked for", name, n)
		}
		for _, want := range []string{"0", "2"} {
			if w, _ := ask(p, endpoint, body); w.Body.String() != want {
				t.Errorf("%s: after it was given back: %s, want %s", name, w.Body, want)
			}
		}
		if w, _ := ask(p, endpoint, body); w.Code != 400 {
			t.Errorf("%s: answered %d when all was played", name, w.Code)
		}
	}
}

// A replayer without a plan and a mode leaves no trace of either.
func TestUndisturbedReceipt(t *testing.T) {
	p := newReplayer(t, Config{Seed: 9}, pair("{}", "x"))
	ask(p, endpoint, "{}")
	if r := p.Receipt(); r.Seed != nil || r.Rechunk != "" || r.Faults != nil || r.FaultsIdle != nil || r.Struck != 0 {
		t.Errorf("%+v", r)
	}
	p = newReplayer(t, Config{Seed: 9, Rechunk: fault.OneByte}, pair("{}", "x"))
	if r := p.Receipt(); r.Seed == nil || *r.Seed != 9 || r.Rechunk != fault.OneByte {
		t.Errorf("%+v", r)
	}
}
