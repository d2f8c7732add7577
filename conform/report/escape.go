package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text of others on one line, without what steers a terminal or turns
// the direction of writing: such characters are shown by their codes.
func Printable(text string) string {
	if strings.IndexFunc(text, isUnprintable) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isUnprintable(r) && r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isUnprintable(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isUnprintable reports control characters, line separators, marks of direction and
// characters that XML does not allow.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff
}

// markdownCode is text of others as inline code of GitHub's Markdown: it makes no link,
// mention, image, table cell or HTML.
func markdownCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range Printable(text) {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune("-/,;()", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// workflowMessage escapes the text of a workflow command of GitHub Actions.
var workflowMessage = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// workflowProperty escapes a property of a workflow command.
var workflowProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")

// cutText shortens text to at most limit bytes, at the border of a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
