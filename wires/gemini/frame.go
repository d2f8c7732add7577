package gemini

import (
	"github.com/meerkat-go/conformance/simulator/script"
)

// sseFrame puts chunks on the wire: events that end in CRLF CRLF, or a JSON array
// that grows (reference §1.4, §3.3).
func sseFrame(chunks [][]byte, form script.Form) [][]byte {
	var frames [][]byte
	for i, c := range chunks {
		switch {
		case form == script.FormSSE:
			frames = append(frames, joinFrames("data: ", withSpaces(c), "\r\n\r\n"))
		case i == 0:
			frames = append(frames, joinFrames("[", prettyJSON(c), ""))
		default:
			frames = append(frames, joinFrames(",\r\n", prettyJSON(c), ""))
		}
	}
	if form == script.FormArray {
		last := len(frames) - 1
		frames[last] = append(frames[last], "\n]"...)
	}
	return frames
}

func joinFrames(before string, body []byte, after string) []byte {
	return append(append([]byte(before), body...), after...)
}

// withSpaces writes JSON as the stream has it: a space after each colon between
// name and value, none after a comma, and < and > as escapes.
func withSpaces(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+len(doc)/8)
	quoted, escaped := false, false
	for _, c := range doc {
		switch {
		case quoted && c == '<':
			out = append(out, `\u003c`...)
			continue
		case quoted && c == '>':
			out = append(out, `\u003e`...)
			continue
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		out = append(out, c)
		if c == ':' && !quoted {
			out = append(out, ' ')
		}
		if c == '"' && !escaped {
			quoted = !quoted
		}
		escaped = quoted && c == '\\' && !escaped
	}
	return out
}

// prettyJSON writes JSON as unary replies have it: two spaces an indent.
func prettyJSON(doc []byte) []byte {
	return script.Compose(func(out []byte) []byte { return appendPretty(out, doc) })
}

// appendPretty does what json.Indent does, to JSON that is known to be valid.
func appendPretty(out, doc []byte) []byte {
	depth, opened := 0, false
	for at := 0; at < len(doc); {
		c := doc[at]
		at++
		switch c {
		case ' ', '\n', '\t', '\r':
			continue
		case '}', ']':
			if depth--; !opened {
				out = appendLine(out, depth)
			}
			out, opened = append(out, c), false
			continue
		}
		if opened {
			out, opened = appendLine(out, depth), false
		}
		switch out = append(out, c); c {
		case '{', '[':
			depth, opened = depth+1, true
		case ',':
			out = appendLine(out, depth)
		case ':':
			out = append(out, ' ')
		case '"':
			end := at + closingFrame(doc[at:])
			out, at = append(out, doc[at:end]...), end
		}
	}
	return out
}

// closingFrame is the length of a string behind its first quotation mark.
func closingFrame(s []byte) int {
	for i := 0; ; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

func appendLine(out []byte, depth int) []byte {
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}
