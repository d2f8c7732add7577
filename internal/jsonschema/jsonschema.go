// Package jsonschema checks JSON documents against JSON Schemas of draft-07. It opens no
// file and no connection: a reference to another document is an error of the schema.
package jsonschema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct{ compiled *validator.Schema }

// Problem is one breach of a schema. Path has the names and indices that lead to the
// value; it is empty for the document itself.
type Problem struct {
	Path    []string
	Message string
}

// location is the address of the one schema that is compiled.
const location = "schema:root"

// Compile compiles a decoded schema, which must not change afterwards. A schema that breaks
// the rules of draft-07 is an error of one line.
func Compile(root any) (*Schema, error) {
	c := validator.NewCompiler()
	c.DefaultDraft(validator.Draft7)
	c.UseLoader(noLoader{})
	if err := c.AddResource(location, root); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(location)
	if err == nil {
		return &Schema{compiled}, nil
	}
	if broken := (*validator.SchemaValidationError)(nil); errors.As(err, &broken) {
		if first := problemsOf(broken.Err); len(first) > 0 {
			return nil, fmt.Errorf("%s: %s", strings.Join(first[0].Path, "."), first[0].Message)
		}
	}
	return nil, err
}

// noLoader refuses to load other documents.
type noLoader struct{}

// Load implements validator.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.100s: references lead to the same document only", url)
}

// Validate returns the breaches of a document, in the order of their paths; none if it
// fits. An error means that the document is not JSON.
func (s *Schema) Validate(doc []byte) ([]Problem, error) {
	value, err := validator.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	return problemsOf(s.compiled.Validate(value)), nil
}

// problemsOf returns the innermost causes of a validation error.
func problemsOf(err error) []Problem {
	failed := (*validator.ValidationError)(nil)
	if !errors.As(err, &failed) {
		return nil
	}
	printer := message.NewPrinter(language.English)
	var all []Problem
	for _, leaf := range leavesOf(failed) {
		for _, text := range describeKind(leaf.ErrorKind, printer) {
			all = append(all, Problem{leaf.InstanceLocation, text})
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int { // the library walks maps
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(all, func(a, b Problem) bool { return slices.Equal(a.Path, b.Path) && a.Message == b.Message })
}

// describeKind says what is wrong. The library's own texts round numbers.
func describeKind(k validator.ErrorKind, printer *message.Printer) []string {
	bound := func(words string, number *big.Rat) []string { return []string{words + " " + showNumber(number)} }
	switch k := k.(type) {
	case *kind.Required:
		var all []string
		for _, name := range k.Missing {
			all = append(all, name+" is required")
		}
		return all
	case *kind.Minimum:
		return bound("must be at least", k.Want)
	case *kind.Maximum:
		return bound("must be at most", k.Want)
	case *kind.ExclusiveMinimum:
		return bound("must be more than", k.Want)
	case *kind.ExclusiveMaximum:
		return bound("must be less than", k.Want)
	case *kind.MultipleOf:
		return bound("must be a multiple of", k.Want)
	default:
		return []string{k.LocalizedString(printer)}
	}
}

// showNumber returns a number as a decimal, and as a fraction if it has none.
func showNumber(n *big.Rat) string {
	if digits, exact := n.FloatPrec(); exact {
		return n.FloatString(digits)
	}
	return n.RatString()
}

// leavesOf returns the innermost causes. Of a choice it returns those of the alternative
// that fits furthest into the document, which is most likely the one that was meant.
func leavesOf(e *validator.ValidationError) []*validator.ValidationError {
	if len(e.Causes) == 0 {
		return []*validator.ValidationError{e}
	}
	_, anyOf := e.ErrorKind.(*kind.AnyOf)
	_, oneOf := e.ErrorKind.(*kind.OneOf)
	var all []*validator.ValidationError
	for _, cause := range e.Causes {
		leaves := leavesOf(cause)
		switch {
		case !anyOf && !oneOf:
			all = append(all, leaves...)
		case all == nil || depthOf(leaves) > depthOf(all):
			all = leaves
		}
	}
	return all
}

// depthOf returns how far into the document the first of some errors is found.
func depthOf(leaves []*validator.ValidationError) int {
	depth := len(leaves[0].InstanceLocation)
	for _, leaf := range leaves {
		depth = min(depth, len(leaf.InstanceLocation))
	}
	return depth
}
