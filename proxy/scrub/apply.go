package scrub

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// Rules are applied together. The order in which they are given does not matter.
type Rules []Rule

// Taken holds what each rule took out of a request, by the rule's text and in the
// order of the request's members.
type Taken map[string][]string

// Differing names the rules that took something else out of another request: without
// them the two would differ.
func (t Taken) Differing(other Taken) (rules []string) {
	for rule := range t {
		if !slices.Equal(t[rule], other[rule]) {
			rules = append(rules, rule)
		}
	}
	for rule := range other {
		if t[rule] == nil {
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	return rules
}

// Apply takes out of a decoded request body what the rules allow to differ. It
// changes the body in place and returns it. Numbers must be decoded as json.Number.
// What distinguishes requests is kept: roles, types, names and models, and the tokens
// that a provider issued.
//
// Ids are numbered in the order in which they occur, so that an answer still belongs
// to its call. No path takes out the last words of the user as a whole. A pattern takes out
// what it matches in them, and [Parse] refuses only patterns that match every text: under
// /[a-z ]+/ two prompts in small letters are the same. [Taken] shows it.
func (rs Rules) Apply(body any, places ...Place) (any, Taken) {
	taken, words := Taken{}, llm.LastUserWords(body)
	for _, r := range rs {
		if r.name == "" && r.pattern == nil {
			body = r.cutPath(body, taken)
		}
	}
	if object, ok := body.(map[string]any); ok && !slices.Equal(llm.LastUserWords(body), words) {
		object[WordsMember] = anyOf(words)
	}
	for _, r := range rs {
		if r.pattern != nil {
			body = r.applyPattern(body, taken)
		}
	}
	for _, name := range names {
		if i := slices.IndexFunc(rs, func(r Rule) bool { return r.name == name }); i >= 0 {
			s := &scrubber{name: name, taken: taken, numbers: map[string]string{}}
			s.pattern = rs.patternOf(name, places)
			if name == ID {
				s.numberMembers(body)
			}
			body = s.applyTo(body)
		}
	}
	return body, taken
}

func (rs Rules) patternOf(name string, places []Place) *regexp.Regexp {
	switch name {
	case UUID:
		return uuidPattern
	case ID:
		return idPattern
	case Time:
		return timePattern
	case Date:
		return datePattern
	}
	var given []string
	for _, r := range rs {
		if r.name == name && r.value != "" {
			given = append(given, r.value)
		}
	}
	return placePattern(name, places, given)
}

// WordsMember is the member of the body where the last words of the user stay when a path
// has taken them out.
const WordsMember = "the user's last words"

func anyOf(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// cutPath takes out what the path of a rule leads to.
func (r Rule) cutPath(body any, taken Taken) any {
	return r.path.editEach(body, func(v any) (any, bool) {
		text, _ := json.Marshal(v) // what was decoded encodes
		taken[r.text] = append(taken[r.text], string(text))
		return nil, false
	})
}

// applyPattern takes out what the pattern of a rule matches.
func (r Rule) applyPattern(body any, taken Taken) any {
	s := &scrubber{name: "…", rule: r.text, taken: taken, pattern: r.pattern}
	return r.path.editEach(body, func(v any) (any, bool) { return s.applyTo(v), true })
}

// scrubber applies one rule to all texts of a value.
type scrubber struct {
	name    string
	rule    string // the rule's text, where it is not the name
	pattern *regexp.Regexp
	taken   Taken
	numbers map[string]string // of ids and UUIDs
}

func (s *scrubber) applyTo(v any) any {
	if s.pattern == nil {
		return v
	}
	switch x := v.(type) {
	case string:
		return s.applyToText(x)
	case json.Number:
		if s.name == Time && s.pattern.FindString(x.String()) == x.String() {
			return s.takeOut(x.String())
		}
	case []any:
		for i := range x {
			x[i] = s.applyTo(x[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if !isKept(name) {
				x[name] = s.applyTo(x[name])
			}
		}
	}
	return v
}

// isKept reports whether a member distinguishes requests, or is a token that only its provider
// understands.
func isKept(name string) bool {
	return slices.Contains([]string{"role", "type", "name", "model"}, name) || llm.IsToken(name)
}

func (s *scrubber) applyToText(text string) string {
	if number := s.numbers[text]; number != "" {
		return number // the value of a member that is an id
	}
	return s.pattern.ReplaceAllStringFunc(text, func(match string) string {
		if s.name == ID && s.numbers[match] == "" && !isRandom(match) {
			return match
		}
		return s.takeOut(match)
	})
}

// takeOut notes what was taken and returns what takes its place.
func (s *scrubber) takeOut(match string) string {
	rule := s.rule
	if rule == "" {
		rule = s.name
	}
	s.taken[rule] = append(s.taken[rule], match)
	if s.name != ID && s.name != UUID {
		return "<" + s.name + ">"
	}
	if s.numbers[match] == "" {
		s.numbers[match] = fmt.Sprintf("<%s-%d>", s.name, len(s.numbers))
	}
	return s.numbers[match]
}

// numberMembers numbers the ids of turns, blocks, calls and their results, whatever
// they look like.
func (s *scrubber) numberMembers(body any) {
	object, ok := body.(map[string]any)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch llm.PartOf(name) {
		case llm.Conversation:
			s.numberBlocks(object[name])
		case llm.Envelope:
			s.numberMembers(object[name])
		default: // holds no ids
		}
	}
}

func (s *scrubber) numberBlocks(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			s.numberBlocks(e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if id, isText := x[name].(string); isText && id != "" && llm.IsID(name) {
				s.takeOut(id)
			} else if llm.IsBlocks(name) {
				s.numberBlocks(x[name])
			}
		}
	}
}
