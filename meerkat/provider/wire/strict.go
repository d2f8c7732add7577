package wire

import (
	"encoding/json"
	"slices"
)

// Strict reports whether a JSON Schema keeps the rules of OpenAI's strict mode:
// every object in it allows no further members and requires all that it names
// (reference §2.2, O-19). Others are sent with strict off, or refused.
func Strict(schema []byte) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strict(v)
}

func strict(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !strict(item) })
	case map[string]any:
		if !closed(v) {
			return false
		}
		for _, member := range v {
			if !strict(member) {
				return false
			}
		}
	}
	return true
}

// closed reports whether v is no schema of an object, or one that names and
// requires all its members.
func closed(v map[string]any) bool {
	properties, isObject := v["properties"].(map[string]any)
	if !isObject {
		return v["type"] != "object"
	}
	required, _ := v["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return v["additionalProperties"] == false
}
