// Package all is the list of the built-in wires. Programs, and tests that need the built-in wires,
// import it for its effect: it registers them.
package all

import (
	"errors"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/rule"
)

func init() {
	for _, w := range []struct {
		wire *wires.Wire
		book *rule.Book
	}{{anthropic.Wire(), anthropic.Book()}, {openai.Wire(), openai.Book()}, {gemini.Wire(), gemini.Book()}} {
		if err := errors.Join(wires.Register(w.wire), rule.Register(w.wire.Name, w.book)); err != nil {
			panic(err)
		}
	}
}
