package jsontree

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the depth that the library jsontext reads, for providers that are
// not known to have a limit of their own.
const MaxDepth = 10_000

var (
	// ErrTrailing says that more than white space follows the value.
	ErrTrailing = errors.New("trailing characters")
	// errTooDeep says that values are nested too deep.
	errTooDeep = errors.New("nested too deep")
)

// ParseStrict reads one value of valid Unicode that is nested at most maxDepth
// deep. The error is a [*jsontext.SyntacticError] with the offset, [io.EOF] for an
// empty text, ErrTrailing or errTooDeep. It copies body.
func ParseStrict(body []byte, maxDepth int) (*Node, error) {
	root, failure := parse(string(body), maxDepth, false)
	if failure == nil {
		return root, nil
	}
	if err := describeFailure(body); err != nil {
		return nil, err
	}
	if failure.Problem == TooDeep {
		return nil, errTooDeep
	}
	return nil, failure
}

// describeFailure returns what jsontext says of a text that is not valid, nil when it
// finds nothing wrong. Names may be repeated in an object.
func describeFailure(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadValue(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrTrailing
	}
	return nil
}
