package terminal_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// table has each text, and how Line and Text show it.
var table = []struct{ name, text, line, lines string }{
	{"plain", "plain text \\ ~", "plain text \\ ~", "plain text \\ ~"},
	{"newline and tab", "a\n\tb", `a\n\tb`, "a\n\tb"},
	{"carriage return", "safe\rEVIL\r\n", `safe\x0dEVIL\x0d\n`, `safe\x0dEVIL\x0d` + "\n"},
	{"clear screen", "\x1b[2J\x1b[H", `\x1b[2J\x1b[H`, `\x1b[2J\x1b[H`},
	{"title", "\x1b]0;root\x07", `\x1b]0;root\x07`, `\x1b]0;root\x07`},
	{"clipboard", "\x1b]52;c;cm0gLXJm\x1b\\", `\x1b]52;c;cm0gLXJm\x1b\`, `\x1b]52;c;cm0gLXJm\x1b\`},
	{"hyperlink", "\x1b]8;;http://a.example\x1b\\b\x1b]8;;\x1b\\", `\x1b]8;;http://a.example\x1b\b\x1b]8;;\x1b\`,
		`\x1b]8;;http://a.example\x1b\b\x1b]8;;\x1b\`},
	{"C1 as UTF-8", "\u009b2J\u009d0;t\u009c\u0085", `\u{9b}2J\u{9d}0;t\u{9c}\u{85}`, `\u{9b}2J\u{9d}0;t\u{9c}\u{85}`},
	{"C1 as bytes", "\x9b2J\x90q", `\x9b2J\x90q`, `\x9b2J\x90q`},
	{"NUL, BEL, BS, VT, FF, SO, DEL", "\x00\x07\x08\x0b\x0c\x0e\x7f", `\x00\x07\x08\x0b\x0c\x0e\x7f`,
		`\x00\x07\x08\x0b\x0c\x0e\x7f`},
	{"direction", "\u202eevil\u202c\u2066\u2069\u200e\u200f\u061c",
		`\u{202e}evil\u{202c}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}`,
		`\u{202e}evil\u{202c}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}`},
	{"separators", "a\u2028b\u2029c", `a\u{2028}b\u{2029}c`, `a\u{2028}b\u{2029}c`},
	{"zero width", "pay\u200bpal \ufeff\u2060\u00ad\u180e", `pay\u{200b}pal \u{feff}\u{2060}\u{ad}\u{180e}`,
		`pay\u{200b}pal \u{feff}\u{2060}\u{ad}\u{180e}`},
	{"joiners in Latin", "a\u200cb\u200dc", `a\u{200c}b\u{200d}c`, `a\u{200c}b\u{200d}c`},
	{"joiner first", "\u200d", `\u{200d}`, `\u{200d}`},
	{"invisible letters", "\u3164\u115f\uffa0\u034f\u2800", "\\u{3164}\\u{115f}\\u{ffa0}\\u{34f}\u2800",
		"\\u{3164}\\u{115f}\\u{ffa0}\\u{34f}\u2800"},
	{"tags", "a\U000e0041\U000e0001", `a\u{e0041}\u{e0001}`, `a\u{e0041}\u{e0001}`},
	{"data in selectors", "a\ufe01\U000e0100", `a\u{fe01}\u{e0100}`, `a\u{fe01}\u{e0100}`},
	{"annotations and shorthand", "\ufff9\ufffb\U0001bca0\U0001d173", `\u{fff9}\u{fffb}\u{1bca0}\u{1d173}`,
		`\u{fff9}\u{fffb}\u{1bca0}\u{1d173}`},
	{"noncharacters", "\ufffe\uffff\ufdd0\U0001ffff", `\u{fffe}\u{ffff}\u{fdd0}\u{1ffff}`,
		`\u{fffe}\u{ffff}\u{fdd0}\u{1ffff}`},
	{"invalid UTF-8", "a\xff\xc0\xaf\xed\xa0\x80\xe2\x82", `a\xff\xc0\xaf\xed\xa0\x80\xe2\x82`,
		`a\xff\xc0\xaf\xed\xa0\x80\xe2\x82`},
	{"replacement character", "a\ufffdb", "a\ufffdb", "a\ufffdb"},
	{"languages", "Grüße 日本語 עברית ع é", "Grüße 日本語 עברית ع é", "Grüße 日本語 עברית ع é"},
	{"emoji of several parts", "👨‍👩‍👧 ❤️ 1️⃣ 👩🏽‍💻 ❤️‍🔥", "👨‍👩‍👧 ❤️ 1️⃣ 👩🏽‍💻 ❤️‍🔥", "👨‍👩‍👧 ❤️ 1️⃣ 👩🏽‍💻 ❤️‍🔥"},
	{"Persian and Hindi", "می‌خواهم क्‍ष", "می‌خواهم क्‍ष", "می‌خواهم क्‍ष"},
	{"no-break and wide spaces", "a\u00a0b\u3000c", "a\u00a0b\u3000c", "a\u00a0b\u3000c"},
}

func TestTable(t *testing.T) {
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			if got := terminal.Line(c.text); got != c.line {
				t.Errorf("Line: %q, want %q", got, c.line)
			}
			if got := terminal.Text(c.text); got != c.lines {
				t.Errorf("Text: %q, want %q", got, c.lines)
			}
			if got := writePieces(t, c.text, 0); got != c.lines {
				t.Errorf("Writer: %q, want %q", got, c.lines)
			}
		})
	}
}

// TestCuts holds that a stream shows the same wherever it is cut, and byte by byte.
func TestCuts(t *testing.T) {
	for _, c := range table {
		for cut := 1; cut <= len(c.text); cut++ {
			if got := writePieces(t, c.text, cut); got != c.lines {
				t.Errorf("%s, cut at %d: %q, want %q", c.name, cut, got, c.lines)
			}
		}
		var out bytes.Buffer
		w := terminal.NewWriter(&out)
		for i := range len(c.text) {
			writeAll(t, w, c.text[i:i+1])
		}
		if err := w.Flush(); err != nil || out.String() != c.lines {
			t.Errorf("%s, byte by byte: %q (%v), want %q", c.name, out.String(), err, c.lines)
		}
	}
}

func writePieces(t *testing.T, text string, cut int) string {
	t.Helper()
	var out bytes.Buffer
	w := terminal.NewWriter(&out)
	writeAll(t, w, text[:cut])
	writeAll(t, w, text[cut:])
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func writeAll(t *testing.T, w *terminal.Writer, text string) {
	t.Helper()
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// TestJSON holds that the JSON of every text keeps its value and shows nothing hidden.
func TestJSON(t *testing.T) {
	for _, c := range table {
		want := strings.ToValidUTF8(c.text, "")
		var out bytes.Buffer
		w := terminal.NewJSONWriter(&out)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		if err := e.Encode(want); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != want {
			t.Errorf("%s: %s reads as %q (%v), want %q", c.name, out.String(), got, err, want)
		}
		checkHarmless(t, strings.TrimSuffix(out.String(), "\n"))
	}
}

func FuzzText(f *testing.F) {
	for _, c := range table {
		f.Add(c.text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		shown := terminal.Text(text)
		checkHarmless(t, shown)
		checkHarmless(t, terminal.Line(text))
		if again := terminal.Text(shown); again != shown {
			t.Errorf("%q becomes %q the second time", shown, again)
		}
		if cut < 0 || cut > len(text) {
			return
		}
		if got := writePieces(t, text, cut); got != shown {
			t.Errorf("cut at %d: %q, want %q", cut, got, shown)
		}
	})
}

// checkHarmless refuses what a terminal would act on.
func checkHarmless(t *testing.T, shown string) {
	t.Helper()
	if !utf8.ValidString(shown) {
		t.Errorf("%q is not valid UTF-8", shown)
	}
	for _, r := range shown {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 ||
			r == 0x2029) {
			t.Errorf("%q holds %U", shown, r)
		}
	}
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("A line of an answer, mostly ASCII, with a dash – and an end.\n", 1000)
	b.SetBytes(int64(len(text)))
	for range b.N {
		terminal.Text(text)
	}
}
