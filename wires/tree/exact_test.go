package tree

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseKeepsWhatWasSent(t *testing.T) {
	const doc = ` {"b":1.0, "a":[true,null,"\u00e9"],"b":2} `
	n := mustParse(t, doc)
	if got := strings.Join(n.Names(), ","); got != "b,a,b" {
		t.Errorf("names %s", got)
	}
	if got := n.Get("b").Int(); got != 2 {
		t.Errorf("of two members the last one counts, got %d", got)
	}
	a := n.Get("a")
	if a.Raw() != `[true,null,"\u00e9"]` || doc[a.Offset():a.Offset()+len(a.Raw())] != a.Raw() {
		t.Errorf("raw %s at %d", a.Raw(), a.Offset())
	}
	if a.Items()[2].Text() != "é" || !a.Items()[0].True() || !a.Items()[1].Null() {
		t.Errorf("elements %v", a.Items())
	}
	if got := string(Encode(n)); got != `{"b":1.0,"a":[true,null,"\u00e9"],"b":2}` {
		t.Errorf("encoded %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, doc := range []string{"", " ", "{", `{"a"}`, `[1,]`, `{"a":1}{"b":2}`, "nul", `"\ud8"`, "1 2", "\x00"} {
		if n, err := Parse(doc); err == nil {
			t.Errorf("%q is taken for %s", doc, n.Raw())
		}
	}
}

func TestParseElements(t *testing.T) {
	for doc, want := range map[string]struct {
		n      int
		closed bool
	}{
		`[{"a":1},{"b":2}]`: {2, true}, `[{"a":1},{"b":`: {1, false}, `[{"a":1},`: {1, false}, `[`: {0, false},
		`[]`: {0, true}, `{}`: {0, false}, ``: {0, false},
	} {
		elems, closed := ParseElements(doc)
		if len(elems) != want.n || closed != want.closed {
			t.Errorf("%s: %d elements, closed %v", doc, len(elems), closed)
		}
	}
}

// TestStrings: what differs on the wire stays different.
func TestStrings(t *testing.T) {
	for raw, want := range map[string]string{
		`"a\"\\\/\b\f\n\r\t"`:  "a\"\\/\b\f\n\r\t",
		`"\u00e9\ud83d\ude00"`: "é😀",
		`"\ud83d"`:             "\xed\xa0\xbd",
		`"\ude00\ud83d!"`:      "\xed\xb8\x80\xed\xa0\xbd!",
		"\"\xff\xfe\"":         "\xff\xfe",
		`"\u0000"`:             "\x00",
	} {
		n := mustParse(t, raw)
		if got := n.Text(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if again := mustParse(t, string(Quote(want))); again.Text() != want {
			t.Errorf("%q becomes %q when sent", want, again.Text())
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		path string
	}{
		{`{"a":1,"b":[2]}`, `{ "b":[2.0], "a":1e0 }`, "="},
		{`{"a":1}`, `{"a":1,"cache_control":{}}`, "="},
		{`10000000000000000000001`, `10000000000000000000002`, ""},
		{`1e400`, `10e399`, "="},
		{`-0`, `0`, "="},
		{`0.10`, `1e-1`, "="},
		{`"\u0061"`, `"a"`, "="},
		{`{"a":[{"x":1},{"x":2}]}`, `{"a":[{"x":1},{"x":3}]}`, ".a[1].x"},
		{`{"a":[1]}`, `{"a":[1,2]}`, ".a"},
		{`{"a":1}`, `{}`, ".a"},
		{`{}`, `{"a":1}`, ".a"},
		{`{"a":null}`, `{"a":0}`, ".a"},
		{`[1,2]`, `[2,1]`, "[0]"},
		{`true`, `false`, ""},
		{`{"a":1,"a":2}`, `{"a":2}`, "="},
	} {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		path, what := Diff(a, b, "cache_control")
		if path != c.path || (path != "=" && what == "") {
			t.Errorf("%s / %s: %q %q, want %q", c.a, c.b, path, what, c.path)
		}
		if (path == "=") != Equal(b, a, "cache_control") {
			t.Errorf("%s / %s: not symmetric", c.a, c.b)
		}
		if c.path == "=" && !strings.Contains(c.b, "cache") && a.Hash() != b.Hash() {
			t.Errorf("%s / %s: equal and hashed differently", c.a, c.b)
		}
	}
}

func TestSameTokens(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2]}`, "{ \"a\" : 1,\n\"b\":[ 2 ] }", true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		{`1.0`, `1`, false},
		{`"\u0061"`, `"a"`, false},
		{`[]`, `{}`, false},
		{`[]`, `[ ]`, true},
		{`[[]]`, `[[ ]]`, true},
	} {
		if got := SameTokens(mustParse(t, c.a), mustParse(t, c.b)); got != c.same {
			t.Errorf("%s / %s: %v", c.a, c.b, got)
		}
	}
}

// TestQuoteRoundTrip: any bytes survive being written and read.
func TestQuoteRoundTrip(t *testing.T) {
	// Bytes of the neighbourhood of surrogates, among any others.
	byteOf := rapid.OneOf(rapid.Byte(),
		rapid.SampledFrom([]byte{0xED, 0x9F, 0xA0, 0xAF, 0xB0, 0xBF, 0x80, '"', '\\', 0}))
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(byteOf).Draw(t, "bytes"))
		n, err := Parse(Quote(s))
		if err != nil || n.Text() != s {
			t.Fatalf("%q becomes %q: %v", s, n.Text(), err)
		}
	})
}
