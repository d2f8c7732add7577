package rkat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// outputSchema is the schema of --output-schema, which the answer must match.
type outputSchema struct {
	text  []byte
	check *tool.Schema
}

// schemaError says how the answer differs from --output-schema.
type schemaError struct{ Problem string }

// Error says what is wrong with the answer.
func (e *schemaError) Error() string {
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
	var document any
	if json.Unmarshal([]byte(text), &document) == nil && refersOutside(document) {
		return nil, cli.Usage("--output-schema %s: it refers to another file; put all of it into this one", path)
	}
	check, err := tool.Compile([]byte(text))
	if err != nil {
		return nil, cli.Usage("--output-schema %s: the schema %w", path, err)
	}
	if !check.CanCheck() {
		return nil, cli.Usage(
			"--output-schema %s: answers could not be checked with it; use JSON Schema draft-07", path,
		)
	}
	return &outputSchema{[]byte(strings.TrimSpace(text)), check}, nil
}

// refersOutside reports whether a schema refers to another document. Such references
// are not followed, so that a part of the answer would not be checked.
func refersOutside(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, refersOutside)
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), refersOutside)
	}
	return false
}

// checkAnswer returns the answer as JSON, or a *schemaError.
func (s *outputSchema) checkAnswer(answer string) (json.RawMessage, error) {
	if s == nil {
		return nil, nil
	}
	text := []byte(strings.TrimSpace(answer))
	if err := s.check.Check(text); err != nil {
		return nil, &schemaError{cli.OneLine(err)}
	}
	return text, nil
}

// schemaText returns the schema as it goes to the provider.
func (s *outputSchema) schemaText() []byte {
	if s == nil {
		return nil
	}
	return s.text
}

// withSessionName puts the session in front of an error of its answer.
func withSessionName(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %s: %w", id, err)
}
