package handoff

import (
	"encoding/base64"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Target is where a request goes: continuity tokens and raw wire objects go
// back only where they came from.
type Target struct {
	Provider string
	API      string
	Account  string // see MakeAccount; "" is unknown
	Model    catalog.Entry
	// Effort is that of the request; "" is the model's default. Only whether it
	// makes the model think counts here.
	Effort string
}

// Origin returns the origin to stamp on what the target answers.
func (t Target) Origin() *transcript.Origin {
	return &transcript.Origin{Provider: t.Provider, API: t.API, Model: t.Model.Model, Account: t.Account}
}

// Made reports whether b was made by the target: same provider, API and
// account, and a model whose tokens the target's model reads. A block without
// an origin is judged by the tag of its token, and is foreign without one.
func (t Target) Made(b *transcript.Block) bool {
	if b.Meta != nil && !t.Model.Traits.Issues(string(b.Meta.Provider)) {
		return false
	}
	if b.Origin == nil {
		return b.Meta != nil
	}
	o := b.Origin
	return o.Provider == t.Provider && mayBeSame(o.API, t.API) && SameAccount(o.Account, t.Account) &&
		t.Model.Reads(o.Model)
}

// mayBeSame compares two names of which either may be unknown.
func mayBeSame(a, b string) bool { return a == "" || b == "" || a == b }

// Raw returns the wire object of a block that t made, or nil when there is
// none to send untouched.
func (t Target) Raw(b *transcript.Block) []byte {
	if len(b.Raw) == 0 || !t.Made(b) || !jsontok.IsObject(b.Raw) {
		return nil
	}
	return b.Raw
}

// IsBase64 reports whether s is base64 of either alphabet, padded or not: what
// proto-JSON takes for bytes (G-19).
func IsBase64(s string) bool {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return false
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	enc := base64.RawStdEncoding
	if strings.HasSuffix(s, "=") {
		enc = base64.StdEncoding
	}
	_, err := enc.DecodeString(s)
	return err == nil
}
