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
	var lines []string
	line, column := "", 0 // with the spaces behind a word
	for _, word := range strings.Split(text, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case word == "" && len(lines) > 0 && line == indent:
			continue // of several spaces at which a line was broken
		case column+length > width && strings.TrimSpace(line) != "":
			lines = append(lines, strings.TrimRight(line, " "))
			line, column = indent, len(indent)
		}
		line += word + " "
		column += length + 1
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
