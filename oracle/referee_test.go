package oracle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/wires/wire"
)

// TestReferee holds the referee's decoder against the SDKs too: it shares no
// line with the player's, so agreement of all three means something.
func TestReferee(t *testing.T) {
	for provider, j := range judges {
		t.Run(provider, func(t *testing.T) {
			agreed := 0
			for _, r := range recordings(t, provider) {
				want, err := j.sdk(r.body)
				if err != nil || limitation(r) != "" {
					continue
				}
				reply := wire.ReadReply(provider, 200, r.body)
				got := Referee(provider, reply.Items)
				forgetSynthesised(got, want)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: items differ (-sdk +referee):\n%s", r.name, diff)
					continue
				}
				agreed++
			}
			t.Logf("%d replies agree with the SDK", agreed)
		})
	}
}

// TestRefereeEndings: what an SDK cannot read, the referee does not call whole.
func TestRefereeEndings(t *testing.T) {
	for provider, j := range judges {
		for _, r := range recordings(t, provider) {
			if _, err := j.sdk(r.body); err == nil || limitation(r) != "" {
				continue
			}
			if reply := wire.ReadReply(provider, 200, r.body); reply.End == wire.Complete {
				t.Errorf("%s/%s: the SDK refuses it, the referee calls it complete", provider, r.name)
			}
		}
	}
}
