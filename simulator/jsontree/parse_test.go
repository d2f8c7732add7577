package jsontree

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
	`{}`, `[]`, `""`, `0`, `null`, ` { "a" : [ 1 , {"b":[]} , "\\" , "\"" , "\\\"x" ] ,"a":true, "é\u00e9\n":"\ud83d\ude00" } `,
	`[[[[1],2],3],4]`, "[\"a\\\\\",\"b\"\t,\r\n-1.5e3]", `{"":{"":""}}`, `[true,false,null]`, `[0,-0,0.5,1E5,-1e-5,10]`, `1e999`,
	``, `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[1 2]`, `1 2`, `{"a" 1}`, `{1:2}`, `{"a":x}`, `"`, `"\`, `"\x"`, `"\u12"`, "\"\n\"",
	"\"\\\n\"", `"\ud800"`, `"\ud800\u0041"`, "\"\xff\"", "\"a\xc3\"", `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `--1`, `1-1`, `+1`, `tru`, `truex`, `nul`, `}`,
}

// holdParse fails unless both parsers take what the libraries take and read the
// same values.
func holdParse(t *testing.T, text string) {
	t.Helper()
	var want any
	valid := json.Unmarshal([]byte(text), &want) == nil
	lenient, failure := ParseLenient([]byte(text), MaxDepth)
	if (failure == nil) != json.Valid([]byte(text)) {
		t.Fatalf("%q is lenient %v, valid %t", text, failure, json.Valid([]byte(text)))
	}
	if failure != nil && (failure.Offset < 0 || failure.Offset > len(text)) {
		t.Fatalf("%q fails at %d", text, failure.Offset)
	}
	if valid && !reflect.DeepEqual(lenient.Decoded(), want) {
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
		"":            {0, ValueExpected},
		`{"a":x}`:     {5, ValueExpected},
		`{x}`:         {1, NameExpected},
		`{"a" 1}`:     {5, ColonExpected},
		`{"a":1 "b"}`: {7, MemberEndExpected},
		`[1`:          {2, ItemEndExpected},
		`["a`:         {3, QuoteExpected},
		`1 2`:         {2, EndExpected},
		"\"a\nb\"":    {2, ControlCharacter},
		`["\x"]`:      {5, BadEscape},
		`[ 01]`:       {2, BadNumber},
		` trve`:       {1, BadWord},
		`[[[[1]]]]`:   {4, TooDeep},
	} {
		if _, failure := ParseLenient([]byte(text), 3); failure == nil || *failure != want {
			t.Errorf("%q fails with %v, want %v", text, failure, want)
		}
	}
}

// TestStrictErrors holds what providers look for in an error.
func TestStrictErrors(t *testing.T) {
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
		if len(list) != n+1 || cap(list) != n+1 || list[n].Text() != "end" || n > 0 && list[n-1].Get("a").Text() != "b" {
			t.Fatalf("tree %d has %d elements: %s", n, len(list), root.Raw())
		}
	}
}
