package tree

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// samples are texts that are JSON, and some that are not.
var samples = []string{
	`{}`, `[]`, `""`, `0`, `null`,
	` { "a" : [ 1 , {"b":[]} , "\\" , "\"" , "\\\"x" ] ,"a":true, "é\u00e9\n":"\ud83d\ude00" } `,
	`[[[[1],2],3],4]`, "[\"a\\\\\",\"b\"\t,\r\n-1.5e3]", `{"":{"":""}}`, `[true,false,null]`,
	`[0,-0,0.5,1E5,-1e-5,10]`, `1e999`,
	``, `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[1 2]`, `1 2`, `{"a" 1}`, `{1:2}`, `{"a":x}`, `"`,
	`"\`, `"\x"`, `"\u12"`, "\"\n\"",
	"\"\\\n\"", `"\ud800"`, `"\ud800\u0041"`, "\"\xff\"", "\"a\xc3\"", `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `--1`, `1-1`,
	`+1`, `tru`, `truex`, `nul`, `}`,
}

// holdParse fails unless the three ways of reading take what the libraries take and
// read the same values, each with its bytes at its offset.
func holdParse(t *testing.T, text string) {
	t.Helper()
	var want any
	decodes, valid := json.Unmarshal([]byte(text), &want) == nil, json.Valid([]byte(text))
	lenient, fault := ParseLenient([]byte(text), MaxDepth)
	if (fault == nil) != valid {
		t.Fatalf("%q is lenient %v, valid %t", text, fault, valid)
	}
	if fault != nil && (fault.Offset < 0 || fault.Offset > len(text)) {
		t.Fatalf("%q fails at %d", text, fault.Offset)
	}
	if decodes && !reflect.DeepEqual(lenient.Decoded(), want) {
		t.Errorf("%q reads %#v, want %#v", text, lenient.Decoded(), want)
	}
	strict, err := ParseStrict([]byte(text), MaxDepth)
	switch described := describeFailure([]byte(text)); {
	case !reflect.DeepEqual(err, described):
		t.Errorf("%q is refused with %v, the library says %v", text, err, described)
	case err == nil && !reflect.DeepEqual(strict.Decoded(), lenient.Decoded()):
		t.Errorf("%q reads %#v, leniently %#v", text, strict.Decoded(), lenient.Decoded())
	case err == nil && strict.Raw() != strings.Trim(text, " \t\r\n"):
		t.Errorf("%q is raw %q", text, strict.Raw())
	}
	exact, err := Parse(text)
	if (err == nil) != valid {
		t.Fatalf("%q is exactly %v, valid %t", text, err, valid)
	}
	if err != nil {
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) || syntax.Reason == "" {
			t.Fatalf("%q fails with %v", text, err)
		}
		return
	}
	holdPlaces(t, text, exact)
	if strict != nil && !Equal(exact, strict) {
		t.Errorf("%q differs when it is read strictly", text)
	}
	again, err := Parse(Encode(exact))
	if err != nil || !SameTokens(again, exact) && !Equal(again, exact) {
		t.Errorf("%q encodes to %s: %v", text, Encode(exact), err)
	}
}

// holdPlaces fails unless each value's bytes stand at its offset.
func holdPlaces(t *testing.T, text string, n *Node) {
	t.Helper()
	if !strings.HasPrefix(text[n.Offset():], n.Raw()) || n.Raw() == "" {
		t.Fatalf("%q is not at byte %d", n.Raw(), n.Offset())
	}
	for _, item := range n.Items() {
		holdPlaces(t, text, item)
	}
}

func TestParse(t *testing.T) {
	for _, text := range samples {
		holdParse(t, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range samples {
		f.Add(text)
	}
	f.Fuzz(holdParse)
}

// TestSyntaxError holds where a text fails and why.
func TestSyntaxError(t *testing.T) {
	for text, want := range map[string]SyntaxError{
		"":            {Offset: 0, Problem: ValueExpected},
		`{"a":x}`:     {Offset: 5, Problem: ValueExpected},
		`{x}`:         {Offset: 1, Problem: NameExpected},
		`{"a" 1}`:     {Offset: 5, Problem: ColonExpected},
		`{"a":1 "b"}`: {Offset: 7, Problem: MemberEndExpected},
		`[1`:          {Offset: 2, Problem: ItemEndExpected},
		`["a`:         {Offset: 3, Problem: QuoteExpected},
		`1 2`:         {Offset: 2, Problem: EndExpected},
		"\"a\nb\"":    {Offset: 2, Problem: ControlCharacter},
		`["\x"]`:      {Offset: 5, Problem: BadEscape},
		`[ 01]`:       {Offset: 2, Problem: BadNumber},
		` trve`:       {Offset: 1, Problem: BadWord},
		`[[[[1]]]]`:   {Offset: 4, Problem: TooDeep},
	} {
		if _, failure := ParseLenient([]byte(text), 3); failure == nil || *failure != want {
			t.Errorf("%q fails with %v, want %v", text, failure, want)
		}
	}
}

// TestErrors holds what providers look for in an error, and what people read.
func TestErrors(t *testing.T) {
	if _, err := ParseStrict([]byte("1 2"), MaxDepth); !errors.Is(err, ErrTrailing) {
		t.Errorf("two values: %v", err)
	}
	if _, err := ParseStrict(nil, MaxDepth); !errors.Is(err, io.EOF) {
		t.Errorf("no value: %v", err)
	}
	if _, err := ParseStrict([]byte("[[1]]"), 1); !errors.Is(err, errTooDeep) {
		t.Errorf("too deep: %v", err)
	}
	var syntax *jsontext.SyntacticError
	if _, err := ParseStrict([]byte(`{"a":x}`), MaxDepth); !errors.As(err, &syntax) || syntax.ByteOffset != 5 {
		t.Errorf("no value at 5: %v", err)
	}
	for text, want := range map[string]string{
		``: "byte 0: ends too early", `{"a":`: "byte 4: ends too early", `{"a":1}{`: "byte 7: more than one value",
		`[1,]`:                      "byte 2: invalid character ',' at start of value",
		strings.Repeat("[", 20_000): "byte 10000: exceeded max depth",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%.9q: %v, want %s", text, err, want)
		}
	}
	deep := strings.Repeat("[", 100_000)
	if _, err := ParseStrict([]byte(deep), MaxDepth); err == nil {
		t.Error("100,000 brackets are read")
	}
	if _, err := ParseLenient([]byte(`["\ud800"]`), MaxDepth); err != nil {
		t.Errorf("half a surrogate pair: %v", err)
	}
}

// TestTrees holds that trees that are parsed one after the other do not touch each
// other.
func TestTrees(t *testing.T) {
	var trees []*Node
	text := func(n int) string {
		return `{"n":[` + strings.Repeat(`{"a":"b"},`, n) + `"end"]}`
	}
	for n := range 100 {
		root, err := ParseStrict([]byte(text(n)), MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = ParseStrict([]byte(`[[1,2,{"x":`), MaxDepth) // given up half way
		trees = append(trees, root)
	}
	for n, root := range trees {
		list := root.Get("n").List()
		if len(list) != n+1 || cap(list) != n+1 || list[n].Text() != "end" ||
			n > 0 && list[n-1].Get("a").Text() != "b" {
			t.Fatalf("tree %d has %d elements: %s", n, len(list), root.Raw())
		}
	}
}
