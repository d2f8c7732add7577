package values

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// isChosenPassword reports whether a value that is given to a password is one that people
// choose: no single word, and what programs do not call a thing.
func isChosenPassword(v string, p Place) bool {
	if p == KeyPlace || p == LiteralKeyPlace || len(v) > 64 || strings.IndexByte("/~.", v[0]) >= 0 {
		return false
	}
	for _, form := range passwordForms {
		if p >= form.from && form.matches(v) {
			return true
		}
	}
	return false
}

// passwordForms are the forms of what people choose, each with the place from which on such a value is a password.
var passwordForms = []struct {
	from    Place
	matches func(v string) bool
}{
	{SpokenPlace, func(v string) bool { return letterForDigit.MatchString(v) && !credentialWord.MatchString(v) }},
	{SpokenPlace, func(v string) bool {
		return isStrongMix(v) && (hasSignWithin(v) || strings.ContainsAny(v[len(v)-1:], "!?"))
	}},
	{PasswordPlace, isChosenWords},
	{PasswordPlace, func(v string) bool { return IsPhrase(v, "-") }},
	{LinePlace, isJoinedWords},
	{LinePlace, func(v string) bool { return isStrongMix(v) && !IsSlug(v) && !identifier.MatchString(v) }},
	{LinePlace, func(v string) bool { return strings.Trim(v, lex.Digits) == "" }},
	{LiteralPlace, func(v string) bool { return isTitle(v, "-") || IsPhrase(v, "_") || IsPhrase(v, ".") }},
	{LiteralPlace, isStrongMix},
	{LiteralPlace, func(v string) bool {
		return !HasLettersAndDigits(v) && (hasSignWithin(v) && GuessBits(v) >= 25 || letterSurprise(v) > 3)
	}},
}

// isStrongMix reports whether a value has letters and digits and is not guessed at once.
func isStrongMix(v string) bool { return HasLettersAndDigits(v) && GuessBits(v) >= 17 }

// hasSignWithin reports whether a value has a sign that no expression of a program has there.
func hasSignWithin(v string) bool {
	return strings.IndexAny(strings.TrimRight(v, "!?"), "!#%^&*?+~@$") > 0 && !operators.MatchString(v)
}

var (
	// capitalisedWords matches two words with a sign or digits at the end, as people choose them:
	// Jackal_saffron!, BadgerBobcat15.
	capitalisedWords = regexp.MustCompile(`^[A-Z][a-z0]+(?:_[a-z0]+(?:\d{1,4}|[!?*#$.])|[A-Z][a-z0]+\d{2,4})[!?*#$.]?$`)
	// chosenWord matches a word with digits and a sign at its end: Summer2024!, walnut231*.
	chosenWord = regexp.MustCompile(`^[A-Za-z]{4,}\d{2,4}[!?#$%&*+@]{1,2}$`)
	// letterForDigit matches a digit that stands for a letter in a word: Corn3rStone, Gr4ssland.
	letterForDigit = regexp.MustCompile(`^[A-Za-z013457]*[A-Za-z][013457][a-z][A-Za-z013457]*(?:[-_.!?#$*]?\d{0,4}[!?#$*]?)$`)
	// joinedWords matches words with a number after them, and two words of which the second has
	// the capital: saffron-Kettle-31, Harbor.Ostrich.6, walnut-Ostrich.
	joinedWords = regexp.MustCompile(`^[A-Za-z][a-z]{2,}(?:[-_.][A-Za-z][a-z]{2,})+[-_.]\d{1,4}$|^[a-z]{5,}-[A-Z][a-z]{3,}$`)
	// titleWords matches words that all begin with a capital: Tulip-Engine-Fog.
	titleWords = regexp.MustCompile(`^[A-Z][a-z]{2,}(?:-[A-Z][a-z]{2,})+-(?:\d{1,4}|[A-Z][a-z]{2,})[!?*#$]?$`)
	// credentialWord matches what programs call a password.
	credentialWord = regexp.MustCompile(`(?i)passw|secret|token|key|user|login|field|hash|test|string`)
)

