package jsontok

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func TestUnescape(t *testing.T) {
	for _, c := range []struct{ name, lit, want string }{
		{"plain", `abc`, "abc"},
		{"short escapes", `\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{"bmp", `\u00e9\u20AC`, "é€"},
		{"pair", `\ud83d\ude00`, "😀"},
		{"lone high stays", `a\ud800b`, "a\xed\xa0\x80b"},
		{"lone low stays", `\udfffx`, "\xed\xbf\xbfx"},
		{"low before high stays", `\ude00\ud83d`, "\xed\xb8\x80\xed\xa0\xbd"},
		{"invalid utf-8 stays", "\xff\xc3", "\xff\xc3"},
		{"nul", `\u0000`, "\x00"},
		{"unknown escape stays", `\x41`, `\x41`},
		{"cut escape stays", `a\`, `a\`},
		{"cut unicode escape stays", `\u12`, `\u12`},
		{"bad unicode escape stays", `\u12G4`, `\u12G4`},
	} {
		if got := string(AppendUnescaped(nil, []byte(c.lit))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSurrogatesJoinOverDeltas(t *testing.T) {
	buf := AppendUnescaped(nil, []byte(`x\ud83d`))
	buf = AppendUnescaped(buf, []byte(`\ude00y`))
	if string(buf) != "x😀y" {
		t.Errorf("%q, want the pair joined", buf)
	}
}

func TestFieldsKeepsBytes(t *testing.T) {
	src := ` { "a" : 1.0 , "a":[ 1,2 ], "\u0062":"\ud800", "big":123456789012345678901234567890 } `
	var got []string
	err := Fields([]byte(src), func(name, value []byte) error {
		got = append(got, string(name)+"="+string(value))
		return nil
	})
	want := `a=1.0|a=[ 1,2 ]|b="\ud800"|big=123456789012345678901234567890`
	if err != nil || strings.Join(got, "|") != want {
		t.Errorf("%v, %s", err, strings.Join(got, "|"))
	}
}

func TestWalksRefuse(t *testing.T) {
	ignore := func([]byte) error { return nil }
	for _, src := range []string{``, `null`, `[]`, `{"a":1} x`, `{"a":1`, `{"a"}`, `{,}`} {
		if err := Fields([]byte(src), func(_, _ []byte) error { return nil }); err == nil {
			t.Errorf("Fields(%q): no error", src)
		}
	}
	for _, src := range []string{``, `{}`, `[1,]`, `[1] 2`, `[1`} {
		if err := Elements([]byte(src), ignore); err == nil {
			t.Errorf("Elements(%q): no error", src)
		}
	}
}

func TestWith(t *testing.T) {
	src := `{"type":"x", "n":1.50,"u":{"k":[ ]}}`
	got := With([]byte(src), Member{"n", []byte(`{}`)}, Member{`q"`, []byte(`"v"`)})
	want := `{"type":"x","n":{},"u":{"k":[ ]},"q\"":"v"}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := With([]byte(`{}`), Member{"a", []byte("1")}); string(got) != `{"a":1}` {
		t.Errorf("%s", got)
	}
	if With([]byte(`[1]`)) != nil {
		t.Error("an array was edited as an object")
	}
}

func TestCursorInt(t *testing.T) {
	for src, want := range map[string]int{"0": 0, " 12 ": 12, "999999999,": 999999999} {
		c := Cursor{Src: []byte(src)}
		if n, ok := c.Int(); !ok || n != want {
			t.Errorf("%q: %d, %v", src, n, ok)
		}
	}
	for _, src := range []string{"", "-1", "01", "1.0", "1e2", "1E2", "1234567890", "x"} {
		c := Cursor{Src: []byte(src)}
		if n, ok := c.Int(); ok {
			t.Errorf("%q: taken as %d", src, n)
		}
	}
}

// FuzzText: quoting loses nothing, and where encoding/json loses nothing
// either, both read the same text.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "a\"\\\n\x01", "é😀", "\xed\xa0\x80", "\xed\xa0\x80\xed\xb0\x80", "\xed\xb0\x80", "\xff", "\xed",
		"\xed\xa0",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		quoted := AppendQuoted(nil, text)
		if !Valid(quoted) {
			t.Fatalf("%q is no JSON", quoted)
		}
		lit, _ := Literal(quoted)
		if back := AppendUnescaped(nil, lit); !bytes.Equal(back, text) {
			t.Fatalf("%q came back as %q through %s", text, back, quoted)
		}
		if c := (Cursor{Src: quoted}); true {
			if got, ok := c.String(); !ok || !bytes.Equal(got, lit) || !c.End() {
				t.Fatalf("cursor refuses %s", quoted)
			}
		}
		var std string
		if utf8.Valid(text) && (json.Unmarshal(quoted, &std) != nil || std != string(text)) {
			t.Fatalf("encoding/json reads %q, want %q", std, text)
		}
	})
}

// FuzzCursor: Skip accepts exactly what the tokeniser accepts, up to its depth.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `{"a":[1,-2.5e+3,"x\u00e9\"",true,false,null,{}]}`, ` [ 1 , 2 ] `, `01`, `-`, `1.`, `1e`, `.5`,
		`[1,]`,
		`{"a":1,}`, `"\x"`, `"\u12"`, "\"\n\"", `nul`, `truee`, `"a`, `{"a" 1}`, `[[[[]]]]`, "\"\xff\"", `{"\u0061":0}`,
		"\ufeff1", `-0`, `1 2`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c := Cursor{Src: src}
		got := c.Skip() && c.End()
		want := jsontext.Value(src).IsValid(lax...)
		deep := bytes.Count(src, []byte("["))+bytes.Count(src, []byte("{")) > maxSkip
		if got != want && (!deep || !want) {
			t.Fatalf("cursor %v, tokeniser %v: %q", got, want, src)
		}
	})
}

// FuzzFields: the members that Fields reports, and whether it reports an error,
// are what a walk with the tokeniser gives.
func FuzzFields(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, ` { "a" : [ 1 ] , "\u0062":{} } `, `{"a":1,}`, `{"a":1}x`, `{"a":1,"b"`, `[]`,
		`{"a":"\ud800"}`,
		"{\"a\":\"\xff\"}", `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `,"b":2}`, `{"a":01}`,
		`{"a" "b"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var got []string
		err := Fields(src, func(name, value []byte) error {
			got = append(got, string(name), string(value))
			return nil
		})
		want, wantErr := tokenised(src)
		if (err == nil) != (wantErr == nil) || strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q: %q, %v; the tokeniser says %q, %v", src, got, err, want, wantErr)
		}
	})
}

