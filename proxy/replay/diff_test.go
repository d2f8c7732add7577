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
		want     []change
	}{
		"equal":         {`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		"member order":  {`{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		"value":         {`{"a":{"b":1}}`, `{"a":{"b":2}}`, []change{{"a.b", "1", "2"}}},
		"added":         {`{}`, `{"a":"<x>"}`, []change{{"a", "", `"<x>"`}}},
		"removed":       {`{"a":null}`, `{}`, []change{{"a", "null", ""}}},
		"element":       {`[1,2]`, `[1,3,4]`, []change{{"[1]", "2", "3"}, {"[2]", "", "4"}}},
		"inserted":      {`[1,{"b":2}]`, `[0,1,{"b":2}]`, []change{{"[0]", "", "0"}}},
		"taken out":     {`[0,1,1]`, `[1,1]`, []change{{"[0]", "0", ""}}},
		"kind":          {`{"a":{}}`, `{"a":[]}`, []change{{"a", "{}", "[]"}}},
		"scalar object": {`{"a":1}`, `{"a":{"b":1}}`, []change{{"a", "1", `{"b":1}`}}},
		"number form":   {`1.0`, `1`, []change{{"", "1.0", "1"}}},
		"big integer": {`9007199254740993`, `9007199254740992`,
			[]change{{"", "9007199254740993", "9007199254740992"}}},
		"not JSON":      {`x`, `{}`, []change{{"", "x", "{}"}}},
		"same text":     {`x`, `x`, nil},
		"JSON and more": {`{"a":1} x`, `{"a":1} y`, []change{{"", `{"a":1} x`, `{"a":1} y`}}},
		"nothing":       {``, ``, nil},
		"from nothing":  {``, `{}`, []change{{"", "", "{}"}}},
	} {
		if d := cmp.Diff(c.want, diffJSON([]byte(c.old), []byte(c.new))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDiffIsBounded(t *testing.T) {
	var a, b []string
	for i := range 1000 {
		a, b = append(a, fmt.Sprint(i)), append(b, fmt.Sprint(-i-1))
	}
	if n := len(diffJSON([]byte("["+strings.Join(a, ",")+"]"), []byte("["+strings.Join(b, ",")+"]"))); n != maxChanges {
		t.Errorf("%d changes, want %d", n, maxChanges)
	}
}

// A body has no difference from itself, equal requests have one key at every
// level, and a key that two have in common at one level they have at the next.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x",null,{"b":1.0}]}`), []byte(`{"a":[1,"x",null,{"b":1}]}`))
	f.Add([]byte(`{"metadata":1,"system":2}`), []byte(`{"system":[{"text":"x-anthropic-billing-header:"}]}`))
	f.Add([]byte("{\"a\":\"\xff\"}"), []byte(`{"a":1,"a":2}`))
	f.Add([]byte(`{"messages":[{"role":"system"},{"content":[{"id":"x","type":"t"}]}]}`),
		[]byte(`{"messages":[{"content":[{"id":"y","type":"t"}]}]}`))
	f.Add([]byte(`{"request":{"session_id":1,"contents":[]},"user_prompt_id":1}`),
		[]byte(`{"request":{"contents":[]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if d := diffJSON(a, a); len(d) != 0 {
			t.Fatalf("differs from itself: %v", d)
		}
		x, y := formOf(asked(string(a))), formOf(asked(string(b)))
		if bytes.Equal(a, b) && x.computeDigest() != y.computeDigest() {
			t.Fatal("one body, two forms")
		}
		if used := usedFields(x, y, volatileFields()); x.computeDigest() == y.computeDigest() && len(used) != 0 {
			t.Fatalf("equal bodies relaxed by %v", used)
		}
		equal := x.computeDigest() == y.computeDigest()
		x, y = x.withoutVolatile(ruleSet{fields: volatileFields()}),
			y.withoutVolatile(ruleSet{fields: volatileFields()})
		for l := Exact; l < levels; l++ {
			now := x.reduceTo(l).computeDigest() == y.reduceTo(l).computeDigest()
			if equal && !now {
				t.Fatalf("equal before, but not at %s: %s, %s", l, x.reduceTo(l).body, y.reduceTo(l).body)
			}
			equal = now
		}
		if same := similarity(x, y); same < 0 || same > 1 {
			t.Fatalf("%g alike", same)
		}
	})
}
