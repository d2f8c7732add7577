package gateway

import "github.com/meerkat-go/conformance/conform/decide"

// Bytes of context that comparisons show.
const (
	textContext  = 32
	tokenContext = 4
)

func compareTexts(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, textContext)
	return &c
}

// compareTokens shows too little of a token to use it.
func compareTokens(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, min(tokenContext, len(was)/8))
	return &c
}
