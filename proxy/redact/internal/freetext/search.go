// Package freetext finds credentials in texts that have no structure of a message: a file that a tool
// read, a command line, the words of a user or a model. A text goes in, and where the credentials
// are comes out: [Search]. It knows neither JSON nor YAML nor shell, and works at any depth of escaping.
//
// A credential is found by what is near it: mostly its name, a sign and a value that nobody can
// guess, but also a column of a table, the call of a function, a flag, or a sentence. Whether a name
// promises a credential is decided by package names, whether a value can be one by package values.
//
// The files are called after what stands there: search.go has the loop over the text, stem.go and
// assignment.go what stops it, name.go what is looked for at a name, value.go the value behind a sign.
package freetext

import (
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Secret is a credential in a text, and the name that it stands under, if it has one.
type Secret struct {
	Name, Value lex.Span
	FlagLength  int  // of a flag at the beginning of value: -pSECRET
	IsWords     bool // the value may be an ordinary text elsewhere
}

// search is one pass over a text. Mostly the name of a credential is followed by a sign, and the
// sign by a value that nobody can guess:
//
//	export API_KEY=…    password: "…"    ["Authorization","Token …"]    --token …
//
// The text may be escaped once or several times, so a backslash ends names and values.
type search struct {
	text  []byte
	names names.Cache
	found []Secret
	coded []int // where the base64 of JSON begins

	next     int // the end of the last name
	valueEnd int // … of the last long value, in which no names are looked for
	looked   int // … of the last URL
	listEnd  int // … of the last list of credentials
	tableEnd int // … of the last table, or line that begins none
	spoken   int // … of the beginning of the last sentence

	hasBox     bool // there are tables in boxes
	hasKeyType bool // there is the "kty" of a JSON Web Key
}

// Search looks through a text once. It returns the credentials, and where the base64 of JSON begins,
// for [Decode].
func Search(text []byte) (found []Secret, coded []int) {
	w := &search{text: text}
	if w.look(); w.hasBox {
		w = &search{text: withPlainBoxes(text)}
		w.look()
	}
	if w.hasKeyType {
		w.found = append(w.found, privateMembers(text)...)
	}
	return w.found, w.coded
}

// look looks through the text.
func (w *search) look() {
	text := w.text
	stem, set, signs := uint16(0), &stems, &signBytes
	for i, c := range text {
		stem = (stem<<5 | uint16(c&31)) & (1<<15 - 1)
		if set[stem>>6&(1<<9-1)]>>(stem&63)&1 == 0 && !signs[c] || i < w.next {
			continue
		}
		switch {
		case signs[c]:
			w.lookAtSign(i, c)
		case isStem(text[:i+1]):
			w.lookAtStem(i, stem)
		case stem == stemOfGoogle && i >= 2:
			w.lookAtIssued(i - 2)
		}
	}
}

// add adds what was found.
func (w *search) add(s Secret) { w.found = append(w.found, s) }

// addIfSecret adds a value that nobody can guess, and reports whether it is one.
func (w *search) addIfSecret(name, value lex.Span, p values.Place) bool {
	isSecret := values.IsSecretIn(value.In(w.text), p)
	if isSecret {
		w.add(Secret{Name: name, Value: value})
	}
	return isSecret
}
