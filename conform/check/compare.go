package check

import "github.com/meerkat-go/conformance/conform/decide"

// difference says in a sentence how two values differ, and shows it.
type difference struct {
	sentence string
	decide.Comparison
	fix string // "" for that of the check
}

// String is the sentence, so that a difference is an argument of a message.
func (d difference) String() string { return d.sentence }

// Bytes of context that excerpts show before and behind a difference.
const (
	textContext  = 32
	tokenContext = 4
)
