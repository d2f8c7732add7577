// Package freetext finds credentials in texts that have no structure of a message: a file that a tool
// read, a command line, the words of a user or a model. A text goes in, and where the credentials
// are comes out: [Search]. The text may be escaped, once or several times.
//
// What is looked for is data: rules.toml has the forms in which texts show a credential, each with an
// example. Most begin at the name of a credential, some at a word of their own. This code finds these
// places in one pass over the text, undoes the escapes around them, and tries the rules there. Whether
// a name promises a credential is decided by package names, whether a value can be one by package
// values. Tables and URLs are the two forms that an expression cannot describe; they have code.
package freetext

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/structure"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Secret is a credential in a text, the name that it stands under, if it has one, and the id of the rule that
// found it.
type Secret struct {
	Name, Value lex.Span
	Rule        string
}

// search is one pass over a text.
type search struct {
	text  []byte
	rules *ruleSet
	names *names.Cache // nil until there is a name
	found []Secret
	coded []int // where the base64 of JSON begins
	next  int   // the end of the last name, or of the last long value, in which no names are looked for
}

// Search looks through a text once. It returns the credentials, and where the base64 of JSON begins,
// for [Decode].
func Search(text []byte) (found []Secret, coded []int) {
	w := &search{text: text, rules: loadRules()}
	stem, stems := uint16(0), &w.rules.stems
	for i, c := range text {
		stem = nextStem(stem, c)
		if stems[stem>>6&(1<<9-1)]>>(stem&63)&1 != 0 && i >= w.next && i >= 2 {
			w.lookAt(i-2, stem)
		}
	}
	return w.found, w.coded
}

// lookAt looks at what the three bytes at a place begin.
func (w *search) lookAt(at int, stem uint16) {
	for _, a := range w.rules.buckets[w.rules.bucketOf[stem]] {
		switch {
		case !hasPrefixFold(w.text[at:], a.word):
		case a.isStem:
			w.lookAtName(nameAround(w.text, at+1))
			return
		case a.rule != nil:
			place := place{w: w, name: lex.Between(at, at), class: names.Strong, isChosen: true}
			place.try(a.rule)
		case a.word == base64Object:
			if bytes.HasPrefix(w.text[at:], []byte(base64Object)) {
				w.coded = append(w.coded, at)
			}
		case a.word == "://":
			w.lookAtAddress(at)
		default: // the name of a password in another language
			place := place{w: w, name: lex.Between(at, at+len(a.word)), class: names.Strong, isChosen: true}
			place.tryAll(w.rules.atNames)
		}
	}
}

func hasPrefixFold(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}

// lookAtName looks for the secrets that stand under a name.
func (w *search) lookAtName(name lex.Span) {
	text := w.text
	w.next = name.End
	switch {
	case name.End-name.Start > names.MaxLength,
		name.End < len(text) && !w.rules.first[text[name.End]],
		bytes.HasSuffix(text[:name.Start], []byte("://")),
		structure.IsInResourceName(text, name.Start):
		return
	}
	if w.names == nil {
		w.names = new(names.Cache)
	}
	word := name.In(text)
	if class := w.names.Class(word); class == names.Strong || class == names.Weak {
		place := place{w: w, name: name, class: class, isChosen: names.IsChosen(word)}
		if !place.lookAtTable() && (place.isChosen || mayHoldKey(text[name.End:min(name.End+afterName, len(text))])) {
			place.tryAll(w.rules.atNames)
		}
	}
}

// mayHoldKey reports whether a text has a word that machines may have made. Most names in programs have none behind
// them, and no rule is tried there.
func mayHoldKey(text []byte) bool {
	start, isOdd := 0, false
	for i, c := range text {
		switch wordBytes[c] {
		case endsWord:
			if i-start >= values.MinWord && (isOdd || values.IsOddLetters(text[start:i])) {
				return true
			}
			start, isOdd = i+1, false
		case isNoLetter:
			isOdd = true
		}
	}
	return len(text)-start >= values.MinWord && (isOdd || values.IsOddLetters(text[start:])) ||
		len(text) == afterName && isOdd
}

// wordBytes says what a byte is in a word: a letter, the end of the word, or something else.
var wordBytes = func() (kinds [256]byte) {
	for c := range kinds {
		if !lex.IsLetter(byte(c)) { //nolint:gosec // the index of a byte
			kinds[c] = isNoLetter
		}
	}
	for _, c := range []byte(" \t\r\n\"'`\\<>,;()[]{}|&:=.") {
		kinds[c] = endsWord
	}
	return kinds
}()

// The kinds of bytes in wordBytes, apart from letters.
const (
	isNoLetter = 1
	endsWord   = 2
)

