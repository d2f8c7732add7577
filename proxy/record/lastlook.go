package record

import "github.com/meerkat-go/conformance/proxy/cassette"

// LastLook looks through a recording once more before it gets its name, for
// [cassette.Writer.Revise]. When a secret became known after something was written
// that may hold it, every interaction is redacted and checked again; otherwise the
// result is nil.
func LastLook(
	redactor interface {
		Late() bool
		Interaction(cassette.Interaction) cassette.Interaction
	},
	gate interface {
		Late() bool
		Check(cassette.Interaction) error
	},
) func(cassette.Interaction) (cassette.Interaction, error) {
	if !redactor.Late() && !gate.Late() {
		return nil
	}
	return func(in cassette.Interaction) (cassette.Interaction, error) {
		in = redactor.Interaction(in)
		return in, gate.Check(in)
	}
}
