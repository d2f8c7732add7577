package session

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// TestMetadata: records change the names that they list, an empty value removes
// one, a fork takes them along, an export shows them, and a session without any
// loads as before.
func TestMetadata(t *testing.T) {
	s := stored(t)
	if s.Metadata != nil {
		t.Fatalf("a session of an earlier build has metadata: %v", s.Metadata)
	}
	with, err := s.With(
		Metadata{At: at(7), Values: map[string]string{"ticket": "42", "owner": "<ada>"}},
		Metadata{At: at(8), Values: map[string]string{"ticket": "", "team": "x"}},
	)
	want := map[string]string{"owner": "<ada>", "team": "x"}
	if err != nil || !maps.Equal(with.Metadata, want) {
		t.Fatalf("%v, %v; want %v", with.Metadata, err, want)
	}
	if s.Metadata != nil {
		t.Error("With changed the session that it was called on")
	}
	_, records, err := with.Fork(1, "0199a2b4-0000-7000-8000-000000000002", at(9))
	if err != nil {
		t.Fatal(err)
	}
	fork, err := Load(append([]Record{Header{
		Version: Version, ID: "0199a2b4-0000-7000-8000-000000000002", Created: at(9),
	}}, records...)...)
	if err != nil || !maps.Equal(fork.Metadata, want) {
		t.Errorf("fork: %v, %v", fork.Metadata, err)
	}
	var lines bytes.Buffer
	if err := WriteJSONL(&lines, &with); err != nil || !strings.HasPrefix(
		lines.String(),
		`{"type":"session_metadata","at":"2026-01-02T03:04:00Z","metadata":{"owner":"<ada>","team":"x"}}`,
	) {
		t.Errorf("%.200s, %v", lines.String(), err)
	}
}

func TestCheckMetadata(t *testing.T) {
	many := map[string]string{}
	for i := range MaxMetadata {
		many["n"+strings.Repeat("x", i)] = strings.Repeat("v", MaxMetadataValue)
	}
	if err := CheckMetadata(many); err != nil {
		t.Errorf("as much as allowed: %v", err)
	}
	many["one.more"] = "x"
	for want, values := range map[string]map[string]string{
		"33 names are more than the 32":                 many,
		`metadata "": not a name`:                       {"": "x"},
		`metadata "a b": not a name`:                    {"a b": "x"},
		"not a name; use 1 to 64":                       {strings.Repeat("n", 65): "x"},
		"metadata n: its value has 1025 bytes":          {"n": strings.Repeat("v", 1025)},
		"metadata n: its value must be one line of UTF": {"n": "a\x1b[2J"},
		"metadata m: its value must be one line of UTF": {"m": "\xff"},
	} {
		if err := CheckMetadata(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
