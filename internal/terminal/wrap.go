package terminal

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks text of one line at its spaces into lines of at most width characters; those after
// the first begin with indent. A word that is longer stands alone, and 0 breaks nothing.
func Wrap(text string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > width && column > len(indent):
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
