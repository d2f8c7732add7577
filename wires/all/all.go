// Package all is the list of the built-in wires. Programs, and tests that need the built-in wires,
// import it for its effect: it registers them.
package all

import (
	"errors"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

func init() {
	for _, parts := range []func() (*wires.Wire, wire.Decoder, *rule.Book, *script.Simulation){
		anthropic.Parts, openai.Parts, gemini.Parts,
	} {
		if err := Register(parts()); err != nil {
			panic(err)
		}
	}
}

// Register adds a wire with all its parts. The error names the wire and what is missing.
func Register(w *wires.Wire, d wire.Decoder, b *rule.Book, s *script.Simulation) error {
	return errors.Join(wires.Register(w), wire.Register(w.Name, d), rule.Register(w.Name, b), script.Register(w.Name, s))
}
