package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// MarkdownCode is text of others as inline code of GitHub's Markdown: it makes no link,
// mention, image, table cell or HTML.
func MarkdownCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range terminal.Line(text) {
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
