package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The default limits of a result in bytes. Providers refuse requests of more than
// 20 to 32 MB, and images of more than 5 MB.
const (
	defaultMaxText = 256 << 10
	defaultMaxData = 12 << 20
	// leastText is room for the notes that say what is missing.
	leastText = 1 << 10
)

// sanitizeResult makes r fit to be sent and stored: valid UTF-8, at most maxText
// bytes of text and maxData bytes of parts. The text says what was replaced or left
// out. Tool output is repaired here only, so that what is stored is what was sent.
// Zero means the default, a negative limit none. A sanitized result does not change
// again.
func sanitizeResult(r transcript.ToolResult, maxText, maxData int) transcript.ToolResult {
	text, bad := replaceInvalid(r.Content)
	parts, notes := boundParts(r.Parts, orDefault(maxData, defaultMaxData))
	if bad > 0 {
		notes = append([]string{fmt.Sprintf("[%d bytes were not valid UTF-8 and stand as U+FFFD]", bad)}, notes...)
	}
	if notes != nil {
		text = joinLines(text, strings.Join(notes, "\n"))
	}
	r.Content, r.Parts = shortenText(text, orDefault(maxText, defaultMaxText)), parts
	return r
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

// replaceInvalid replaces each byte that is not valid UTF-8 and counts them.
func replaceInvalid(s string) (string, int) {
	if utf8.ValidString(s) {
		return s, 0
	}
	var b strings.Builder
	bad := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		b.WriteRune(r)
		i += size
	}
	return b.String(), bad
}

// shortenText keeps the beginning and the end of a text that is too long, at the
// borders of characters, and says between them what is missing.
func shortenText(s string, limit int) string {
	if limit < 0 || len(s) <= max(limit, leastText) {
		return s
	}
	room := max(limit, leastText) - 128 // the note is shorter
	head := runeStart(s, room*3/4)
	tail := runeStart(s, len(s)-room/4)
	return s[:head] + fmt.Sprintf(
		"\n[cut: the tool returned %d bytes of text; the first %d and the last %d are here]\n", len(s), head,
		len(s)-tail,
	) + s[tail:]
}

// runeStart moves i back to where a character begins.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// boundParts keeps parts, in order, while they fit together.
func boundParts(parts []transcript.Part, limit int) (kept []transcript.Part, notes []string) {
	if limit < 0 {
		return parts, nil
	}
	total := 0
	for _, p := range parts {
		if total+len(p.Data) > limit {
			notes = append(notes, fmt.Sprintf(
				"[left out: %s %s of %d bytes; results may hold %d bytes]", p.Type, p.MediaType, len(p.Data), limit,
			))
			continue
		}
		total += len(p.Data)
		kept = append(kept, p)
	}
	return kept, notes
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return strings.TrimSuffix(a, "\n") + "\n" + b
}
