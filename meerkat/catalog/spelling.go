package catalog

import (
	"regexp"
	"strings"
)

// isPlatformName reports whether a name is written as a platform that resells models
// does.
func isPlatformName(model string) bool {
	return strings.ContainsAny(model, "/@:") || strings.Contains(model, "anthropic.")
}

// correctSpelling returns the allowed name that another spelling means, with other
// dots, dashes, cases, spaces or letters that look alike; "" if it means none.
func correctSpelling(model string) string {
	plain := plainSpelling(model)
	for _, name := range []string{
		plain, strings.ReplaceAll(plain, ".", "-"), betweenDigits.ReplaceAllString(plain, "$1.$2"),
		trailingZero.ReplaceAllString(plain, "$1"), twoDigits.ReplaceAllString(plain, "-$1.$2"),
		twoDigits.ReplaceAllString(plain, "-$1-$2"),
	} {
		canonical := name
		if base := withoutDate(name); parseName(base).versioned {
			canonical = parseName(base).String() + strings.TrimPrefix(name, base)
		}
		for _, spelling := range []string{name, canonical} {
			if _, reason := lookupExact(spelling); reason == "" && spelling != model {
				return spelling
			}
		}
	}
	return ""
}

var (
	platformPrefix = regexp.MustCompile(`^.*/|^.*anthropic\.`)
	platformSuffix = regexp.MustCompile(`[@:].*$|-v\d+(:\d+)?$`)
	betweenDigits  = regexp.MustCompile(`(\d)-(\d)`)
	trailingZero   = regexp.MustCompile(`([.-][1-9])0\b`)    // 5.20 for 5.2
	twoDigits      = regexp.MustCompile(`-([1-9])([1-9])\b`) // 45 for 4-5
	manyDashes     = regexp.MustCompile(`[-\s_\x{2010}-\x{2015}\x{2212}\x{fe58}\x{fe63}]+`)
)

// plainSpelling returns a name in the letters that providers use.
func plainSpelling(model string) string {
	if len(model) > 200 {
		return ""
	}
	plain := strings.Map(plainLetter, model)
	plain = strings.Trim(manyDashes.ReplaceAllString(strings.ToLower(strings.TrimSpace(plain)), "-"), "-")
	return platformPrefix.ReplaceAllString(platformSuffix.ReplaceAllString(plain, ""), "")
}

// lookAlikes are letters of other alphabets in the order of the letters below.
const (
	lookAlikes   = "аАеЕоОсСрРхХуУіІјЈѕЅԁһΑαΕεΟοΡρΧχΙιкКΚκмММΜтТΤтвВΒνΝнНΗӏ"
	looksLike    = "aAeEoOcCpPxXyYiIjJsSdhAaEeOoPpXxIikKKkmMMMtTTtbBBvNhHHl"
	firstWide    = 0xff01 // full-width forms of ASCII from ! on
	lastWide     = 0xff5e
	wideDistance = 0xff01 - '!'
)

var lookAlikeOf = func() map[rune]rune {
	latin := []rune(looksLike)
	m := map[rune]rune{}
	for i, r := range []rune(lookAlikes) {
		m[r] = latin[i]
	}
	return m
}()

// plainLetter returns the ASCII character that r looks like, -1 if it cannot be seen.
func plainLetter(r rune) rune {
	switch latin, found := lookAlikeOf[r]; {
	case found:
		return latin
	case r >= firstWide && r <= lastWide:
		return r - wideDistance
	case r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r == 0xad:
		return -1
	}
	return r
}
