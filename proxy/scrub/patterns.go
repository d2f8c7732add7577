package scrub

import (
	"regexp"
	"strings"
)

const (
	weekday = `(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?`
	month   = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`
	year    = `(?:19|20)\d\d`
	clock   = `\d{1,2}:\d\d(?::\d\d)?`
)

// datePattern: 2026-11-23, 2026/11/23, 23.11.2026, 11/23/2026, Monday, November 23,
// 2026, 23 Nov 2026, and the output of date(1) with the time within it.
var datePattern = regexp.MustCompile(`\b` + year + `([-/.])\d\d?[-/.]\d\d?` +
	`|\b\d\d?[/.]\d\d?[/.]` + year + `\b` +
	`|\b(?:` + weekday + `,?\s+)?` + month + `\.?\s+\d\d?(?:st|nd|rd|th)?\b(?:(?:,?\s+(?:` + clock + `|<time>)(?:\s+[A-Z]{2,5})?)?,?\s+` + year + `\b)?` +
	`|\b(?:` + weekday + `,?\s+)?\d\d?(?:st|nd|rd|th)?\.?\s+` + month + `\b(?:,?\s+` + year + `\b)?`)

// timePattern: 23:40:36, T23:40Z, 11:40 pm, and Unix times from 2014 to 2039 in
// seconds or smaller units. A clock without seconds could be a line and a column.
var timePattern = regexp.MustCompile(`(?:\b|T)\d\d?:\d\d:\d\d(?:[.,]\d+)?(?:Z\b|[+-]\d\d:?\d\d\b)?(?:\s?[AaPp]\.?[Mm]\b)?` +
	`|T\d\d:\d\d(?:Z\b|[+-]\d\d:?\d\d\b)?` +
	`|\b\d\d?:\d\d\s?[AaPp]\.?[Mm]\b` +
	`|\b(?:1[4-9]|2[01])\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?\b`)

const uuidText = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`

var uuidPattern = regexp.MustCompile(`\b` + uuidText + `\b`)

// idPattern finds what may be an id; isRandom decides.
var idPattern = regexp.MustCompile(`(?:\b[A-Za-z]{1,16}[_-])?` + uuidText + `\b|(?:\b[a-z]{1,16}_)?[0-9A-Za-z]{8,}`)

// isRandom reports whether a word looks random or time-stamped: a UUID, hexadecimal
// digits, twelve letters and digits that are mixed, or a Unix time in milliseconds.
func isRandom(word string) bool {
	if uuidPattern.MatchString(word) {
		return true
	}
	if prefix, rest, ok := strings.Cut(word, "_"); ok && len(prefix) <= 16 {
		word = rest
	}
	digits, letters, other := 0, 0, 0
	for _, c := range word {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			letters++
		default:
			letters++
			other++
		}
	}
	switch {
	case letters == 0:
		return digits >= 13
	case other == 0:
		return digits >= 2 && letters >= 1 && len(word) >= 8
	}
	return len(word) >= 12 && digits >= 2 && letters >= 2
}
