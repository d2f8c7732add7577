package record

import "github.com/meerkat-go/conformance/proxy/cassette"

// LastLook looks through a recording once more before it gets its name, for
// [cassette.Writer.Revise]. When a secret became known after something was written
// that may hold it, the interactions until then are redacted and checked again; otherwise
// the result is nil. They are those that were redacted or checked before it became known,
// and those that a Recorder saved together with them: one of these may be written
// earlier.
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
