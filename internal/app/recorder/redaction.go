package recorder

import (
	"errors"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// Redaction is the redactor and the gate of one run. Its sessions share them: a secret that was
// seen in one must not stand in the cassette of another.
type Redaction struct {
	Redactor *redact.Redactor
	Guard    *gate.Gate
	own      *redact.Own

	finder *gate.Gate       // finds keys in the requests of a replay
	mask   *redact.Redactor // replaces them before anything is said of such a request
}

// Redaction returns what redacts with the user's key and the user's rules, own. It learns the
// credentials in the environment and the given ones. From now on they are taken out of the
// output of the program as well.
func (a *app) Redaction(own Own, exempt []string, given ...string) (*Redaction, error) {
	if err := CheckExempt(exempt); err != nil {
		return nil, err
	}
	rules, err := redact.ParseOwn(own.Redact, own.Keep)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	key, err := a.pseudonymKey()
	if err != nil {
		return nil, err
	}
	r := &Redaction{Redactor: redact.New(key), Guard: gate.New(exempt...), own: rules,
		finder: gate.New(exempt...), mask: redact.New(key)}
	r.Redactor.Use(rules)
	r.mask.Use(rules)
	r.Guard.Keep(rules.Keeps)
	a.Program.Scrub = func(line string) string { return gate.Mask(r.Redactor.Text(line)) }
	for _, secret := range append(redact.EnvironmentSecrets(a.Environ), given...) {
		r.Redactor.Learn(secret)
		r.Guard.Learn(secret)
	}
	return r, nil
}

// Mask teaches the redactor what the gate found, and reports whether that was new to it.
func (r *Redaction) Mask(refusal error) bool {
	var hit *gate.Hit
	return errors.As(refusal, &hit) && hit.Teach(r.Redactor.Learn)
}

// MaskRequest takes out of a redacted request what looks like a key. What it learns stays out of the
// redactor: a cassette may have been recorded with an exemption.
func (r *Redaction) MaskRequest(in cassette.Request) cassette.Request {
	return r.finder.MaskRequest(in, r.mask)
}

// Own returns the user's rules.
func (r *Redaction) Own() *redact.Own { return r.own }

// Meta returns the meta of a cassette that is recorded now. scrubs are the rules for its replay.
func (r *Redaction) Meta(provenance string, incomplete bool, scrubs ...replay.Scrub) cassette.Meta {
	var declared []string
	if incomplete {
		declared = []string{cassette.DeclaredIncomplete}
	}
	return cassette.Meta{Declared: declared, Provenance: provenance, Tool: "recorder " + cli.Version(),
		Created: time.Now().UTC().Format(time.RFC3339), Redaction: r.Redactor.Rules(),
		Matching: replay.Rules(scrubs...)}
}

// Redacted redacts in, and the gate learns what was taken out. An interaction that redaction does
// not change was redacted before: from that the gate learns nothing, or it would take
// pseudonyms for secrets.
func (r *Redaction) Redacted(in cassette.Interaction) cassette.Interaction {
	out := r.Redactor.Interaction(in)
	if cassette.Difference(in, out) == "" {
		return out
	}
	return r.Guard.Watch(r.Redactor).Interaction(in)
}

// mostMasked is how many secrets of one interaction are masked at most.
const mostMasked = 64

// Screened redacts in and checks it with the gate. With isMasked it takes out what the gate
// finds, and names it in masked.
func (r *Redaction) Screened(in cassette.Interaction, isMasked bool) (out cassette.Interaction, masked []string,
	err error) {
	out = r.Redacted(in)
	for err = r.Guard.Check(out); err != nil && isMasked && len(masked) < mostMasked; err = r.Guard.Check(out) {
		if !r.Mask(err) {
			return out, masked, err // it stands where redaction does not look
		}
		masked, out = append(masked, err.Error()), r.Redacted(in)
	}
	return out, masked, err
}

// LastLook is for [cassette.Writer.Revise]; see [record.LastLook].
func (r *Redaction) LastLook() (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
	return record.LastLook(r.Redactor, r.Guard)
}

// RefuseSecret returns why a value must not stand in a file or a variable of settings, "" when it
// may.
func RefuseSecret(f *cli.Frame, value string) string {
	guard := gate.New()
	for _, secret := range redact.EnvironmentSecrets(f.Environ) {
		guard.Learn(secret)
	}
	if guard.Check(cassette.Interaction{Request: cassette.Request{URL: value}}) != nil {
		return "holds a secret, which belongs in the environment of the program that needs it"
	}
	return ""
}
