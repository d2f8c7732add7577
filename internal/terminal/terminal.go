// Package terminal shows text of others to people without letting it control their
// terminal. A model's answer, the output of a tool, a file name or an error of a
// provider may hold characters that clear the screen, set the title, write the
// clipboard, reverse the direction of writing or are invisible. Such characters are
// replaced by their codes:
//
//	terminal.Line("a\x1b[2Jb\nc")   // a\x1b[2Jb\nc, in visible characters
//	terminal.Text("a\u202eb\n\tc")  // a\u{202e}b, and newline and tab as they are
//	w := terminal.NewWriter(os.Stdout)  // the same for text that arrives in pieces
//	j := terminal.NewJSONWriter(os.Stdout) // for JSON: \u202e, which means the same
//	terminal.ShellWord("my file")   // 'my file', for a command that people copy
//
// [Line] is for text within a line of ours, [Text] for text that has lines of its own.
//
// A byte that is not valid UTF-8 is shown as \xNN, as is a control character of ASCII;
// every other character as \u{N}. The functions are pure. What they return goes
// through them a second time unchanged.
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text on one line: newlines and tabs are shown as \n and \t.
func Line(text string) string { return show(text, false) }

// Text returns text with its newlines and tabs.
func Text(text string) string { return show(text, true) }

func show(text string, multiline bool) string {
	if plainPrefix(text) == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	p := printer{out: &b, escape: func(r rune, raw string) { writeCode(&b, r, raw, multiline) }}
	p.printText(text, false)
	return b.String()
}

// printer writes text. What is hidden goes through escape: a character, and how it
// stands in the text.
type printer struct {
	out    *strings.Builder
	escape func(r rune, raw string)
	before rune // the last character, 0 if it was escaped
}

// printText writes text. With more it leaves the beginning of a character at the end
// of text to what follows, and returns it.
func (p *printer) printText(text string, more bool) (rest string) {
	for len(text) > 0 {
		if n := plainPrefix(text); n > 0 {
			p.out.WriteString(text[:n])
			p.before, text = rune(text[n-1]), text[n:]
			continue
		}
		if more && !utf8.FullRuneInString(text) {
			return text
		}
		r, size := utf8.DecodeRuneInString(text)
		p.printRune(r, text[:size])
		text = text[size:]
	}
	return ""
}

func (p *printer) printRune(r rune, raw string) {
	if r == utf8.RuneError && len(raw) == 1 || isHidden(p.before, r) {
		p.escape(r, raw)
		p.before = 0
		return
	}
	p.out.WriteString(raw)
	p.before = r
}

// plainPrefix returns how many bytes of printable ASCII text begins with.
func plainPrefix(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return i
		}
	}
	return len(text)
}

// writeCode writes a hidden character so that people see which it is.
func writeCode(b *strings.Builder, r rune, raw string, multiline bool) {
	switch {
	case multiline && (r == '\n' || r == '\t'):
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case r < utf8.RuneSelf:
		fmt.Fprintf(b, `\x%02x`, r)
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}

// isHidden reports whether a character controls the terminal or cannot be seen, where
// it stands behind the character before. Newline and tab are control characters.
func isHidden(before, r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
		return !unicode.In(before, joinable...) && !isVariationSelector(before)
	case isVariationSelector(r):
		return !unicode.In(before, selectable...)
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false // a format character that is drawn, such as U+06DD
	}
	return unicode.In(r, hidden...) || r&0xfffe == 0xfffe
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// hidden are control and format characters, those that programs are to ignore, and the
// separators of lines and paragraphs.
var hidden = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point,
}

// joinable are the characters that the two joiners follow in correct text: emoji of
// several parts, and scripts whose letters have several shapes.
var joinable = []*unicode.RangeTable{
	unicode.So, unicode.Sk, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari,
	unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam,
	unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// selectable are the characters of which there are variants.
var selectable = []*unicode.RangeTable{unicode.So, unicode.Sm, unicode.Nd, unicode.Po, unicode.Han, unicode.Mongolian,
	unicode.Myanmar}

func isVariationSelector(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }
