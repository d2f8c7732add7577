package jsontok

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func str(s string) string {
	var w Writer
	w.Str(s)
	return string(w.Bytes())
}

func TestStr(t *testing.T) {
	for in, want := range map[string]string{
		``:                           `""`,
		`a"b\c`:                      `"a\"b\\c"`,
		"\n\r\t\b\x00\x1f":           `"\n\r\t\u0008\u0000\u001f"`,
		"<a href=\"x\">&</a>":        `"<a href=\"x\">&</a>"`, // no HTML escaping
		"é 漢 😀 \u2028\u2029\x7f":     "\"é 漢 😀 \u2028\u2029\x7f\"",
		"\xed\xa0\xbd":               `"\ud83d"`, // lone surrogates, WTF-8
		"\xed\xb8\x80x":              `"\ude00x"`,
		"\xed\xa0\xbd\xed\xb8\x80":   `"\ud83d\ude00"`,
		"\ud7ff":                     "\"\ud7ff\"",   // the last character before the surrogates
		"\xed\xa0":                   "\"\xed\xa0\"", // cut off: bytes go through
		"\xff\xfe broken \xc3":       "\"\xff\xfe broken \xc3\"",
		"ends in a backslash \\":     `"ends in a backslash \\"`,
		"\xed\xa0\xbd\"\xed\xb8\x80": `"\ud83d\"\ude00"`,
	} {
		if got := str(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestTextMendsWhatProvidersRefuse(t *testing.T) {
	for in, want := range map[string]string{
		"fine é😀":                              `"fine é😀"`,
		"cut \xf0\x9f\x98":                     "\"cut \uFFFD\"",
		"lone \xed\xa0\xbd surrogate \xff\xff": "\"lone \uFFFD surrogate \uFFFD\"",
	} {
		var w Writer
		w.Text(in)
		if got := string(w.Bytes()); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestCommas(t *testing.T) {
	var w Writer
	w.Object(func() {
		w.Key("a").Array(func() {
			w.Int(-1)
			w.Raw([]byte(" {\"z\":1.0} "))
			w.Bool(true)
			w.Array(func() {})
			w.Object(func() {})
		})
		w.Key("b").Float(0.1)
		w.Key("c").Str("[{:,")
		w.Key("d").Base64([]byte{0xff, 0xfe})
		w.Key("e").DataURL("image/png", []byte("x"))
	})
	want := `{"a":[-1, {"z":1.0} ,true,[],{}],"b":0.1,"c":"[{:,","d":"//4=","e":"data:image/png;base64,eA=="}`
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestArgs(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 `{}`,
		`{"b":1.0,"a":1e400,"b":"\u00e9"}`: `{"b":1.0,"a":1e400,"b":"\u00e9"}`,
		" {\n \"a\" : 1 }\n":               " {\n \"a\" : 1 }\n",
		`{"cut":`:                          `{"_raw":"{\"cut\":"}`,
		`[1,2]`:                            `{"_raw":"[1,2]"}`,
		`"text"`:                           `{"_raw":"\"text\""}`,
		`null`:                             `{"_raw":"null"}`,
		`{} {}`:                            `{"_raw":"{} {}"}`,
	} {
		var w Writer
		w.Args([]byte(in))
		if got := string(w.Bytes()); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzStr(f *testing.F) {
	f.Add("a\"\\\n\xed\xa0\xbd\xed\xb8\x80\xff é😀")
	f.Fuzz(func(t *testing.T, s string) {
		got := str(s)
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q: %s is not JSON", s, got)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
		if i := strings.IndexByte(s, 0xff); i >= 0 && !strings.Contains(got, "\xff") {
			t.Fatalf("%q: a broken byte was altered", s)
		}
		var w Writer
		w.Text(s)
		if !utf8.Valid(w.Bytes()) || !json.Valid(w.Bytes()) || bytes.Contains(w.Bytes(), []byte(`\ud83d`)) &&
			!strings.Contains(s, `\ud83d`) {
			t.Fatalf("%q: text %s", s, w.Bytes())
		}
	})
}
