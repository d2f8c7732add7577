package rule

import (
	"fmt"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// Texts are what a provider says, word for word: the file refusals.yaml in the folder of its wire.
type Texts struct {
	// Kinds are the refusals that need no rule, by the kinds that script.Simulation names.
	Kinds map[string]Refusal `yaml:"kinds" data:"required"`
	// Words are the refusals by rule, see [Book].
	Words []Words `yaml:"words" data:"required"`
	// Accepted states what looks like a fault and is none.
	Accepted []Info `yaml:"accepted" data:"required"`
}

// ReadTexts reads the file refusals.yaml of a wire. It panics if the file, which is part of the program, is wrong.
func ReadTexts(wire string, file []byte) (t Texts) {
	if err := datafile.Read("wires/"+wire+"/refusals.yaml", file, &t, datafile.Options{}).Err(); err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return t
}
