package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     []Change
	}{
		"equal":         {`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		"member order":  {`{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		"value":         {`{"a":{"b":1}}`, `{"a":{"b":2}}`, []Change{{"a.b", "1", "2"}}},
		"added":         {`{}`, `{"a":"<x>"}`, []Change{{"a", "", `"<x>"`}}},
		"removed":       {`{"a":null}`, `{}`, []Change{{"a", "null", ""}}},
		"element":       {`[1,2]`, `[1,3,4]`, []Change{{"[1]", "2", "3"}, {"[2]", "", "4"}}},
		"kind":          {`{"a":{}}`, `{"a":[]}`, []Change{{"a", "{}", "[]"}}},
		"scalar object": {`{"a":1}`, `{"a":{"b":1}}`, []Change{{"a", "1", `{"b":1}`}}},
		"number form":   {`1.0`, `1`, []Change{{"", "1.0", "1"}}},
		"big integer":   {`9007199254740993`, `9007199254740992`, []Change{{"", "9007199254740993", "9007199254740992"}}},
		"not JSON":      {`x`, `{}`, []Change{{"", "x", "{}"}}},
		"same text":     {`x`, `x`, nil},
		"nothing":       {``, ``, nil},
		"from nothing":  {``, `{}`, []Change{{"", "", "{}"}}},
	} {
		if d := cmp.Diff(c.want, Diff([]byte(c.old), []byte(c.new))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDiffIsBounded(t *testing.T) {
	var a, b []string
	for i := range 1000 {
		a, b = append(a, fmt.Sprint(i)), append(b, fmt.Sprint(-i-1))
	}
	if n := len(Diff([]byte("["+strings.Join(a, ",")+"]"), []byte("["+strings.Join(b, ",")+"]"))); n != maxChanges {
		t.Errorf("%d changes, want %d", n, maxChanges)
	}
}

// A body has no difference from itself, and JSON ones have the same
// fingerprint when they have no difference.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x",null,{"b":1.0}]}`), []byte(`{"a":[1,"x",null,{"b":1}]}`))
	f.Add([]byte(`{"metadata":1,"user":2}`), []byte(`{"user":2}`))
	f.Add([]byte("{\"a\":\"\xff\"}"), []byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if d := Diff(a, a); len(d) != 0 {
			t.Fatalf("differs from itself: %v", d)
		}
		x, y := asked(string(a)), asked(string(b))
		keyA, exactA := fingerprint(x)
		keyB, exactB := fingerprint(y)
		if exactA == exactB && keyA != keyB {
			t.Fatal("equal bodies, unequal keys")
		}
		if bytes.Equal(a, b) && exactA != exactB {
			t.Fatal("one body, two fingerprints")
		}
		if rules := relaxedBy(x, y); exactA == exactB && len(rules) != 0 {
			t.Fatalf("equal bodies relaxed by %v", rules)
		}
	})
}
