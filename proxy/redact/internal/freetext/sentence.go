package freetext

import (
	"bytes"
	"regexp"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// maxSentence is how far from a name a value is looked for that a sentence gives it, in bytes.
const maxSentence = 100

// typedByScript matches what a script types when it is asked for a password.
var typedByScript = regexp.MustCompile(`^[^\\"']{0,4}[\\"']{1,4}\)?(?:\\+n|\s|\{|child\.|p\.)* ?send(?:line)?(?: --)?[ (]*[\\"']+([^\s\\"']{8,64})`)

// linkWords stand between a name and the value that a sentence gives it.
var linkWords = [][]byte{
	[]byte(" is "), []byte(" to "), []byte(" was "), []byte(": "), []byte("'s "),
	[]byte(" es "), []byte(" est "), []byte(" ist "),
	[]byte(" → "), []byte(" — "), []byte(" -> "),
}

// lookAtSentence looks for the value that a sentence gives a name, a script types, or the next
// line shows.
func (w *search) lookAtSentence(name lex.Span, class names.Class) {
	if class != names.Strong || name.End < w.spoken {
		return
	}
	if at := lex.Past(w.text, name.End, "\"'`\\", 8); at > name.End && at < len(w.text) && w.text[at] == ',' {
		return // in a list of names
	}
	rest := w.text[name.End:min(len(w.text), name.End+maxSentence)]
	if bytes.Contains(rest, []byte("send")) {
		if m := typedByScript.FindSubmatchIndex(rest); m != nil {
			w.addIfSecret(name, lex.Between(name.End+m[2], name.End+m[3]), values.LiteralPlace)
			return
		}
	}
	if n := bytes.IndexAny(rest, ".\n\\;{}()[]<>="); n >= 0 {
		rest = rest[:n]
	}
	w.spoken = name.End + len(rest)/4 // what is so near is part of the same sentence
	for _, link := range linkWords {
		if n := bytes.Index(rest, link); n >= 0 && w.addSpoken(name, name.End+n+len(link)) {
			return
		}
	}
	w.lookAtNextLine(name)
}

// addSpoken adds the value at a place of a sentence if it is a secret, and reports whether it
// is: one in quotes may be chosen words.
func (w *search) addSpoken(name lex.Span, at int) bool {
	value, p := valueAt(w.text, at), values.SpokenPlace
	if names.IsChosen(name.In(w.text)) {
		p = values.PasswordPlace
		if bytes.HasSuffix(w.text[:at], []byte(" is ")) && isLastInLine(w.text, value) && values.IsJoinedWords(string(value.In(w.text))) {
			p = values.LinePlace
		}
		if isQuoted := value.Start > at; isQuoted && value.End < len(w.text) && w.text[value.End] == ' ' {
			if phrase := phraseAt(w.text, value, values.LiteralPlace); phrase.End > phrase.Start {
				w.add(Secret{Name: name, Value: phrase})
				return true
			}
		}
	}
	return w.addIfSecret(name, value, p)
}

// isLastInLine reports whether a value of two characters or more ends its line or the text.
func isLastInLine(text []byte, value lex.Span) bool {
	end := lex.Past(text, value.End, ".", 1)
	return value.End-value.Start > 1 && (end == len(text) || text[end] == '"' || isLineEnd(text, end))
}

// lookAtNextLine looks at what a command prints about a credential: one word alone in its line.
func (w *search) lookAtNextLine(name lex.Span) {
	end, next := lineEnd(w.text[:min(len(w.text), name.End+maxSentence)], name.End)
	if next == end {
		return
	}
	start := next
	if empty, after := lineEnd(w.text, next); empty == next {
		start = after
	}
	nextEnd, _ := lineEnd(w.text, start)
	value := valueAt(w.text, start)
	if value.Start > start+1 || value.End < nextEnd && bytes.IndexByte([]byte("\"\\"), w.text[value.End]) < 0 || !w.announces(lex.Between(name.Start, end)) {
		return
	}
	p := values.SpokenPlace
	if names.IsChosen(name.In(w.text)) {
		p = values.PasswordPlace
	}
	w.addIfSecret(name, afterOwnName(w.text, value), p)
}

// announces reports whether the line of a text is a command, or ends with a colon: the next one may be
// what the text is about.
func (w *search) announces(text lex.Span) bool {
	start := max(text.Start-maxSentence, 0)
	start += lastLineEnd(w.text[start:text.Start])
	if n := bytes.LastIndexByte(w.text[start:text.Start], '"'); n >= 0 {
		start += n + 1
	}
	start = lex.Past(w.text, start, " ", 4)
	line := w.text[start:text.End]
	return w.text[text.End-1] == ':' || bytes.Contains(line, []byte("$ ")) || len(line) > 1 && line[1] == ' ' && bytes.IndexByte([]byte("#%>"), line[0]) >= 0
}