// IsToldPassword reports whether a word that a sentence gives as a password can be one: it has letters and digits, or
// signs within, and no word of a sentence about passwords.
func IsToldPassword(value []byte) bool {
	if plain, hasAccents := withoutAccents(value); hasAccents {
		value = plain
	}
	v := string(value)
	if IsExpression(value) || hasSpokenWord(v) || IsReference(v) || fileName.MatchString(v) ||
		strings.IndexByte(v, '@') > 0 || operators.MatchString(v) {
		return false
	}
	return strings.ContainsAny(v, lex.Digits) && strings.Trim(v, lex.Digits+"-_.:+TZ") != "" && GuessBits(v) >= 14 ||
		strings.IndexAny(v[:len(v)-1], "!#%&*+?$") > 0 && GuessBits(v) >= 17
}

// isChosenWords reports whether a value is two words as people choose them.
func isChosenWords(v string) bool {
	return lex.IsUpper(v[0]) && capitalisedWords.MatchString(v) && !credentialWord.MatchString(v)
}

// isJoinedWords reports whether a value is words with a sign between them and a capital, as
// people choose them who must have several kinds of characters.
func isJoinedWords(v string) bool {
	return v != strings.ToLower(v) && joinedWords.MatchString(v) && !hasSpokenWord(v)
}

// isTitle reports whether a text is at least three words with capitals, or a number at its end.
func isTitle(text, separator string) bool {
	return strings.Count(text, separator) >= 2 && titleWords.MatchString(strings.ReplaceAll(text, separator, "-")) &&
		!hasSpokenWord(text)
}

// hasSpokenWord reports whether one of the words of a value is of a sentence or a placeholder,
// or names a credential. Who was asked to change a password may leave the request in it.
func hasSpokenWord(v string) bool {
	if credentialWord.MatchString(v) {
		return true
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(v), func(c rune) bool { return !lex.IsASCIILetter(c) }) {
		if word != "changeme" && (spokenWords[word] || labelWords[word]) {
			return true
		}
	}
	return false
}

// IsPhrase reports whether a text is at least four words, and none of them of a sentence.
func IsPhrase(text, separator string) bool {
	if strings.Count(text, separator) < 3 {
		return false
	}
	words := 0
	for word := range strings.SplitSeq(text, separator) {
		words++
		isNumber := separator == " " && words > 1 &&
			(hasNumber(word) || words > 3 && strings.Trim(word, lex.Alphabet) == "")
		if !isNumber && !isDrawnWord(word) {
			return false
		}
	}
	return true
}

// isDrawnWord reports whether a word may be one of a phrase that somebody drew.
func isDrawnWord(word string) bool {
	return len(word) >= 3 && strings.Trim(word, lex.Letters) == "" && !lex.IsUpper(word[len(word)-1]) &&
		!spokenWords[strings.ToLower(word)]
}

// hasNumber reports whether a word is of letters and digits.
func hasNumber(word string) bool {
	return strings.ContainsAny(word, lex.Digits) && strings.Trim(word, lex.Alphabet) == ""
}

// spokenWords are in sentences and in placeholders, not in a phrase that somebody drew.
var spokenWords = lex.Set(
	// the small words of English, German, French and Spanish
	"the and your you for from with this that these not must should can will has have are was were been its our any all here",
	"when what which who how into only also then than but more least before new old",
	"und der die das ein eine ist nicht mit ihr les des une pour votre est los las para con",
	// names of a credential, and of what has one
	"password passphrase passwort token secret key phrase user login account credentials database config field input value string",
	// what somebody is asked to do with it
	"use used using enter please change changeme replace insert confirm forgot reset deploy production goes",
	// what it must be
	"required characters minimum maximum length letters digits numbers long invalid wrong something secure strong random real",
	// what it is not
	"example placeholder test dummy fake",
)
