package script

import (
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/specs"
)

// fitLimit is as much of blocks as limit tokens hold, and why it ends there: ""
// when all of it fits. A limit of 0 is none. A thought is kept whole or counts
// as much as there is; nothing behind it is left then.
func fitLimit(blocks []specs.Block, limit int) ([]specs.Block, specs.Stop) {
	if limit <= 0 {
		return blocks, ""
	}
	var out []specs.Block
	for _, b := range blocks {
		cost := costOf(b)
		if cost <= limit {
			out, limit = append(out, b), limit-cost
			continue
		}
		if b, ok := shortenText(b, limit); ok {
			out = append(out, b)
		}
		return out, specs.StopMaxTokens
	}
	return out, ""
}

// costOf is what a block counts for, as Reply.OutputTokens counts.
func costOf(b specs.Block) int {
	all, _ := Reply{Blocks: []Block{{Kind: b.Kind, Parts: b.Parts, Text: b.Text, Name: b.Role, Args: b.Args}}}.OutputTokens()
	return all
}

// shortenText is the beginning of a block that so many tokens hold; false when
// that is nothing.
func shortenText(b specs.Block, limit int) (specs.Block, bool) {
	room := 4 * (limit - 4)
	switch b.Kind {
	case specs.KindThinking:
		text := firstTokens(strings.Join(b.Parts, "\n\n"), max(1, 4*(limit-16)))
		b.Parts = []string{text}
		return b, text != ""
	case specs.KindCall:
		room -= 4 * Tokens(b.Role)
		b.Args = []byte(firstTokens(string(b.Args), min(room, len(b.Args)-1)))
		b.Partial = true
		return b, room > 0 && len(b.Args) > 0
	default:
		b.Text = strings.TrimRight(firstTokens(b.Text, room), " ")
		return b, b.Text != ""
	}
}

// firstTokens is at most n bytes of text, whole characters.
func firstTokens(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(0, n)]
}
