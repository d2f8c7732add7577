package freetext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// isPairName returns where the "value" or the "content" begins that is the next member after
// a name, as in {"name": "X-Key", "value": "…"}; 0 if there is none.
func isPairName(text []byte, at int) int {
	at = lex.Past(text, at, "\"'\\, \t\r\nnr", 48)
	if rest := text[at:]; bytes.HasPrefix(rest, []byte("value")) || bytes.HasPrefix(rest, []byte("content=")) {
		return at
	}
	return 0
}

const (
	beforePair = 600 // how far the value of a pair may be before its name, in bytes
	afterPair  = 200 // … after it
)

var (
	// pairValue matches what stands before the value of one.
	pairValue = regexp.MustCompile(`(?i:value|\bresult|\bcontent)[\\"']*\s?[:=]\s?[\\"']*`)
	// codeValue matches what stands before the code of an OAuth flow.
	codeValue = regexp.MustCompile(`\bcode[\\"']*\s?[:=]\s?[\\"']*`)
)

// lookAtPair looks at the value of {"name": NAME, "value": VALUE}, in any order and with other
// members between, and reports whether there was one.
func (w *search) lookAtPair(name lex.Span, class names.Class) bool {
	if name.Start == 0 || strings.IndexByte("\"'/\\", w.text[name.Start-1]) < 0 || strings.IndexByte("\"'\\", w.text[name.End]) < 0 {
		return false
	}
	if isPairName(w.text, name.End) > 0 || !hasPairLabel(w.text, name.Start) {
		return false
	}
	p := values.KeyPlace
	if names.IsChosen(name.In(w.text)) {
		p = values.LiteralPlace
	}
	return w.lookAround(name, pairValue, class, p)
}

// pairLabels are the members that hold the name of a pair.
var pairLabels = lex.Set("name key type header field label variable")

// hasPairLabel reports whether such a member ends at a place: {"name": "X-Key", "value": "…"}.
func hasPairLabel(text []byte, at int) bool {
	before := func(any string) {
		for at > 0 && strings.IndexByte(any, text[at-1]) >= 0 {
			at--
		}
	}
	for most := at - names.MaxLength; at > 0 && at > most && (lex.IsNameByte(text[at-1]) || text[at-1] == '/'); {
		at--
	}
	before("\"'\\ ")
	if at == 0 || text[at-1] != ':' && text[at-1] != '=' {
		return false
	}
	at--
	before("\"'\\ ")
	end := at
	for at > 0 && end-at < 20 && lex.IsLetter(text[at-1]) {
		at--
	}
	return pairLabels[names.LastWord(string(text[at:end]))]
}

// lookAround looks at the values after a label, in the object in which a name stands.
func (w *search) lookAround(name lex.Span, label *regexp.Regexp, class names.Class, p values.Place) (ok bool) {
	text := w.text
	before := lex.Between(max(name.Start-beforePair, 0), name.Start)
	before.Start += bytes.LastIndexAny(before.In(text), "{}<>") + 1
	after := lex.Between(name.End, min(name.End+afterPair, len(text)))
	if n := bytes.IndexAny(after.In(text), "}>"); n >= 0 {
		after.End = after.Start + n
	}
	for _, area := range []lex.Span{after, before} {
		m := label.FindIndex(area.In(text))
		if m == nil {
			continue
		}
		at := area.Start + m[1]
		value := valueAt(text, at-1) // from the quotation mark
		if value.Start != at || value.End > area.End && area == before {
			continue
		}
		if lex.HasSuffixFold(name.In(text), "cookie") {
			w.lookAtParameters(name, value, ";")
			return true
		}
		if v := value.In(text); values.IsSecretIn(v, p) && (class == names.Strong || values.IsRandom(string(v))) {
			w.add(Secret{Name: name, Value: value})
			ok = true
		}
	}
	return ok
}
