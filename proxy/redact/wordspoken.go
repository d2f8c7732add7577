package redact

import (
	"bytes"
	"regexp"
)

// maxSentence is how far from a name a value is looked for that a sentence gives it, in bytes.
const maxSentence = 100

// sent matches what a script types when it is asked for a password.
var sent = regexp.MustCompile(`^[^\\"']{0,4}[\\"']{1,4}\)?(?:\\+n|\s|\{|child\.|p\.)* ?send(?:line)?(?: --)?[ (]*[\\"']+([^\s\\"']{8,64})`)

// givers stand between a name and the value that a sentence gives it.
var givers = [][]byte{[]byte(" is "), []byte(" to "), []byte(" was "), []byte(": "), []byte("'s "), []byte(" es "), []byte(" est "), []byte(" ist "), []byte(" \xe2\x86\x92 "), []byte(" \xe2\x80\x94 "), []byte(" -> ")}

// lookAtSentence looks for the value that a sentence gives a name, a script types, or the next
// line shows.
func (w *wordSearch) lookAtSentence(name span, class nameClass) {
	if class != strongName || name.end < w.spoken {
		return
	}
	if at := pastAny(w.text, name.end, "\"'`\\", 8); at > name.end && at < len(w.text) && w.text[at] == ',' {
		return // in a list of names
	}
	rest := w.text[name.end:min(len(w.text), name.end+maxSentence)]
	if bytes.Contains(rest, []byte("send")) {
		if m := sent.FindSubmatchIndex(rest); m != nil {
			w.addIfSecret(name, span{name.end + m[2], name.end + m[3]}, literalPlace)
			return
		}
	}
	if n := bytes.IndexAny(rest, ".\n\\;{}()[]<>="); n >= 0 {
		rest = rest[:n]
	}
	w.spoken = name.end + len(rest)/4 // what is so near is part of the same sentence
	isGiven := false
	for _, giver := range givers {
		if n := bytes.Index(rest, giver); n >= 0 {
			if isGiven = true; w.addSpoken(name, name.end+n+len(giver)) {
				return
			}
		}
	}
	if !isGiven {
		w.lookAtNextLine(name)
	}
}

// addSpoken adds the value at a place of a sentence if it is a secret, and reports whether it
// is: one in quotes may be chosen words.
func (w *wordSearch) addSpoken(name span, at int) bool {
	value, p := valueAt(w.text, at), spokenPlace
	if isChosen(name.bytesIn(w.text)) {
		p = passwordPlace
		if isQuoted := value.start > at; isQuoted && value.end < len(w.text) && w.text[value.end] == ' ' {
			if phrase := phraseAt(w.text, value, literalPlace); phrase.end > phrase.start {
				w.add(wordSecret{name: name, value: phrase})
				return true
			}
		}
	}
	return w.addIfSecret(name, value, p)
}

// lookAtNextLine looks at what a command prints about a credential: one word alone in its line.
func (w *wordSearch) lookAtNextLine(name span) {
	start := max(name.start-maxSentence, 0)
	start += lastLineEnd(w.text[start:name.start])
	if n := bytes.LastIndexByte(w.text[start:name.start], '"'); n >= 0 {
		start += n + 1
	}
	start = pastAny(w.text, start, " ", 4)
	end, next := lineEnd(w.text[:min(len(w.text), name.end+maxSentence)], name.end)
	isPrompt := bytes.Contains(w.text[start:end], []byte("$ ")) || start+1 < end && w.text[start+1] == ' ' && bytes.IndexByte([]byte("#%>"), w.text[start]) >= 0
	if next == end || !isPrompt && w.text[end-1] != ':' {
		return
	}
	if end, after := lineEnd(w.text, next); end == next {
		next = after // an empty line
	}
	end, _ = lineEnd(w.text, next)
	value := valueAt(w.text, next)
	if value.start > next+1 || value.end < end && bytes.IndexByte([]byte("\"\\"), w.text[value.end]) < 0 {
		return
	}
	p := spokenPlace
	if isChosen(name.bytesIn(w.text)) {
		p = passwordPlace
	}
	w.addIfSecret(name, afterOwnName(w.text, value), p)
}
