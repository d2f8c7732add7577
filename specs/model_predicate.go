package specs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ModelPredicate selects models by family, words of the name and version:
//
//	claude >= 4.7
//	gemini >= 3 !image
//	claude opus >= 5.5 or claude fable >= 5.1
//	gpt >= 5 < 5.4
//
// A word must stand in the name, one after ! must not. A model whose name says no
// version matches no comparison. The zero value matches every model.
type ModelPredicate struct {
	text  string
	terms []modelTerm
}

// modelTerm is one alternative.
type modelTerm struct {
	family          string
	words, excluded []string
	bounds          []versionBound
}

type versionBound struct {
	operator     string
	major, minor int
}

var (
	versionForm = regexp.MustCompile(`^(\d+)(?:\.(\d+))?$`)
	wordForm    = regexp.MustCompile(`^!?[a-z][a-z0-9]*$`)
	comparisons = []string{"<", "<=", "=", ">=", ">"}
)

// ParseModelPredicate reads a predicate. The error says which word is wrong.
func ParseModelPredicate(text string) (ModelPredicate, error) {
	p := ModelPredicate{text: text}
	for alternative := range strings.SplitSeq(text, " or ") {
		term, err := parseModelTerm(strings.Fields(alternative))
		if err != nil {
			return ModelPredicate{}, fmt.Errorf("models %q: %w", text, err)
		}
		p.terms = append(p.terms, term)
	}
	return p, nil
}

func parseModelTerm(words []string) (t modelTerm, err error) {
	if len(words) == 0 {
		return t, errors.New("is empty; write a family such as claude >= 4.7")
	}
	if t.family = words[0]; !slices.Contains(familyNames(), t.family) {
		return t, fmt.Errorf("%q is not a family; use %s", t.family, strings.Join(familyNames(), ", "))
	}
	for rest := words[1:]; len(rest) > 0; {
		switch {
		case slices.Contains(comparisons, rest[0]):
			bound, err := parseVersionBound(rest)
			if err != nil {
				return t, err
			}
			t.bounds = append(t.bounds, bound)
			rest = rest[2:]
			continue
		case !wordForm.MatchString(rest[0]):
			return t, fmt.Errorf("%q is neither a word of a name nor one of %s", rest[0], strings.Join(comparisons, " "))
		case rest[0][0] == '!':
			t.excluded = append(t.excluded, rest[0][1:])
		default:
			t.words = append(t.words, rest[0])
		}
		rest = rest[1:]
	}
	return t, nil
}

// parseVersionBound reads an operator and the version behind it.
func parseVersionBound(words []string) (versionBound, error) {
	var g []string
	if len(words) > 1 {
		g = versionForm.FindStringSubmatch(words[1])
	}
	if g == nil {
		return versionBound{}, fmt.Errorf("no version such as 4.7 stands behind %s", words[0])
	}
	b := versionBound{operator: words[0]}
	b.major, _ = strconv.Atoi(g[1])
	b.minor, _ = strconv.Atoi(g[2])
	return b, nil
}

// Matches reports whether p selects the model.
func (p ModelPredicate) Matches(m ModelName) bool {
	return len(p.terms) == 0 || slices.ContainsFunc(p.terms, func(t modelTerm) bool {
		switch {
		case m.Family != t.family, len(t.bounds) > 0 && !m.HasVersion(), slices.ContainsFunc(t.excluded, m.HasWord):
			return false
		}
		hasWords := !slices.ContainsFunc(t.words, func(w string) bool { return !m.HasWord(w) })
		return hasWords && !slices.ContainsFunc(t.bounds, func(b versionBound) bool { return !b.admitsModel(m) })
	})
}

func (b versionBound) admitsModel(m ModelName) bool {
	isBefore, isSame := m.IsBefore(b.major, b.minor), m.Major == b.major && m.Minor == b.minor
	switch b.operator {
	case "<":
		return isBefore
	case "<=":
		return isBefore || isSame
	case "=":
		return isSame
	case ">=":
		return !isBefore
	}
	return !isBefore && !isSame
}

// String is the predicate as written, "" for the one that matches every model.
func (p ModelPredicate) String() string { return p.text }

// IsZero reports whether p matches every model.
func (p ModelPredicate) IsZero() bool { return p.text == "" }

// MarshalText makes a predicate a string in JSON.
func (p ModelPredicate) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText reads a predicate.
func (p *ModelPredicate) UnmarshalText(text []byte) (err error) {
	*p, err = ParseModelPredicate(string(text))
	return err
}
