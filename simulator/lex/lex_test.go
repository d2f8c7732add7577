package lex

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

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
	if got := read(New(text), new(Nest[string]), new(Nest[any])); !reflect.DeepEqual(got, want) {
		t.Errorf("%q reads %#v, want %#v", text, got, want)
	}
}

// TestOffset holds that a value's bytes can be cut out.
func TestOffset(t *testing.T) {
	l := New(`[1, {"a":2} ,3]`)
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