// tokenised walks an object with jsontext alone.
func tokenised(src []byte) (members []string, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(src), lax...)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, errors.New("no object")
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return members, err
		}
		key := string(AppendUnescaped(nil, name[1:len(name)-1]))
		value, err := dec.ReadValue()
		if err != nil {
			return members, err
		}
		members = append(members, key, string(value))
	}
	if _, err := dec.ReadToken(); err != nil { // the closing brace
		return members, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return members, errors.New("something follows")
	}
	return members, nil
}

func TestMemberOf(t *testing.T) {
	if got := MemberOf([]byte(`{"a":{"id" : 1},"b":2}`), "a"); string(got) != `{"id" : 1}` {
		t.Errorf("got %s", got)
	}
	if MemberOf([]byte(`{"a":1}`), "b") != nil || MemberOf(nil, "a") != nil || MemberOf([]byte(`[`), "a") != nil {
		t.Error("found what is not there")
	}
}

// TestSyntaxErrors holds what is said of text that is not an object.
func TestSyntaxErrors(t *testing.T) {
	for src, want := range map[string]string{
		`[]`:     "JSON goes on at byte 0 where an object was expected",
		`{"a":1`: "JSON stops at byte 6 where a comma or a closing brace was expected",
	} {
		err := Fields([]byte(src), func(_, _ []byte) error { return nil })
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", src, err, want)
		}
	}
}
