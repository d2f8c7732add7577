package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

const city = `{ "type":"object", "properties":{"city":{"type":"string"}} }`

func TestFitToolSchema(t *testing.T) {
	all := []string{anthropicSchemas, openaiSchemas, geminiSchemas}
	for name, c := range map[string]struct {
		limits       []string
		schema, want string // want "": its own bytes
		err          string
	}{
		"as it stands":        {all, city, "", ""},
		"empty":               {all, ``, "", ""},
		"no limits are known": {[]string{""}, `{"anyOf":[]}`, "", ""},
		"no type":             {all, `{"properties":{}}`, `{"properties":{},"type":"object"}`, ""},
		"several types":       {all, `{"type":["object","null"]}`, `{"type":"object"}`, ""},
		"another type":        {all, `{"type":"string"}`, "", `describes "string"`},
		"a type that is none": {
			all, `{"type":"object","properties":{"a":{"type":"text"}}}`, "", "at properties.a the type text",
		},
		"a type that is a number": {all, `{"type":"object","properties":{"a":{"type":7}}}`, "", "not a type of JSON"},
		"no object":               {all, `[]`, "", "not a JSON object"},
		"no JSON":                 {all, `{`, "", "not JSON"},
		"a union at the root": {
			all,
			`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a","c"]},{"properties":{"b":{"type":"string"}},"required":["c"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["c"],"type":"object"}`, "",
		},
		"all of, at the root": {
			all,
			`{"allOf":[{"properties":{"a":{}},"required":["a"]},{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"b":{}}}}}`,
			`{"$defs":{"x":{"properties":{"b":{}}}},"properties":{"a":{},"b":{}},"required":["a"],"type":"object"}`,
			"",
		},
		"a union of no objects": {all, `{"anyOf":[{"type":"string"}]}`, "", "anyOf[0] is not an object"},
		"a reference at the root": {
			all, `{"$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}}`,
			`{"$defs":{"x":{"type":"object"}},"type":"object"}`, "",
		},
		"a circle at the root": {all, `{"$ref":"#"}`, "", "leads nowhere"},
		"a reference to elsewhere": {
			all, `{"type":"object","properties":{"a":{"$ref":"https://x.test/y"}}}`, "", "which is not in it",
		},
		"a reference to nothing": {
			all, `{"type":"object","properties":{"a":{"$ref":"#/$defs/no"}}}`, "", "which is not in it",
		},
		"a tree": {all, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, "", ""},
		"an array of anything": {
			[]string{openaiSchemas, geminiSchemas}, `{"type":"object","properties":{"a":{"type":"array"}}}`,
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`, "",
		},
		"Anthropic takes it": {all[:1], `{"type":"object","properties":{"a":{"type":"array"}}}`, "", ""},
		"a list of items": {
			all, `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`,
			`{"properties":{"a":{"items":{"anyOf":[{"type":"string"}]},"type":"array"}},"type":"object"}`, "",
		},
		"a name":                  {all[:1], `{"type":"object","properties":{"a b":{}}}`, "", `names a member "a b"`},
		"a name that others take": {all[1:], `{"type":"object","properties":{"a b":{}}}`, "", ""},
		"words of others": {
			all[2:], `{"$schema":"x","type":"object","properties":{"$schema":{"const":"x","exclusiveMinimum":1}}}`,
			`{"properties":{"$schema":{"enum":["x"]}},"type":"object"}`, "",
		},
		"numbers keep their form": {
			all, `{"properties":{"a":{"maximum":1.00000000000000000001}}}`,
			`{"properties":{"a":{"maximum":1.00000000000000000001}},"type":"object"}`, "",
		},
		"too deep": {
			all, strings.Repeat(`{"properties":{"a":`, 80) + "{}" + strings.Repeat("}}", 80), "", "nests too deep",
		},
		"required is no list": {all, `{"type":"object","required":"a"}`, "", "not a list"},
		"enum is no list": {
			all, `{"type":"object","properties":{"a":{"enum":"x"}}}`, "", "enum that is not a list",
		},
	} {
		for _, limits := range c.limits {
			got, err := fitToolSchema([]byte(c.schema), limits)
			want := c.want
			if want == "" {
				want = c.schema
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s, %s: %v, want %q", name, limits, err, c.err)
				}
				continue
			}
			if err != nil || string(got) != want {
				t.Errorf("%s, %s: %s, %v\nwant %s", name, limits, got, err, want)
			}
		}
	}
}

// FuzzFit: fitting never panics, gives JSON of an object, and changes nothing twice.
func FuzzFitToolSchema(f *testing.F) {
	f.Add(city)
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":{"b":{"items":[true]}}}}}`)
	f.Add(`{"$ref":"#/properties/a","properties":{"a":{"$ref":"#"}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for _, limits := range []string{anthropicSchemas, openaiSchemas, geminiSchemas} {
			once, err := fitToolSchema([]byte(schema), limits)
			if err != nil || len(once) == 0 {
				continue
			}
			var object map[string]any
			if json.Unmarshal(once, &object) != nil || object["type"] != "object" || object["anyOf"] != nil ||
				object["$ref"] != nil {
				t.Fatalf("%s: %s", limits, once)
			}
			if twice, err := fitToolSchema(once, limits); err != nil || string(twice) != string(once) {
				t.Fatalf("%s: %s became %s, %v", limits, once, twice, err)
			}
		}
	})
}
