package terminal

import "strings"

// ShellWord returns text as shells read one word, quoted where necessary: what people copy
// from a message has to work.
func ShellWord(text string) string {
	isSpecial := func(r rune) bool {
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !isLetter && !strings.ContainsRune("0123456789_-./:@~+,%=", r)
	}
	if text != "" && !strings.HasPrefix(text, "~") && strings.IndexFunc(text, isSpecial) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
