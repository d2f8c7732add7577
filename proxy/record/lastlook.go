package record

import "github.com/meerkat-go/conformance/proxy/cassette"

// LastLook is for [cassette.Writer.Revise]: it redacts and checks interactions again that were
// written before a secret became known, because they may hold it. again does that, for the
// first interactions of the recording, as many as first says. Where every secret was known
// in time, again is nil.
//
// first counts the interactions that were redacted or checked before the last secret became
// known, and as many as a Recorder saves in one batch: these may be written in another order.
func LastLook(
	redactor interface {
		Late() int
		Interaction(cassette.Interaction) cassette.Interaction
	},
	gate interface {
		Late() int
		Check(cassette.Interaction) error
	},
) (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
	late := max(redactor.Late(), gate.Late())
	if late == 0 {
		return nil, 0
	}
	return func(in cassette.Interaction) (cassette.Interaction, error) {
		in = redactor.Interaction(in)
		return in, gate.Check(in)
	}, late + batchCount
}