// nameAround returns the name that a byte of a text is in. "key" has the word before it:
// an API key is one, a sort key is not.
func nameAround(text []byte, at int) lex.Span {
	name := lex.Between(at, at+1)
	for name.End < len(text) && lex.IsNameByte(text[name.End]) {
		name.End++
	}
	for name.End > at+1 && strings.IndexByte(".-", text[name.End-1]) >= 0 {
		name.End--
	}
	for name.Start > 0 && lex.IsNameByte(text[name.Start-1]) && at-name.Start < names.MaxLength {
		name.Start--
	}
	if name.Start > 0 && text[name.Start-1] == '\\' && name.Start < at {
		name.Start++ // of an escape, such as \n
	}
	if isLastWord(name.In(text)) {
		name.Start = beforeWord(text, name)
	}
	return name
}

// beforeWord returns where the word before a name begins, or the name if there is none.
func beforeWord(text []byte, name lex.Span) int {
	n := name.Start
	if n < 2 || text[n-1] != ' ' || !lex.IsLetter(text[n-2]) {
		return n
	}
	for n--; n > 0 && lex.IsLetter(text[n-1]) && name.End-n < names.MaxLength; {
		n--
	}
	if n > 0 && text[n-1] == '\\' {
		n++ // of an escape
	}
	return n
}

// isLastWord reports whether a word tells nothing without the one before it: API key, seed phrase.
func isLastWord(word []byte) bool {
	return bytes.EqualFold(word, []byte("key")) || bytes.EqualFold(word, []byte("phrase"))
}

// place is a place of a text at which rules are tried: the name of a credential, or a word.
type place struct {
	w        *search
	name     lex.Span
	class    names.Class
	isChosen bool // people choose what stands under the name

	before, after part
	tried         *regexp.Regexp // the last expression that was tried after the name
	match         []int          // … and what it matched
}

// How much of a text around a name is looked at, in bytes. Where a value goes on, it is followed up to its end.
const (
	beforeName = 120
	afterName  = 256
)

// beforeIt returns what stands before the name.
func (p *place) beforeIt() *part {
	if p.before.text == nil {
		p.before.read(p.w.text, lex.Between(max(p.name.Start-beforeName, 0), p.name.Start))
	}
	return &p.before
}

// afterIt returns at least so many bytes of what stands after the name, if there are so many.
func (p *place) afterIt(size int) *part {
	if p.after.text == nil || size > afterName {
		p.after.read(p.w.text, lex.Between(p.name.End, min(p.name.End+size, len(p.w.text))))
	}
	return &p.after
}

// tryAll tries rules until one finds something.
func (p *place) tryAll(rules []*rule) {
	for _, r := range rules {
		if p.try(r) {
			return
		}
	}
}

// try tries a rule, and reports whether it is about what stands here.
func (p *place) try(r *rule) (isDone bool) {
	if !p.allows(r) {
		return false
	}
	after := p.afterIt(afterName)
	m := p.matchOf(r)
	if m == nil || r.then != nil && !r.then.Match(after.text[m[1]:]) {
		return false
	}
	if m[1] == len(after.text) && p.name.End+afterName < len(p.w.text) { // it goes on
		after = p.afterIt(values.MaxLength)
		defer func() { p.after.text, p.tried = nil, nil }()
		if m = r.after.FindSubmatchIndex(after.text); m == nil {
			return false
		}
		p.w.next = max(p.w.next, after.inWhole(lex.Between(m[1], m[1])).End) // nothing long is looked at twice
	}
	in, value := after, groupOf(m)
	if value.End < 0 && r.before != nil { // the value stands before its name
		in = p.beforeIt()
		value = groupOf(r.before.FindSubmatchIndex(in.text))
	}
	return value.End >= 0 && p.addAll(r, in, value)
}

// isBehind reports whether what a rule demands before the name stands there. To search for it takes longer
// than to look at the value, so try leaves it to the end.
func (p *place) isBehind(r *rule) bool { return r.before == nil || r.before.Match(p.beforeIt().text) }

// addAll adds a value, or what of it is a secret, and reports whether there is one.
func (p *place) addAll(r *rule, in *part, value lex.Span) (isDone bool) {
	if r.each == nil {
		return p.add(r, in, value)
	}
	for _, m := range r.each.FindAllSubmatchIndex(value.In(in.text), -1) {
		isDone = p.add(r, in, lex.Between(value.Start+groupOf(m).Start, value.Start+groupOf(m).End)) || isDone
	}
	return isDone
}

// allows reports whether a rule is for such a name, and for what begins behind it.
func (p *place) allows(r *rule) bool {
	if p.class != names.Strong && !r.Weak || r.Chosen && !p.isChosen ||
		r.name != nil && !r.name.Match(p.name.In(p.w.text)) {
		return false
	}
	text := p.afterIt(afterName).text
	return (len(text) == 0 || r.first[text[0]]) && (r.Near == nil || hasAny(text, r.Near)) &&
		(r.Ahead == nil || hasAny(p.beforeIt().text, r.Ahead))
}

