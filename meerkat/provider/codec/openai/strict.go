package openai

import (
	"encoding/json"
	"slices"
)

// isStrictSchema reports whether a JSON Schema keeps the rules of OpenAI's strict mode:
// every object in it allows no further members and requires all that it names
// (O-19). Others are sent with strict off, or refused.
func isStrictSchema(schema []byte) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && isStrict(v)
}

func isStrict(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isStrict(item) })
	case map[string]any:
		if !isClosedObject(v) {
			return false
		}
		for _, member := range v {
			if !isStrict(member) {
				return false
			}
		}
	}
	return true
}

// isClosedObject reports whether v is not a schema of an object, or one that names and
// requires all its members.
func isClosedObject(v map[string]any) bool {
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
