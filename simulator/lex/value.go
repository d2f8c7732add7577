package lex

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrTrailing says that more than white space follows the value.
var ErrTrailing = errors.New("trailing characters")

// checker is a decoder that is used again and again.
type checker struct {
	body bytes.Buffer
	*jsontext.Decoder
}

var checkers = sync.Pool{New: func() any { return &checker{Decoder: new(jsontext.Decoder)} }}

// maxKept is the size of the largest body that a checker may keep hold of while
// it waits for the next.
const maxKept = 64 << 10

// Value returns the one value that body is, with the white space before it, as
// text. The error is a *jsontext.SyntacticError, with the offset, or ErrTrailing.
// Names may stand twice in an object.
func Value(body []byte) (string, error) {
	c := checkers.Get().(*checker)
	if len(body) <= maxKept {
		defer checkers.Put(c)
	}
	c.body = *bytes.NewBuffer(body)
	c.Reset(&c.body, jsontext.AllowDuplicateNames(true))
	if _, err := c.ReadValue(); err != nil {
		return "", err
	}
	end := c.InputOffset()
	if _, err := c.ReadToken(); !errors.Is(err, io.EOF) {
		return "", ErrTrailing
	}
	return string(body[:end]), nil
}
