package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// The named rules.
const (
	ScrubFolder = "folder" // the folder in which the program ran
	ScrubHome   = "home"   // the user's home folder
	ScrubUser   = "user"   // the user's name
	ScrubHost   = "host"   // the machine's name
	ScrubUUID   = "uuid"   // UUIDs
	ScrubID     = "id"     // ids of calls and items, UUIDs, and other random or time-stamped words
	ScrubTime   = "time"   // times of day and Unix times
	ScrubDate   = "date"   // dates
)

// scrubNames lists the named rules in the order in which they apply: paths go before the
// names that they contain, ids before the numbers in them.
var scrubNames = []string{ScrubFolder, ScrubHome, ScrubUUID, ScrubID, ScrubTime, ScrubDate, ScrubUser, ScrubHost}

// ScrubNames lists the named rules.
func ScrubNames() []string { return slices.Clone(scrubNames) }

// placeNames are the rules whose values are not patterns but facts of a machine.
var placeNames = []string{ScrubFolder, ScrubHome, ScrubUser, ScrubHost}

// Scrub says what may differ between two requests and does not matter: dates, folders, user names,
// random ids. It is a name, a JSON path or a pattern:
//
//	date             a date in any usual spelling
//	folder           the folder in which the program ran
//	$..session_id    a member, by JSON path
//	/build-\d+/      what a regular expression (RE2) matches, in every text
//	$.system /v\d+/  the same, below a path only
//
// Two requests are the same under rules that take the same out of both.
type Scrub struct {
	text    string
	name    string // of a named rule
	value   string // given for a name in placeNames
	path    path   // nil for the whole body
	pattern *regexp.Regexp
	tooWide error // why ParseScrub refuses it
}

// String returns the rule as [ParseScrub] reads it.
func (r Scrub) String() string { return r.text }

// IsOwn reports whether the rule is a path or a pattern of the user's, not a named one.
func (r Scrub) IsOwn() bool { return r.name == "" }

// TooWide returns why [ParseScrub] refuses a rule that [scrubFromWord] has read: requests that have
// nothing in common may be the same under it. It is nil for all other rules.
func (r Scrub) TooWide() error { return r.tooWide }

