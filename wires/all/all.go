// Package all is the list of the built-in wires. Programs, and tests that need the built-in wires,
// import it for its effect: it registers them.
package all

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/chat"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/openai"
)

func init() {
	for _, w := range []script.Parts{anthropic.Parts(), openai.Parts(), gemini.Parts(), chat.Parts()} {
		if err := w.Register(); err != nil {
			panic(err)
		}
	}
}
