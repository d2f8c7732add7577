package rkat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/tool"
)

// outputSchema is what --output-schema asks of the answer.
type outputSchema struct {
	text  []byte
	check *tool.Schema
}

// SchemaError says that the answer is not what --output-schema asked for.
type SchemaError struct{ Problem string }

// Error says what is wrong with the answer.
func (e *SchemaError) Error() string {
	return "the answer " + e.Problem + " (--output-schema); resume with a prompt to have it mended"
}

// readSchema reads and compiles the file, nil for "". A schema that could not be
// enforced is refused before anything is sent.
func readSchema(path string) (*outputSchema, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readText("--output-schema", path)
	if err != nil {
		return nil, err
	}
	check, err := tool.Compile([]byte(text))
	if err != nil {
		return nil, usage("--output-schema %s: the schema %w", path, err)
	}
	if !check.Checks() {
		return nil, usage("--output-schema %s: answers could not be checked with it; use JSON Schema draft-07 without references to other files", path)
	}
	return &outputSchema{[]byte(strings.TrimSpace(text)), check}, nil
}

// judge returns the answer as JSON, or what is wrong with it.
func (s *outputSchema) judge(answer string) (json.RawMessage, error) {
	if s == nil {
		return nil, nil
	}
	text := []byte(strings.TrimSpace(answer))
	if err := s.check.Check(text); err != nil {
		return nil, &SchemaError{oneLine(err)}
	}
	return text, nil
}

// bytes returns the schema as it goes to the provider.
func (s *outputSchema) bytes() []byte {
	if s == nil {
		return nil
	}
	return s.text
}

// named puts the session in front of an error of its answer.
func named(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %s: %w", id, err)
}
