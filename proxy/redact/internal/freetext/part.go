package freetext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// part is a part of a text without its escapes.
type part struct {
	text    []byte
	start   int // in the whole text
	escapes []escape
}

// escape is an escape that was undone: where what it stands for ends in the part and where it ended, counted from the
// beginning of the part.
type escape struct{ end, written int }

// read makes p a part of a text. Backslashes before a character count as one escape, however many there are: the text
// may be escaped several times.
func (p *part) read(whole []byte, s lex.Span) {
	raw := s.In(whole)
	p.start, p.text, p.escapes = s.Start, raw, p.escapes[:0]
	if bytes.IndexByte(raw, '\\') < 0 {
		return
	}
	p.text = make([]byte, 0, len(raw))
	for at := 0; at < len(raw); {
		n := at + lex.IndexOrLength(raw[at:], '\\')
		p.text = append(p.text, raw[at:n]...)
		if at = n; at == len(raw) {
			return
		}
		end := lex.Past(raw, at, "\\", len(raw))
		if end == len(raw) {
			return
		}
		switch c := raw[end]; {
		case strings.IndexByte("nrt", c) >= 0:
			p.text, end = append(p.text, map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}[c]), end+1
		case c == 'u' && end+5 <= len(raw):
			code, err := strconv.ParseUint(string(raw[end+1:end+5]), 16, 16)
			if err != nil {
				code = 'u'
			} else {
				end += 4
			}
			p.text, end = utf8.AppendRune(p.text, rune(code)), end+1
		default:
			p.text, end = append(p.text, c), end+1
		}
		p.escapes = append(p.escapes, escape{len(p.text), end})
		at = end
	}
}

// inWhole returns a span of the part as one of the whole text.
func (p *part) inWhole(s lex.Span) lex.Span {
	return lex.Between(p.start+p.written(s.Start), p.start+p.written(s.End))
}

// written returns where a byte of the part was written.
func (p *part) written(at int) int {
	end, written := 0, 0
	for _, e := range p.escapes {
		if e.end > at {
			break
		}
		end, written = e.end, e.written
	}
	return written + at - end
}
