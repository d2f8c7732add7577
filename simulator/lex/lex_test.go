package lex

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func lexer(text string) *Lexer {
	l := New(text)
	return &l
}

// read builds what json.Unmarshal does.
func read(l *Lexer, names *Nest[string], items *Nest[any]) any {
	switch kind := l.Kind(); kind {
	case '"':
		return l.Text()
	case '{', '[':
		name, item := names.Mark(), items.Mark()
		for l.Enter(); l.More(); {
			if kind == '{' {
				names.Add(l.Name())
			}
			items.Add(read(l, names, items))
		}
		keys, values := names.Take(name), items.Take(item)
		if kind == '[' {
			return append([]any{}, values...)
		}
		object := map[string]any{}
		for i, key := range keys {
			object[key] = values[i]
		}
		return object
	default:
		var v any
		if err := json.Unmarshal([]byte(l.Literal()), &v); err != nil {
			return err
		}
		return v
	}
}

var samples = []string{
	`{}`, `[]`, `""`, `0`, `null`, ` { "a" : [ 1 , {"b":[]} , "\\" , "\"" , "\\\"x" ] ,"a":true, "é\u00e9\n":"\ud83d\ude00" } `,
	`[[[[1],2],3],4]`, "[\"a\\\\\",\"b\"\t,\r\n-1.5e3]", `{"":{"":""}}`, `[true,false,null]`,
}

func TestRead(t *testing.T) {
	for _, sample := range samples {
		hold(t, sample)
	}
}

// hold fails unless the text reads as the library reads it.
func hold(t *testing.T, text string) {
	t.Helper()
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return
	}
	if got := read(lexer(text), new(Nest[string]), new(Nest[any])); !reflect.DeepEqual(got, want) {
		t.Errorf("%q reads %#v, want %#v", text, got, want)
	}
}

// TestOffset holds that a value's bytes can be cut out.
func TestOffset(t *testing.T) {
	l := lexer(`[1, {"a":2} ,3]`)
	l.Enter()
	l.More()
	l.Literal()
	l.More()
	start := l.Offset()
	read(l, new(Nest[string]), new(Nest[any]))
	if got := `[1, {"a":2} ,3]`[start:l.Offset()]; got != `{"a":2}` {
		t.Errorf("the second element is %q", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, sample := range samples {
		f.Add(sample)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if json.Valid([]byte(text)) && !loneSurrogate(text) {
			hold(t, text)
		}
	})
}

// loneSurrogate reports whether the library would put U+FFFD for half a pair.
func loneSurrogate(text string) bool {
	var v any
	_ = json.Unmarshal([]byte(text), &v) // it is valid
	return strings.ContainsRune(fmt.Sprint(v), '\uFFFD')
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{` {"a":1} `: ` {"a":1}`, `1 2`: "", `{"a":1,"a":2}`: `{"a":1,"a":2}`, `{`: "", "": "", `"\ud800"`: "", "\"\xff\"": ""} {
		got, err := Value([]byte(text))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	if _, err := Value([]byte("1 2")); !errors.Is(err, ErrTrailing) {
		t.Errorf("two values: %v", err)
	}
	var syntax *jsontext.SyntacticError
	if _, err := Value([]byte(`{"a":x}`)); !errors.As(err, &syntax) || syntax.ByteOffset != 5 {
		t.Errorf("no value at 5: %v", err)
	}
}

// TestNest holds that trees that are built one after the other do not touch each
// other.
func TestNest(t *testing.T) {
	var n Nest[int]
	var all [][]int
	for tree := range 100 {
		outer := n.Mark()
		n.Add(-1)
		inner := n.Mark()
		for range tree {
			n.Add(tree)
		}
		all = append(all, n.Take(inner))
		if kept := n.Take(outer); len(kept) != 1 || kept[0] != -1 {
			t.Fatalf("outer children %v", kept)
		}
		n.Forget()
	}
	for tree, children := range all {
		if len(children) != tree || slices.ContainsFunc(children, func(c int) bool { return c != tree }) || cap(children) != tree {
			t.Fatalf("tree %d has %v", tree, children)
		}
	}
}

func TestSlab(t *testing.T) {
	var s Slab[int]
	var all []*int
	for i := range 100 {
		all = append(all, s.Put(i))
	}
	for i, v := range all {
		if *v != i {
			t.Fatalf("value %d is %d", i, *v)
		}
	}
}
