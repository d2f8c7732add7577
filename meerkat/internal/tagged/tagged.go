// Package tagged reads and writes choices in the JSON form {"type":"allow_list","value":[…]}:
// the name of a choice and what belongs to it.
package tagged

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/internal/spelling"
)

type choice struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Encode returns the form of a choice. A nil value stands for a choice that has none.
func Encode(kind string, value any) ([]byte, error) {
	if value == nil {
		return json.Marshal(choice{Type: kind})
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(choice{kind, data})
}

// Decode reads the form and returns the name of the choice. values has every name that
// is known, with a pointer for its value, or nil for a choice that has none. Unknown
// names and members, a value that is missing and one that is too many are errors: what is
// only half understood must not be acted upon.
func Decode(data []byte, values map[string]any) (string, error) {
	var c choice
	if err := decodeStrict(data, &c); err != nil {
		return "", err
	}
	into, known := values[c.Type]
	hasValue := len(c.Value) > 0 && string(c.Value) != "null"
	switch {
	case !known:
		return "", fmt.Errorf(
			"type %q is not known; %s", c.Type, spelling.Advice(c.Type, slices.Sorted(maps.Keys(values))),
		)
	case into == nil && hasValue:
		return "", fmt.Errorf("%s takes no value", c.Type)
	case into != nil && !hasValue:
		return "", fmt.Errorf("%s needs a value", c.Type)
	case into != nil:
		if err := decodeStrict(c.Value, into); err != nil {
			return "", fmt.Errorf("%s: %w", c.Type, err)
		}
	}
	return c.Type, nil
}

func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
