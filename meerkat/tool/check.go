package tool

import (
	"errors"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// CanCheck reports whether s can find a violation at all: false for a schema that
// uses what is not known here, see Schema.
func (s *Schema) CanCheck() bool { return s != nil && s.check != nil }

// Check says what of a JSON document breaks the schema, nil if it fits. Its
// errors go on from "the document …".
func (s *Schema) Check(document []byte) error {
	if !jsontok.IsObject(document) {
		return errors.New("is not one JSON object")
	}
	if !s.CanCheck() {
		return nil
	}
	problems, err := s.findProblems(document)
	switch {
	case err != nil:
		return errors.New("cannot be checked: " + err.Error())
	case problems != "":
		return errors.New("does not fit: " + problems)
	}
	return nil
}