func hasAny(text []byte, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
}

// matchOf returns what a rule's expression matches after the name. Rules that follow each other have the same one.
func (p *place) matchOf(r *rule) []int {
	if p.tried != r.after {
		p.tried, p.match = r.after, r.after.FindSubmatchIndex(p.after.text)
	}
	return p.match
}

// groupOf returns the first group that matched; its end is -1 if none did.
func groupOf(m []int) lex.Span {
	for n := 2; n+1 < len(m); n += 2 {
		if m[n] >= 0 && m[n+1] > m[n] {
			return lex.Between(m[n], m[n+1])
		}
	}
	return lex.Between(-1, -1)
}

// add adds a value if it can be a credential, and reports whether it is one, or was one that is replaced already.
func (p *place) add(r *rule, in *part, value lex.Span) bool {
	for value.End > value.Start && strings.IndexByte(".:", in.text[value.End-1]) >= 0 {
		value.End-- // of the sentence
	}
	word := value.In(in.text)
	value.Start += len(p.w.rules.prefix.Find(word))
	value = withoutName(in.text, value)
	word = value.In(in.text)
	if bytes.Contains(word, []byte(values.Mark)) {
		return p.isBehind(r)
	}
	if !p.isSecret(r, word) || !p.isBehind(r) {
		return false
	}
	whole := in.inWhole(value)
	p.w.found = append(p.w.found, Secret{Name: p.name, Value: whole, Rule: r.ID})
	return true
}

// withoutName returns a value without the name that it brings: of "Cookie: sid=x", x.
func withoutName(text []byte, value lex.Span) lex.Span {
	word := value.In(text)
	n := bytes.IndexByte(word, '=')
	if n <= 0 || len(bytes.TrimRight(word, "=")) == n || len(bytes.Trim(word[:n], lex.Letters+"_.-")) > 0 {
		return value // "=" may also end a text in base64
	}
	return lex.Between(value.Start+n+1, value.End)
}

// isSecret reports whether a value can be a credential where a rule found it.
func (p *place) isSecret(r *rule, value []byte) bool {
	v := string(value)
	isNamed := r.Words == nil
	switch {
	case len(v) == 0:
		return false
	case r.Place == "form":
		return true
	case r.Place == "told":
		return p.isChosen && values.IsToldPassword(value)
	case r.Place == "sure":
		return isSurelyPassword(value)
	case strings.IndexByte(v, ' ') >= 0:
		return r.Place == "literal" && p.isChosen && isPhrase(v)
	case !values.IsSecretIn(value, r.placeUnder(p.isChosen)), values.IsKeyID(p.name.In(p.w.text), value):
		return false
	}
	return !isNamed || p.class == names.Strong || isKeyUnder(p.name.In(p.w.text), v)
}

// isPhrase reports whether a text in quotes is a pass phrase of several words.
func isPhrase(v string) bool {
	return len(v) <= maxPhrase && values.IsPhrase(v, " ") && v == strings.ToLower(v)
}

// maxPhrase is the length of the longest phrase, in bytes: 24 words.
const maxPhrase = 240

// isSurelyPassword reports whether a value where nothing but a password can stand is one: all but
// a reference, a placeholder as [PASSWORD], and a single word, which is likely to stand elsewhere, too.
func isSurelyPassword(v []byte) bool {
	return strings.IndexByte("-[", v[0]) < 0 && !values.IsReference(string(v)) && isPasswordOfUser(v)
}

// isPasswordOfUser reports whether the password in a URL, which is no reference, is one: all but
// a single word that is likely to stand elsewhere, too.
func isPasswordOfUser(v []byte) bool {
	return values.IsSecretIn(v, values.LiteralPlace) ||
		len(v) >= values.MinWord && !values.IsExpression(v) && len(bytes.Trim(v, lex.Letters)) > 0
}

// isKeyUnder reports whether a value under a weak name is a key.
func isKeyUnder(name []byte, v string) bool {
	isVariable := bytes.IndexByte(name, '_') > 0 && bytes.Equal(bytes.ToUpper(name), name)
	mayMean := isVariable || name[0] == '-' || name[0]|0x20 == 'x' && len(name) > 1 && name[1] == '-' ||
		names.MeansSecret(name)
	isKey := values.LooksLikeKey(v) || values.EncodedPassword(v) != nil ||
		values.IsUUID(v) && lex.HasSuffixFold(name, "_key")
	return values.HasSecretForm(v) || mayMean && isKey || values.IsRandom(v) && !values.IsHexadecimal(v) &&
		!values.IsFile(v)
}
