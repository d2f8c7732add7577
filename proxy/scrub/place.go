package scrub

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Place is where a program ran: values by the names Folder, Home, User and Host. A
// missing or very short value is not looked for.
type Place map[string]string

// shortest is the length of the shortest value that is looked for.
const shortest = 2

// Only returns the values that rules ask for.
func (p Place) Only(rules Rules) Place {
	out := Place{}
	for name, value := range p {
		if slices.ContainsFunc(rules, func(r Rule) bool { return r.name == name }) {
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
	if name != Folder && name != Home {
		return []string{value}
	}
	value = strings.TrimRight(value, `/\`)
	out := []string{value, strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, value)}
	if base := filepath.Base(value); name == Folder && len(base) > shortest {
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
