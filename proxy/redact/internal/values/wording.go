package values

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// Wording is how a value is made of words. Such a value may be a password where its place says so,
// and is an ordinary text everywhere else.
type Wording uint8

const (
	// NoWording is a value that is not made of words, or that says something.
	NoWording Wording = iota
	// OneWord is a word alone: Gletscherspalte, immergruen.
	OneWord
	// JoinedNames are words that could be what a program calls something: moewe.schreit.
	JoinedNames
	// JoinedWords are words with signs and a capital or a number, as no program calls a thing:
	// tomcat-in-Aktion, Gartenzaun.9, Butterblume1.
	JoinedWords
	// SpacedNumber are words with spaces and a number between them: Schnee flocke 7.
	SpacedNumber
	// SpacedWords are words with spaces between them.
	SpacedWords
)

var (
	oneWord     = regexp.MustCompile(`^(?:[A-Z]?[a-z]+|[A-Z]+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)$`)
	numbered    = regexp.MustCompile(`^[A-Z]?[a-z]{4,}\d{1,4}$`)
	joinedNames = regexp.MustCompile(`^[A-Za-z][a-z]+(?:[-_.][A-Za-z][a-z]+)+\d{0,4}$`)
	joinedAny   = regexp.MustCompile(`^[A-Za-z][a-z]+(?:[-_.][A-Za-z]?[a-z]*\d{0,4})+$`)
	spacedWords = regexp.MustCompile(`^[A-Za-z][a-z]*(?: (?:[A-Za-z][a-z]*|\d{1,4}))+$`)
)

// maxWords is how many words a phrase with spaces has, at most.
const maxWords = 8

// WordingOf says how a value is made of words, which may have accents.
func WordingOf(v string) Wording {
	if plain, hasAccents := withoutAccents([]byte(v)); hasAccents && !isLabel(unescaped(v)) {
		return WordingOf(string(plain))
	}
	switch {
	case len(v) < MinWord || len(v) > 64 || leadsToCredential(v) || SaysSomething(v):
		return NoWording
	case oneWord.MatchString(v):
		return OneWord
	case numbered.MatchString(v):
		return JoinedWords
	case strings.IndexByte(v, ' ') >= 0:
		return spacedWording(v)
	case joinedNames.MatchString(v) && !hasCapitalWithin(v):
		return JoinedNames
	case joinedAny.MatchString(v) && (hasCapitalWithin(v) || strings.ContainsAny(v, lex.Digits)):
		return JoinedWords
	}
	return NoWording
}

// spacedWording is [WordingOf] for a value with spaces.
func spacedWording(v string) Wording {
	switch {
	case !spacedWords.MatchString(v) || strings.Count(v, " ") >= maxWords:
		return NoWording
	case strings.ContainsAny(v, lex.Digits):
		return SpacedNumber
	}
	return SpacedWords
}

// hasCapitalWithin reports whether words have capital letters as no members of programs have:
// Ente-Ente-Gans, but not Config.Password.
func hasCapitalWithin(v string) bool {
	return v != strings.ToLower(v) && strings.IndexByte(v, '.') < 0
}

// SaysSomething reports whether one of the words of a value is about a credential, or of a sentence
// about one.
func SaysSomething(v string) bool {
	if mailAddress.MatchString(v) {
		return true
	}
	low := strings.ToLower(v)
	for _, part := range credentialParts {
		if strings.Contains(low, part) {
			return true
		}
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(capitalAfterSmall.ReplaceAllString(v, "$1 $2")), func(c rune) bool { return !lex.IsASCIILetter(c) }) {
		if !smallWords[word] && spokenWords[word] || labelWords[word] || placeholders[word] || aboutWords[word] {
			return true
		}
	}
	return false
}

// mailAddress matches what an anonymous user gives as a password.
var mailAddress = regexp.MustCompile(`^[a-z.]+@[a-z]+(?:\.[a-z]+)*$`)

// capitalAfterSmall matches where a word begins inside of another one: TextInput.
var capitalAfterSmall = regexp.MustCompile(`([a-z])([A-Z])`)

// credentialParts are parts of what programs and people call a credential.
var credentialParts = lex.Words("passw pwd secret token credential usernam")

// smallWords are words that a phrase of somebody has as any other sentence.
var smallWords = lex.Set("the and und der die das ein eine ist nicht mit les des une pour est las los para con")

// aboutWords say what a password is like, or what becomes of it, in the place of one.
var aboutWords = lex.Set(
	// what it may be
	"mandatory nullable nonempty notempty omitted provided specified unknown unspecified unchanged anonymous",
	// what becomes of it
	"encrypted encoded encrypt decrypted hashed hashing plaintext cleartext obfuscated sensitive generated random protected",
	"incorrect mismatch forgotten rejected accepted failure failed success forbidden unauthorized",
	// types
	"varchar nvarchar character charsequence chararray bytearray interface callable sequence",
	// what everybody knows, and what is told to a server that wants none
	"developer foobared postgres postgresql rabbitmq anonymous",
	// where it comes from
	"prompt keyring keychain environment variable external internal manual inherit interactive parameter argument",
	// what it is for
	"admin administrator authenticate authentication authorization localhost",
)
