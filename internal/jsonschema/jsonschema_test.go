package jsonschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"

	"github.com/meerkat-go/conformance/internal/jsonschema"
)

// decode returns a schema as Compile takes it.
func decode(t *testing.T, text string) any {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestValidate holds what a breach is called, where it is, and the order.
func TestValidate(t *testing.T) {
	for _, c := range []struct{ schema, doc, want string }{
		{`{"type":"object"}`, `{}`, ""},
		{`{"type":"object"}`, `7`, "[]: got number, want object"},
		{`{"required":["b","a"]}`, `{}`, "[]: a is required\n[]: b is required"},
		{`{"properties":{"z":{"minimum":0.5},"a":{"items":{"multipleOf":3}}}}`, `{"z":0.25,"a":[3,4]}`, "[a 1]: must be a multiple of 3\n[z]: must be at least 0.5"},
		{`{"exclusiveMinimum":1}`, `1`, "[]: must be more than 1"},
		{`{"exclusiveMaximum":1}`, `1`, "[]: must be less than 1"},
		{`{"maximum":1}`, `1.5`, "[]: must be at most 1"},
		// Of a choice, the alternative that fits furthest is explained.
		{`{"anyOf":[{"type":"string"},{"items":{"required":["id"]}}]}`, `[{}]`, "[0]: id is required"},
		{`{"oneOf":[{"items":{"required":["id"]}},{"type":"string"}]}`, `[{}]`, "[0]: id is required"},
	} {
		s, err := jsonschema.Compile(decode(t, c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		found, err := s.Validate([]byte(c.doc))
		var lines []string
		for _, f := range found {
			lines = append(lines, fmt.Sprintf("%v: %s", f.Path, f.Message))
		}
		if got := strings.Join(lines, "\n"); err != nil || got != c.want {
			t.Errorf("%s of %s: %v\n got %s\nwant %s", c.doc, c.schema, err, got, c.want)
		}
	}
}

// TestCompileRefuses holds that a broken schema is an error of one line, and that no
// reference opens anything.
func TestCompileRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":5}}}`:           "properties.a.type: ",
		`{"$ref":"file:///etc/hostname"}`:           "references lead to the same document only",
		`{"$ref":"https://example.test/x.json"}`:    "references lead to the same document only",
		`{"properties":{"a":{"minimum":"a"}}}`:      "got string, want number",
		`{"properties":{"a":{"$ref":"#/nothing"}}}`: "nothing",
	} {
		_, err := jsonschema.Compile(decode(t, schema))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", schema, err, want)
		}
	}
}

// FuzzValidate holds that another implementation agrees on what fits, for schemas of the
// keywords that both read in the same way.
func FuzzValidate(f *testing.F) {
	const schema = `{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"],"minLength":2},"b":{"type":"array","items":{"type":"boolean"},"maxItems":2}},"additionalProperties":false}`
	for _, doc := range []string{`{}`, `{"a":"xy"}`, `{"a":null,"b":[true,1]}`, `{"a":"x","c":1}`, `[`, `{"a":"é"}`} {
		f.Add([]byte(doc))
	}
	var root any
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		f.Fatal(err)
	}
	ours, err := jsonschema.Compile(root)
	theirs, otherErr := gojsonschema.NewSchema(gojsonschema.NewStringLoader(schema))
	if err != nil || otherErr != nil {
		f.Fatal(err, otherErr)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return
		}
		found, err := ours.Validate(doc)
		result, otherErr := theirs.Validate(gojsonschema.NewBytesLoader(doc))
		if err != nil || otherErr != nil || (len(found) == 0) != result.Valid() {
			t.Errorf("%s: %v %v; %v %v", doc, found, err, result, otherErr)
		}
	})
}
