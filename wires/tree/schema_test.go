package tree

import "testing"

func TestFindSchemaFault(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `true`: true,
		`{"type":"object","properties":{"type":{"type":"string"},"required":{"enum":[1]}},"required":["type"]}`: true,
		`{"type":["string","null"],"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"const":{"type":"any"}}}}`:      true,
		`{"items":{"items":{"type":"object"}},"default":{"type":"any"},"x-note":{"type":"any"}}`:                true,
		`{"type":"any"}`: false, `{"type":[]}`: false, `{"type":["string",1]}`: false, `{"type":null}`: false,
		`{"properties":[]}`: false, `{"properties":{"a":"string"}}`: false, `{"required":"a"}`: false,
		`{"required":[1]}`: false,
		`{"anyOf":[]}`:     false, `{"items":[{"type":"string"}]}`: false, `{"exclusiveMinimum":true}`: false,
		`"string"`: false,
		`{"$defs":{"a":{"items":{"type":"str"}}}}`: false,
	} {
		root, err := ParseStrict([]byte(text), MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		basic, other := FindSchemaFault(root, true, false), FindSchemaFault(root, false, false)
		if got := basic.Node == nil && other.Node == nil; got != want {
			t.Errorf("%s: %t, %v, %v", text, got, basic, other)
		}
	}
}

func TestResolvePointer(t *testing.T) {
	root, err := ParseStrict([]byte(`{"$defs":{"a/b":{"anyOf":[{"title":"here"}]}}}`), MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	for ref, found := range map[string]bool{
		"#": true, "#/$defs/a~1b": true, "#/$defs/a~1b/anyOf/0": true, "#/$defs/a~1b/anyOf/1": false,
		"#/$defs/a~1b/anyOf/x": false, "#/$defs/c": false,
	} {
		if got := ResolvePointer(root, ref); (got != nil) != found {
			t.Errorf("%s: %v", ref, got)
		}
	}
}
