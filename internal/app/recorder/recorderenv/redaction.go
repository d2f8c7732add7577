package recorderenv

import (
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// Redaction is what the cassettes of one run have in common. Sessions share the
// gate: a secret seen in one must not turn up in another.
type Redaction struct {
	Redactor *redact.Redactor
	Guard    *gate.Gate
}

// Redaction prepares to redact with the user's key. It learns the credentials in
// the environment and the given ones, and takes them out of all that people are
// told from now on.
func (a *Env) Redaction(exempt []string, given ...string) (*Redaction, error) {
	key, err := a.pseudonymKey()
	if err != nil {
		return nil, err
	}
	r := &Redaction{Redactor: redact.New(key), Guard: gate.New(exempt...)}
	a.Program.Scrub = func(line string) string { return gate.Mask(r.Redactor.Text(line)) }
	for _, secret := range append(EnvironmentSecrets(a.Environ), given...) {
		r.Redactor.Learn(secret)
		r.Guard.Learn(secret)
	}
	return r, nil
}

// Meta is what a cassette recorded now says of itself.
func (r *Redaction) Meta(provenance string, incomplete bool) cassette.Meta {
	var declared []string
	if incomplete {
		declared = []string{cassette.DeclaredIncomplete}
	}
	return cassette.Meta{Declared: declared, Provenance: provenance, Tool: "recorder " + cli.Version(),
		Created: time.Now().UTC().Format(time.RFC3339), Redaction: r.Redactor.Rules(), Matching: replay.Rules()}
}

// Redacted redacts in, with the gate listening. What a recorder of ours redacted
// before stays the same: then the gate must not take pseudonyms for secrets.
func (r *Redaction) Redacted(in cassette.Interaction) cassette.Interaction {
	out := r.Redactor.Interaction(in)
	if cassette.Difference(in, out) == "" {
		return out
	}
	return r.Guard.Watch(r.Redactor).Interaction(in)
}

// LastLook redacts a recording once more and asks the gate again, when a secret
// became known, to either, after something was written that may hold it.
func (r *Redaction) LastLook() func(cassette.Interaction) (cassette.Interaction, error) {
	if !r.Redactor.Late() && !r.Guard.Late() {
		return nil
	}
	return func(in cassette.Interaction) (cassette.Interaction, error) {
		in = r.Redactor.Interaction(in)
		return in, r.Guard.Check(in)
	}
}
