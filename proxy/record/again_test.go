package record_test

import (
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// What a neighbour taught the gate after a reply was redacted, the redactor has
// learnt, too: it is asked once more before the reply is refused.
func TestRefusedIsRedactedAgain(t *testing.T) {
	times := 0
	redactor := asIs(func(in cassette.Interaction) cassette.Interaction {
		times++
		return in
	})
	g := newRig(t, false, record.Config{Redactor: redactor, Gate: func(cassette.Interaction) error {
		if times == 1 {
			return errors.New("holds a secret")
		}
		return nil
	}}, say(`{}`))
	read(t, g.post())
	if r := g.close(); r.Saved != 1 || times != 2 {
		t.Errorf("report %+v after %d redactions", r, times)
	}
}
