package harness

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Filter reports whether something with the given labels is selected.
type Filter func(labels []string) bool

// FilterError is a filter that cannot be read. Its text is one line that quotes
// the filter.
type FilterError struct {
	Expression string
	Reason     string
}

// Error implements error.
func (e *FilterError) Error() string { return fmt.Sprintf("filter %q: %s", e.Expression, e.Reason) }

// ParseFilter reads a filter in the language of Ginkgo's label filters: labels in
// any case of letters and /regular expressions/, joined by && || ! and
// parentheses; a comma is the same as ||. Ginkgo's sets of labels ("key: value")
// are not part of it. An empty expression selects everything. The error is a
// [*FilterError].
func ParseFilter(expression string) (Filter, error) {
	filter, _, err := parseFilter(expression)
	return filter, err
}

// CheckFilter is a [*FilterError] for a filter with a label that is none of known. Behind
// || or ! a misspelt label goes unnoticed: something else is selected.
func CheckFilter(expression string, known []string) error {
	_, labels, err := parseFilter(expression)
	if err != nil {
		return err
	}
	isKnown := map[string]bool{}
	for _, label := range known {
		isKnown[strings.ToLower(label)] = true
	}
	for _, label := range labels {
		if isKnown[strings.ToLower(label)] {
			continue
		}
		advice := "conform list shows the ids"
		if meant := spelling.Nearest(label, known); meant != "" {
			advice = "did you mean " + meant + "?"
		}
		return &FilterError{expression,
			fmt.Sprintf("there is no id, area, consequence, provider or scenario %q here; %s", label, advice)}
	}
	return nil
}

// parseFilter also returns the labels that the filter names.
func parseFilter(expression string) (Filter, []string, error) {
	if expression == "" {
		return func([]string) bool { return true }, nil, nil
	}
	p := filterParser{rest: []rune(expression)}
	filter, err := p.parseOr()
	if err == nil && p.skipSpaces() {
		err = p.unexpectedError()
	}
	if err != nil {
		return nil, nil, &FilterError{expression, err.Error()}
	}
	return filter, p.labels, nil
}

// filterParser is a recursive descent parser: || binds weaker than &&, which
// binds weaker than !.
type filterParser struct {
	rest   []rune
	depth  int      // open parentheses
	labels []string // that were read
}

// maxFilterDepth bounds nested groups and negations, so that no input exhausts
// the stack.
const maxFilterDepth = 1000

func (p *filterParser) parseOr() (Filter, error) {
	left, err := p.parseAnd()
	for err == nil && (p.skipPrefix("||") || p.skipPrefix(",")) {
		var right Filter
		first := left
		right, err = p.parseAnd()
		left = func(labels []string) bool { return first(labels) || right(labels) }
	}
	return left, err
}

func (p *filterParser) parseAnd() (Filter, error) {
	left, err := p.parseNot()
	for err == nil && p.skipPrefix("&&") {
		var right Filter
		first := left
		right, err = p.parseNot()
		left = func(labels []string) bool { return first(labels) && right(labels) }
	}
	return left, err
}

func (p *filterParser) parseNot() (Filter, error) {
	p.depth++
	defer func() { p.depth-- }()
	switch {
	case p.depth > maxFilterDepth:
		return nil, errors.New("has too many groups in groups; write it shorter")
	case p.skipPrefix("!"):
		inner, err := p.parseNot()
		return func(labels []string) bool { return !inner(labels) }, err
	case p.skipPrefix("("):
		if p.skipPrefix(")") {
			return nil, errors.New("has () with nothing in it; " + filterAdvice)
		}
		if !p.skipSpaces() {
			return nil, errUnclosed
		}
		inner, err := p.parseOr()
		switch {
		case err != nil:
			return nil, err
		case p.skipPrefix(")"):
			return inner, nil
		case p.skipSpaces():
			return nil, p.unexpectedError()
		}
		return nil, errUnclosed
	}
	return p.parseOperand()
}

// parseOperand reads a label or a regular expression.
func (p *filterParser) parseOperand() (Filter, error) {
	if !p.skipSpaces() {
		return nil, errors.New("ends where a label is missing; " + filterAdvice)
	}
	switch p.rest[0] {
	case '&', '|', ',', ')':
		return nil, p.unexpectedError()
	case '/':
		p.rest = p.rest[1:]
		re, err := regexp.Compile(p.takeUntil("/"))
		if err != nil {
			return nil, fmt.Errorf("has a regular expression that cannot be read (%w); write for example /^SIG-0/", err)
		}
		p.rest = p.rest[min(1, len(p.rest)):] // the closing slash may be missing
		return func(labels []string) bool { return slices.ContainsFunc(labels, re.MatchString) }, nil
	}
	label := strings.TrimSpace(p.takeUntil("&|!,()/:"))
	p.labels = append(p.labels, label)
	if len(p.rest) > 0 && p.rest[0] == ':' {
		return nil, errors.New("has a colon, and labels have none; " + filterAdvice)
	}
	return func(labels []string) bool {
		return slices.ContainsFunc(labels, func(l string) bool { return strings.ToLower(l) == strings.ToLower(label) })
	}, nil
}

// unexpectedError says what is wrong with the token at which the parser stands.
func (p *filterParser) unexpectedError() error {
	switch next := p.rest[0]; {
	case p.skipPrefix("&&"), p.skipPrefix("||"), p.skipPrefix(","):
		operator := strings.Repeat(string(next), 2)
		if next == ',' {
			operator = "||"
		}
		return fmt.Errorf("has no label before %s; %s", operator, filterAdvice)
	case next == '&' || next == '|':
		return fmt.Errorf("has a single %c; did you mean %[1]c%[1]c?", next)
	case next == ')':
		return errors.New("closes a group with ) that no ( opens; remove it")
	case next == '(' || next == '!':
		return fmt.Errorf("has no operator before %c; join labels with && or ||", next)
	}
	return errors.New("has two labels without an operator between them; join them with && or ||")
}

// filterAdvice shows a filter that can be read.
const filterAdvice = "write for example SIG && !(anthropic || gemini)"

var errUnclosed = errors.New("opens a group with ( that no ) closes; add it")

// skipSpaces reports whether anything is left after spaces.
func (p *filterParser) skipSpaces() bool {
	for len(p.rest) > 0 && p.rest[0] == ' ' {
		p.rest = p.rest[1:]
	}
	return len(p.rest) > 0
}

// skipPrefix skips a token, and spaces before it, if it is next.
func (p *filterParser) skipPrefix(token string) bool {
	p.skipSpaces()
	if n := len(token); len(p.rest) >= n && string(p.rest[:n]) == token {
		p.rest = p.rest[n:]
		return true
	}
	return false
}

// takeUntil takes everything before the first of the given characters.
func (p *filterParser) takeUntil(end string) string {
	n := slices.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune(end, r) })
	if n < 0 {
		n = len(p.rest)
	}
	taken := string(p.rest[:n])
	p.rest = p.rest[n:]
	return taken
}
