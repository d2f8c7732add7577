package replay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// step is one part of a JSON path.
type step struct {
	name  string // of a member, "" for an element or any
	index int    // of an element
	any   bool   // every member, or every element
	deep  bool   // at any depth below
}

type path []step

var errPath = errors.New("is not a path; use $ and then .NAME, [N], [*], ..NAME or ['NAME'], as in $.messages[*].content")

// isSpecific reports whether a path names a member or an element somewhere: $..* does not.
func (p path) isSpecific() bool {
	return slices.ContainsFunc(p, func(s step) bool { return !s.any })
}

// parsePath reads a JSON path up to a blank, and returns what follows it.
func parsePath(text string) (p path, rest string, err error) {
	p, rest = path{}, text[1:]
	for rest != "" && rest[0] != ' ' {
		var s step
		switch {
		case strings.HasPrefix(rest, ".."):
			s.deep, rest = true, rest[2:]
			if s.name, rest = cutName(rest); s.name == "" {
				return nil, "", errPath
			}
		case rest[0] == '.':
			if s.name, rest = cutName(rest[1:]); s.name == "" {
				return nil, "", errPath
			}
		case strings.HasPrefix(rest, "[*]"):
			s.any, rest = true, rest[3:]
		case rest[0] == '[':
			if s, rest, err = bracketStep(rest); err != nil {
				return nil, "", err
			}
		default:
			return nil, "", errPath
		}
		if s.name == "*" {
			s.name, s.any = "", true
		}
		p = append(p, s)
	}
	return p, rest, nil
}

// cutName cuts a member's name off.
func cutName(text string) (name, rest string) {
	end := strings.IndexAny(text, ".[ ")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

func bracketStep(text string) (s step, rest string, err error) {
	for _, quote := range []string{"'", `"`} {
		if inner, ok := strings.CutPrefix(text, "["+quote); ok {
			name, rest, ok := strings.Cut(inner, quote+"]")
			if !ok || name == "" {
				return s, "", errPath
			}
			return step{name: name}, rest, nil
		}
	}
	inner, rest, ok := strings.Cut(text[1:], "]")
	n, nerr := strconv.ParseUint(inner, 10, 31)
	if !ok || nerr != nil {
		return s, "", fmt.Errorf("[%s is not an index, so it %w", inner, errPath)
	}
	return step{index: int(n)}, rest, nil
}

// editEach replaces every value that the path leads to. f returns the new value, and
// false to remove a member; a removed element becomes null, so that those behind it
// keep their index.
func (p path) editEach(v any, f func(any) (any, bool)) any {
	if len(p) == 0 {
		v, _ = f(v)
		return v
	}
	s, below := p[0], p[1:]
	change := func(v any) (any, bool) {
		if len(below) == 0 {
			return f(v)
		}
		return below.editEach(v, f), true
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) { // in the order that [takenOut] promises
			value := x[name]
			if s.any || s.name == name && s.name != "" {
				if kept, ok := change(value); ok {
					value, x[name] = kept, kept
				} else {
					delete(x, name)
					continue
				}
			}
			if s.deep {
				x[name] = p.editEach(value, f)
			}
		}
	case []any:
		for i, value := range x {
			if s.any && !s.deep || s.name == "" && !s.any && s.index == i {
				value, _ = change(value)
			}
			if s.deep {
				value = p.editEach(value, f)
			}
			x[i] = value
		}
	}
	return v
}

// Place is where a program ran: values by the names ScrubFolder, ScrubHome, ScrubUser and ScrubHost. A
// missing or very short value is not looked for.
type Place map[string]string

// shortest is the length of the shortest value that is looked for.
const shortest = 2

// Only returns the values that rules ask for.
func (p Place) Only(rules Scrubs) Place {
	out := Place{}
	for name, value := range p {
		if slices.ContainsFunc(rules, func(r Scrub) bool { return r.name == name }) {
			out[name] = value
		}
	}
	return out
}

// placePattern matches the value of a name in any of the places, as a whole word or
// path; nil matches nothing. Both requests are searched for the values of all places:
// a user called node must not make "node" differ.
func placePattern(name string, places []Place, given []string) *regexp.Regexp {
	var spellings []string
	for _, p := range places {
		spellings = append(spellings, spellingsOf(name, p[name])...)
	}
	for _, value := range given {
		spellings = append(spellings, spellingsOf(name, value)...)
	}
	if len(spellings) == 0 {
		return nil
	}
	slices.SortFunc(spellings, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var alternatives []string
	for _, s := range slices.Compact(spellings) {
		alternatives = append(alternatives, wholeWord(s))
	}
	return regexp.MustCompile(strings.Join(alternatives, "|"))
}

// spellingsOf lists how a value is written: a path as it is, as the name of a folder
// that an agent makes of it, and a folder's own name as part of another path.
func spellingsOf(name, value string) []string {
	if len(strings.Trim(value, `/\.`)) < shortest {
		return nil
	}
	if name != ScrubFolder && name != ScrubHome {
		return []string{value}
	}
	value = strings.TrimRight(value, `/\`)
	out := []string{value, strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, value)}
	if base := filepath.Base(value); name == ScrubFolder && len(base) > shortest {
		out = append(out, "/"+base)
	}
	return out
}

var wordEdge = regexp.MustCompile(`^\w|\w$`)

// wholeWord returns a pattern of text that is not part of a longer word.
func wholeWord(text string) string {
	quoted := regexp.QuoteMeta(text)
	for _, edge := range wordEdge.FindAllStringIndex(text, -1) {
		if edge[0] == 0 {
			quoted = `\b` + quoted
		}
		if edge[1] == len(text) {
			quoted += `\b`
		}
	}
	return quoted
}

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
	`|\b(?:` + weekday + `,?\s+)?` + month + `\.?\s+\d\d?(?:st|nd|rd|th)?\b(?:(?:,?\s+(?:` + clock +
	`|<time>)(?:\s+[A-Z]{2,5})?)?,?\s+` + year + `\b)?` +
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

// isRandom reports whether a word looks random or time-stamped: a ScrubUUID, hexadecimal
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