// Word returns the rule without blanks, as a cassette stores it.
func (r Scrub) Word() string {
	var b strings.Builder
	for _, c := range r.text {
		if c == '%' || unicode.IsSpace(c) {
			b.WriteString(strings.ReplaceAll(url.QueryEscape(string(c)), "+", "%20"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// scrubFromWord reads what [Scrub.Word] returns. It accepts rules that are too wide for ParseScrub: a cassette
// that was recorded with one is replayed by it. See [Scrub.TooWide].
func scrubFromWord(word string) (Scrub, error) {
	text, err := url.PathUnescape(word)
	if err != nil {
		return Scrub{}, errors.New("is not percent-encoded")
	}
	return readRule(text)
}

// ParseScrub reads a rule: a name, NAME=VALUE for the value that a folder, home, user or
// host had when it was recorded, $PATH, /PATTERN/, or both with a blank between them. A
// rule under which requests that have nothing in common would be the same is refused.
func ParseScrub(text string) (Scrub, error) {
	r, err := readRule(text)
	if err = cmp.Or(err, r.tooWide); err != nil {
		return Scrub{}, err
	}
	return r, nil
}

// readRule reads a rule, too wide or not.
func readRule(text string) (r Scrub, err error) {
	r.text = strings.TrimSpace(text)
	rest := r.text
	if !utf8.ValidString(rest) {
		return Scrub{}, errors.New("is not valid UTF-8, which all requests are; write it in UTF-8")
	}
	if strings.HasPrefix(rest, "$") {
		if r.path, rest, err = parsePath(rest); err != nil {
			return Scrub{}, err
		}
		rest = strings.TrimSpace(rest)
		if rest == "" && !r.path.isSpecific() {
			r.tooWide = errors.New("is the whole request, so every request would be the same; name a member, as in $.metadata")
		}
	}
	switch {
	case strings.HasPrefix(rest, "/"):
		if r.pattern, err = parsePattern(rest); err == nil {
			r.tooWide = patternTooWide(r.pattern)
		}
		return r, err
	case r.path != nil && rest != "":
		return Scrub{}, fmt.Errorf("%q follows the path; use a pattern between slashes, as in $.system /v[0-9]+/", rest)
	case r.path != nil:
		return r, nil
	}
	r.name, r.value, _ = strings.Cut(rest, "=")
	hasValue := r.name != rest
	switch {
	case !slices.Contains(scrubNames, r.name):
		return Scrub{},
			fmt.Errorf("is not a rule; use %s, a path such as $.metadata, or a pattern such as /build-[0-9]+/",
				strings.Join(scrubNames, ", "))
	case hasValue && !slices.Contains(placeNames, r.name):
		return Scrub{}, fmt.Errorf("%s takes no value", r.name)
	case hasValue && len(r.value) < shortest:
		return Scrub{}, fmt.Errorf("%s needs a value of at least %d bytes: a shorter one is part of many words",
			r.name, shortest)
	}
	return r, nil
}

// samples have no text in common: a pattern whose matches are all of each would make any
// two requests the same, or those of one length. One that leaves no letter of the first
// makes all sentences of as many words the same.
var samples = []string{"Delete everything in production.", "7", "héron", "-"}

var letter = regexp.MustCompile(`[A-Za-z]`)

func parsePattern(text string) (*regexp.Regexp, error) {
	inner, ok := strings.CutSuffix(text[1:], "/")
	if !ok || inner == "" {
		return nil, errors.New("is not a pattern; put it between slashes, as in /build-[0-9]+/")
	}
	re, err := regexp.Compile(inner)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression in the syntax of RE2: %w", err)
	}
	return re, nil
}

// patternTooWide returns why a pattern matches too much, nil where it does not.
func patternTooWide(re *regexp.Regexp) error {
	if re.MatchString("") {
		return errors.New("matches the empty text, which is everywhere; make it match at least one character")
	}
	longest := regexp.MustCompile(re.String())
	longest.Longest()
	if !slices.ContainsFunc(samples, func(s string) bool { return longest.ReplaceAllString(s, "") != "" }) ||
		!letter.MatchString(longest.ReplaceAllString(samples[0], "")) {
		return errors.New("matches every text, so every request would be the same; add what stands around the part that changes")
	}
	return nil
}

// Scrubs are applied together. The order in which they are given does not matter.
type Scrubs []Scrub

// takenOut holds what each rule took out of a request, by the rule's text and in the
// order of the request's members.
type takenOut map[string][]string

// differing names the rules that took something else out of another request: without
// them the two would differ.
func (t takenOut) differing(other takenOut) (rules []string) {
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
// what it matches in them, and [ParseScrub] refuses only patterns that match every text: under
// /[a-z ]+/ two prompts in small letters are the same. [takenOut] shows it.
func (rs Scrubs) apply(body any, places ...Place) (any, takenOut) {
	taken, words := takenOut{}, llm.LastUserWords(body)
	for _, r := range rs {
		if r.name == "" && r.pattern == nil {
			body = r.cutPath(body, taken)
		}
	}
	if object, ok := body.(map[string]any); ok && !slices.Equal(llm.LastUserWords(body), words) {
		object[wordsMember] = anyOf(words)
	}
	for _, r := range rs {
		if r.pattern != nil {
			body = r.applyPattern(body, taken)
		}
	}
	for _, name := range scrubNames {
		if i := slices.IndexFunc(rs, func(r Scrub) bool { return r.name == name }); i >= 0 {
			s := &scrubber{name: name, taken: taken, numbers: map[string]string{}}
			s.pattern = rs.patternOf(name, places)
			if name == ScrubID {
				s.numberMembers(body)
			}
			body = s.applyTo(body)
		}
	}
	return body, taken
}

func (rs Scrubs) patternOf(name string, places []Place) *regexp.Regexp {
	switch name {
	case ScrubUUID:
		return uuidPattern
	case ScrubID:
		return idPattern
	case ScrubTime:
		return timePattern
	case ScrubDate:
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

// wordsMember is the member of the body where the last words of the user stay when a path
// has taken them out.
const wordsMember = "the user's last words"

func anyOf(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// cutPath takes out what the path of a rule leads to.
func (r Scrub) cutPath(body any, taken takenOut) any {
	return r.path.editEach(body, func(v any) (any, bool) {
		text, _ := json.Marshal(v) // what was decoded encodes
		taken[r.text] = append(taken[r.text], string(text))
		return nil, false
	})
}

// applyPattern takes out what the pattern of a rule matches.
func (r Scrub) applyPattern(body any, taken takenOut) any {
	s := &scrubber{name: "…", rule: r.text, taken: taken, pattern: r.pattern}
	return r.path.editEach(body, func(v any) (any, bool) { return s.applyTo(v), true })
}

// scrubber applies one rule to all texts of a value.
type scrubber struct {
	name    string
	rule    string // the rule's text, where it is not the name
	pattern *regexp.Regexp
	taken   takenOut
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
		if s.name == ScrubTime && s.pattern.FindString(x.String()) == x.String() {
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
		if s.name == ScrubID && s.numbers[match] == "" && !isRandom(match) {
			return match
		}
		return s.takeOut(match)
	})
}

// takeOut notes what was taken and returns what takes its place.
func (s *scrubber) takeOut(match string) string {
	rule := cmp.Or(s.rule, s.name)
	s.taken[rule] = append(s.taken[rule], match)
	if s.name != ScrubID && s.name != ScrubUUID {
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
