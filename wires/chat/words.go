package chat

import (
	_ "embed" // for refusals.yaml

	"github.com/meerkat-go/conformance/wires/rule"
)

//go:embed refusals.yaml
var textFile []byte

var texts = rule.ReadTexts("chat", textFile)
