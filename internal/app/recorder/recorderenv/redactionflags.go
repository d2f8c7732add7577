package recorderenv

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// AddExempt declares the flag for texts that the gate takes for keys by mistake.
func AddExempt(set *pflag.FlagSet, to *[]string) {
	set.StringSliceVar(to, "exempt", nil, "`digest` of a text that looks like a key and is none, as the refusal names it; may be repeated")
}

// CheckExempt returns an error unless all are digests. It does not quote them: one may be the key
// itself.
func CheckExempt(digests []string) error {
	for _, d := range digests {
		if !gate.IsDigest(d) {
			return cli.Usage("--exempt: not a digest; give the 16 hexadecimal digits that the refusal names, never the key")
		}
	}
	return nil
}

// Own are the user's rules for redaction, as flags and settings.
type Own struct{ Redact, Keep []string }

// AddTo declares the flags.
func (o *Own) AddTo(set *pflag.FlagSet) {
	set.StringArrayVar(&o.Redact, "redact", nil, "a `rule` for what else is secret: NAME, PARENT.NAME or /REGULAR EXPRESSION/; may be repeated")
	set.StringArrayVar(&o.Keep, "keep", nil, "a `rule` for what is not secret, like --redact; may be repeated")
}

// SayUnused names the rules that matched nothing: they may be misspelt.
func (a *Env) SayUnused(own *redact.Own) {
	for _, rule := range own.Unused() {
		a.Say("redaction rule %s: matched nothing; check its spelling, or remove it", rule)
	}
}

// OnSecret is what becomes of an interaction in which the gate finds what looks like a
// key. It is a pflag.Value.
type OnSecret struct{ IsMasked bool }

// String is the choice as Set takes it.
func (o *OnSecret) String() string {
	if o.IsMasked {
		return "mask"
	}
	return "refuse"
}

// Type names the value in a command's help.
func (*OnSecret) Type() string { return "choice" }

// Set reads mask or refuse.
func (o *OnSecret) Set(text string) error {
	if text != "mask" && text != "refuse" {
		return errors.New("use mask or refuse")
	}
	o.IsMasked = text == "mask"
	return nil
}

// AddTo declares the flag.
func (o *OnSecret) AddTo(set *pflag.FlagSet) {
	set.Var(o, "on-secret", "`choice` for what looks like a key where none belongs: refuse to save the interaction, or mask the key and save it")
}
