package gateway

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

func TestDiffBodies(t *testing.T) {
	for _, tt := range []struct {
		name, wire, was, is string
		want                []string
	}{
		{"equal but for spelling", "", `{"a":1.0,"b":"é"}`, `{"b":"\u00e9","a":1}`, nil},
		{"a number rounded", "", `{"a":12345678901234567890}`, `{"a":12345678901234567000}`, []string{"a"}},
		{"a name that stands twice", "", `{"a":{"text":"x","text":"y"}}`, `{"a":{"text":"y"}}`, nil},
		{"a name lost beside one that stands twice", "", `{"t":1,"t":2,"u":3}`, `{"t":2}`, []string{"u"}},
		{"added and left out", "", `{"a":[1,{"b":2}]}`, `{"a":[1,{"c":2}]}`, []string{"a[1].b", "a[1].c"}},
		{"two spellings", "gemini", `{"topK":1,"top_p":2}`, `{"top_k":1,"topP":3}`, []string{"top_p"}},
		{"another name", "anthropic", `{"topK":1}`, `{"top_k":1}`, []string{"topK", "top_k"}},
	} {
		was, _ := tree.Parse(tt.was)
		is, _ := tree.Parse(tt.is)
		var got []string
		for _, d := range diffBodies(wires.Find(tt.wire), was, is) {
			got = append(got, d.path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, _, isEqual := diffJSON(`{"text": her`, `{"text": her`); !isEqual {
		t.Error("equal texts that are no JSON differ")
	}
}

func TestUnwrapTexts(t *testing.T) {
	wrapped := []string{`[{"type":"text","text":"line 1\nline 2"}]`}
	if lost := firstMissing([]string{"line 1\nline 2"}, unwrapTexts(wrapped)); lost != "" {
		t.Errorf("%q is not found in %q", lost, wrapped)
	}
}
