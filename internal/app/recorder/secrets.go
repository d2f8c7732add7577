package recorder

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// addExempt declares the flag for what the gate takes for a key by mistake.
func addExempt(set *pflag.FlagSet, to *[]string) {
	set.StringSliceVar(to, "exempt", nil, "`digest` of a text that looks like a key and is none, as the refusal names it; may be repeated")
}

// lastLook redacts a recording once more and asks the gate again, when a secret
// became known, to either, after something was written that may hold it.
func (k *kit) lastLook() func(cassette.Interaction) (cassette.Interaction, error) {
	if !k.redactor.Late() && !k.guard.Late() {
		return nil
	}
	return func(in cassette.Interaction) (cassette.Interaction, error) {
		in = k.redactor.Interaction(in)
		return in, k.guard.Check(in)
	}
}

// isSecret reports whether err says that the gate found one.
func isSecret(err error) bool {
	hit := (*gate.Hit)(nil)
	return errors.As(err, &hit)
}
