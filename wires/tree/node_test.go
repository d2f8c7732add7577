package tree

import (
	"strconv"
	"testing"
)

func mustParse(tb testing.TB, text string) *Node {
	tb.Helper()
	root, err := Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return root
}

func TestMembers(t *testing.T) {
	root := mustParse(t, `{"a":1,"b":null,"a":2,"c":{"d":"x"},"e":[true,1.5]}`)
	if got := root.Get("a").Raw(); got != "2" {
		t.Errorf("the last of two members counts, not %s", got)
	}
	if len(root.Names()) != 5 || root.Names()[2] != "a" || root.Items()[0].Raw() != "1" {
		t.Errorf("names %v", root.Names())
	}
	if root.Get("b") == nil || !root.Get("b").Null() || root.Given("b") != nil || root.Has("b") || !root.Has("c") ||
		root.Has("z") {
		t.Error("a null is there, but not given")
	}
	if root.Given("a", "b") == nil || root.Given("b", "z") != nil {
		t.Error("of several names the last member counts")
	}
	if got := root.Get("c").Get("d").Text(); got != "x" {
		t.Errorf("text %q", got)
	}
	if list := root.Get("e").List(); len(list) != 2 || !list[0].True() || !list[1].Is(Decimal) || root.List() != nil {
		t.Error("elements")
	}
}

// TestAbsent holds that every method works on an absent value.
func TestAbsent(t *testing.T) {
	var n *Node
	_, isNumber := n.Number()
	_, isWhole := n.Whole()
	if n.Get("a").Given("b").Any("c", "d").Text() != "" || !n.Null() || n.False() || n.Int() != -1 || n.Offset() != 0 ||
		n.Raw() != "" || n.Kind() != 0 || n.Is(Null) || n.True() || n.Has("a") || isNumber || isWhole ||
		n.Names() != nil || n.Items() != nil || n.List() != nil || n.Decoded() != nil || n.Map() != nil {
		t.Error("an absent value is something")
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]struct {
		value float64
		whole bool
	}{`1`: {1, true}, `-1.0`: {-1, true}, `1e2`: {100, true}, `1.5`: {1.5, false}, `1e15`: {1e15, false},
		`1e999`: {0, false}, `"1"`: {0, false}} {
		value, _ := mustParse(t, text).Number()
		whole, isWhole := mustParse(t, text).Whole()
		if value != want.value || isWhole != want.whole || isWhole && float64(whole) != want.value {
			t.Errorf("%s is %v, whole %t", text, value, isWhole)
		}
	}
	for text, want := range map[string]int{`0`: 0, `12`: 12, `-1`: -1, `1.0`: -1, `1e0`: -1, `1234567890`: -1,
		`"1"`: -1} {
		if got := mustParse(t, text).Int(); got != want {
			t.Errorf("%s is the index %d, want %d", text, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	var paths Paths
	at := paths.Member(paths.Element(paths.Member(nil, "input"), 2), "content")
	if at.String() != "input[2].content" || at.Dotted() != "input.2.content" || at.Name() != "content" {
		t.Errorf("%s %s", at, at.Dotted())
	}
	if first := paths.Element(nil, 3); first.String() != "[3]" || first.Dotted() != "3" {
		t.Errorf("%s %s", first, first.Dotted())
	}
	var all []*Path
	for i := range 100 {
		all = append(all, paths.Element(nil, i))
	}
	for i, p := range all {
		if p.Dotted() != strconv.Itoa(i) {
			t.Errorf("path %d is %s", i, p.Dotted())
		}
	}
}

func TestCanonical(t *testing.T) {
	root := mustParse(t, ` {"b" : [1.0, "\u0061", null], "a" : {"x":true} }`)
	if got := string(Canonical{}.Append(nil, root)); got != `{"a":{"x":true,},"b":[1.0,"a",null,],}` {
		t.Error(got)
	}
	short := Canonical{
		AppendNumber: func(out []byte, literal string) []byte { return append(out, '#') },
		Omit:         func(name string, _ *Node) bool { return name == "a" },
	}
	if got := string(short.Append(nil, root)); got != `{"b":[#,"a",null,],}` {
		t.Error(got)
	}
	if got := string(Canonical{}.Append(nil, nil)); got != "null" {
		t.Error(got)
	}
}
