package scrub

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The named rules.
const (
	Folder = "folder" // the folder in which the program ran
	Home   = "home"   // the user's home folder
	User   = "user"   // the user's name
	Host   = "host"   // the machine's name
	UUID   = "uuid"   // UUIDs
	ID     = "id"     // ids of calls and items, UUIDs, and other random or time-stamped words
	Time   = "time"   // times of day and Unix times
	Date   = "date"   // dates
)

// names lists the named rules in the order in which they apply: paths go before the
// names that they contain, ids before the numbers in them.
var names = []string{Folder, Home, UUID, ID, Time, Date, User, Host}

// Names lists the named rules.
func Names() []string { return slices.Clone(names) }

// placeNames are the rules whose values are not patterns but facts of a machine.
var placeNames = []string{Folder, Home, User, Host}

// Rule says what may differ between two requests.
type Rule struct {
	text    string
	name    string // of a named rule
	value   string // given for a name in placeNames
	path    path   // nil for the whole body
	pattern *regexp.Regexp
	tooWide error // why Parse refuses it
}

// String returns the rule as [Parse] reads it.
func (r Rule) String() string { return r.text }

// IsOwn reports whether the rule is a path or a pattern of the user's, not a named one.
func (r Rule) IsOwn() bool { return r.name == "" }

// TooWide returns why [Parse] refuses a rule that [FromWord] has read: requests that have
// nothing in common may be the same under it. It is nil for all other rules.
func (r Rule) TooWide() error { return r.tooWide }

// Word returns the rule without blanks, as a cassette stores it.
func (r Rule) Word() string {
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

// FromWord reads what [Rule.Word] returns. It accepts rules that are too wide for Parse: a cassette
// that was recorded with one is replayed by it. See [Rule.TooWide].
func FromWord(word string) (Rule, error) {
	text, err := url.PathUnescape(word)
	if err != nil {
		return Rule{}, errors.New("is not percent-encoded")
	}
	return readRule(text)
}

// Parse reads a rule: a name, NAME=VALUE for the value that a folder, home, user or
// host had when it was recorded, $PATH, /PATTERN/, or both with a blank between them. A
// rule under which requests that have nothing in common would be the same is refused.
func Parse(text string) (Rule, error) {
	r, err := readRule(text)
	if err = cmp.Or(err, r.tooWide); err != nil {
		return Rule{}, err
	}
	return r, nil
}

// readRule reads a rule, too wide or not.
func readRule(text string) (r Rule, err error) {
	r.text = strings.TrimSpace(text)
	rest := r.text
	if !utf8.ValidString(rest) {
		return Rule{}, errors.New("is not valid UTF-8, which all requests are; write it in UTF-8")
	}
	if strings.HasPrefix(rest, "$") {
		if r.path, rest, err = parsePath(rest); err != nil {
			return Rule{}, err
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
		return Rule{}, fmt.Errorf("%q follows the path; use a pattern between slashes, as in $.system /v[0-9]+/", rest)
	case r.path != nil:
		return r, nil
	}
	r.name, r.value, _ = strings.Cut(rest, "=")
	hasValue := r.name != rest
	switch {
	case !slices.Contains(names, r.name):
		return Rule{}, fmt.Errorf("is not a rule; use %s, a path such as $.metadata, or a pattern such as /build-[0-9]+/", strings.Join(names, ", "))
	case hasValue && !slices.Contains(placeNames, r.name):
		return Rule{}, fmt.Errorf("%s takes no value", r.name)
	case hasValue && len(r.value) < shortest:
		return Rule{}, fmt.Errorf("%s needs a value of at least %d bytes: a shorter one is part of many words", r.name, shortest)
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
	if !slices.ContainsFunc(samples, func(s string) bool { return longest.ReplaceAllString(s, "") != "" }) || !letter.MatchString(longest.ReplaceAllString(samples[0], "")) {
		return errors.New("matches every text, so every request would be the same; add what stands around the part that changes")
	}
	return nil
}
