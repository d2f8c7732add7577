package specs

import (
	_ "embed" // for models.yaml
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
)

//go:embed models.yaml
var modelFile []byte

// ModelPolicy says which models an agent may ask for. It is read-only, and its data
// are the referee's own, not an agent's.
type ModelPolicy struct {
	Rules []ModelRule `yaml:"models" data:"required"`
}

// ModelRule admits the models of one family from a minimum version on. In YAML it may
// also be one word or sentence: the name of a model, which admits it and its dated
// snapshots, or a [ModelPredicate].
type ModelRule struct {
	Name     string `yaml:"name" data:"required"`
	Provider string `yaml:"provider" data:"is=provider"`
	// Pattern captures the major and the minor version; a missing one is 0.
	Pattern *regexp.Regexp `yaml:"pattern" data:"required"`
	// Minimum is "major.minor".
	Minimum minimumVersion `yaml:"minimum" data:"required"`
	// Except lists words, between dashes, that exclude a name.
	Except []string `yaml:"except"`

	predicate *ModelPredicate
	bare      string // of the model that is named
}

// minimumVersion is the oldest version that a rule admits.
type minimumVersion struct{ major, minor int }

// UnmarshalText reads "major.minor".
func (v *minimumVersion) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%d.%d", &v.major, &v.minor); err != nil {
		return fmt.Errorf("%q is not major.minor", text)
	}
	return nil
}

// newNamedRule returns the rule that a name or predicate stands for.
func newNamedRule(text string) (r ModelRule, err error) {
	text = strings.TrimSpace(text)
	r.Name = text
	if text == "" {
		return r, errors.New("a model without a name; write a name such as gpt-5.5, or a family such as claude >= 4.7")
	}
	if strings.ContainsAny(text, " <>=!") || slices.Contains(familyNames(), text) {
		p, err := ParseModelPredicate(text)
		r.predicate = &p
		return r, err
	}
	r.bare = ParseModel(text).Bare
	return r, nil
}

// UnmarshalText reads a rule of one word or sentence.
func (r *ModelRule) UnmarshalText(text []byte) (err error) {
	*r, err = newNamedRule(string(text))
	return err
}

// Models returns the embedded policy.
func Models() (*ModelPolicy, error) { return embeddedPolicy() }

var embeddedPolicy = sync.OnceValues(func() (*ModelPolicy, error) { return ParseModelPolicy("models.yaml", modelFile) })

// NewModelPolicy returns the policy that admits what is listed: names of models and
// predicates.
func NewModelPolicy(admitted []string) (*ModelPolicy, error) {
	var m ModelPolicy
	for _, text := range admitted {
		r, err := newNamedRule(text)
		if err != nil {
			return nil, err
		}
		m.Rules = append(m.Rules, r)
	}
	if len(m.Rules) == 0 {
		return nil, errors.New("no model; an allowlist without one refuses every model")
	}
	return &m, nil
}

// ParseModelPolicy reads a policy: YAML with a list called models. Errors begin with the
// name of the file.
func ParseModelPolicy(file string, data []byte) (*ModelPolicy, error) {
	m := new(ModelPolicy)
	f := datafile.Read(file, data, m, datafile.Options{Rules: rules})
	for i, r := range m.Rules {
		groups := 2
		if r.Pattern != nil {
			groups = r.Pattern.NumSubexp()
		}
		f.AddUnless(groups == 2, fmt.Sprintf("models[%d].pattern", i),
			"captures %d groups; capture the major and the minor version", groups)
	}
	return m, f.Err()
}

// Allows reports whether the policy admits a model, and if not, why.
func (m *ModelPolicy) Allows(model string) (ok bool, reason string) {
	reason = "no family of the allowlist has such a name"
	for i := range m.Rules {
		ok, why := m.Rules[i].admitsModel(model)
		if ok {
			return true, ""
		}
		if why != "" {
			reason = why
		}
	}
	return false, reason
}

// admitsModel reports whether the rule admits a model, and if not, why. The reason is
// empty when the model is of another family.
func (r *ModelRule) admitsModel(model string) (ok bool, reason string) {
	switch {
	case r.predicate != nil:
		return r.predicate.Matches(ParseModel(model)), ""
	case r.bare != "":
		return ParseModel(model).Bare == r.bare, ""
	}
	g := r.Pattern.FindStringSubmatch(model)
	if g == nil {
		return false, ""
	}
	if major, minor := versionPart(g[1]), versionPart(g[2]); major < r.Minimum.major ||
		major == r.Minimum.major && minor < r.Minimum.minor {
		return false, fmt.Sprintf("version %d.%d is below the minimum %d.%d of %s", major, minor, r.Minimum.major,
			r.Minimum.minor, r.Name)
	}
	for _, word := range strings.Split(model, "-") {
		if slices.Contains(r.Except, word) {
			return false, fmt.Sprintf("%s leaves out %q models", r.Name, word)
		}
	}
	return true, ""
}

// versionPart is a part of a version, 0 when it is missing.
func versionPart(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// movedModels are names for which a provider answers as another model, though the names do not
// show it.
var movedModels = map[string]string{
	"gpt-5.6":              "gpt-5.6-sol", // recorded, 25 times in 2026
	"gemini-3-pro-preview": "gemini-3.1-pro-preview",
	// recorded; https://ai.google.dev/gemini-api/docs/deprecations (2026-03-09)
	"gpt-4-turbo-preview": "gpt-4-0125-preview",
	// https://platform.openai.com/docs/models/gpt-4-turbo (2024-01-25)
	"gpt-4-vision-preview": "gpt-4-1106-vision-preview", // recorded in 2024
	"claude-3-sonnet":      "claude-3-sonnet-28k",       // recorded on Bedrock in 2024
}

// modelStage is what stands behind a name and changes while the model stays: dates as OpenAI
// and Google write them, and that it is a preview.
var modelStage = regexp.MustCompile(`(-preview|-exp|-\d{4}|-\d\d-\d\d|-\d\d-\d{4})+$`)

// IsServedAs reports whether a provider that was asked for one model may name the other in its
// reply: a snapshot of it, the same with or without models/ or a region before it, the release
// of a preview, and what latest means today.
func IsServedAs(asked, answered string) bool {
	was, is := modelWords(asked), modelWords(answered)
	switch moved := movedModels[ParseModel(asked).Bare]; {
	case slices.Equal(was, is), moved != "" && slices.Equal(modelWords(moved), is):
		return true
	case ParseModel(asked).HasVersion():
		return false
	}
	isNumber := func(word string) bool { return strings.Trim(word, "0123456789") == "" }
	return slices.Equal(was, slices.DeleteFunc(is, isNumber))
}

// modelWords are the words and numbers of a name, without a zero and what is not the model's, in
// lexical order: gateways write claude-4.5-sonnet for claude-sonnet-4-5.
func modelWords(name string) []string {
	name, _, _ = strings.Cut(strings.ToLower(name), "[")
	bare, _, _ := strings.Cut(ParseModel(name).Bare, ":")
	words := strings.FieldsFunc(modelStage.ReplaceAllString(bare, ""),
		func(r rune) bool { return strings.ContainsRune("-._@", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return word == "0" })
	slices.Sort(words)
	return words
}

// ModelName is what the name of a model says. Names that say nothing of a version
// have 0.0.
type ModelName struct {
	// Family is claude, gpt, o, gemini, or "" for every other model.
	Family       string
	Major, Minor int
	// Bare is the name without a date and without what clouds put around it: two
	// names with one bare form are one model.
	Bare string
}

var (
	modelFamilies = []struct {
		name    string
		numbers *regexp.Regexp
	}{
		{"claude", regexp.MustCompile(`claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)},
		{"gemini", regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`)},
		{"gpt", regexp.MustCompile(`gpt-(\d+)(?:\.(\d+))?`)},
		{"o", regexp.MustCompile(`^o(\d+)()(?:-|$)`)},
	}
	modelSuffix = regexp.MustCompile(`(-v\d+([:-]\d+)?)?$`)
	modelDate   = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d)$`)
)

// ParseModel reads a name as it stands in a request: with or without a date, a
// region or publisher before it (models/, us.anthropic.), or a revision behind it.
func ParseModel(name string) ModelName {
	bare := strings.Replace(name[strings.LastIndexByte(name, '/')+1:], "gpt-35", "gpt-3.5", 1) // Azure has gpt-35
	if at := strings.Index(bare, "claude-"); at > 0 {
		bare = bare[at:]
	}
	m := ModelName{Bare: bare}
	if strings.Contains(bare, "-v") {
		m.Bare = modelSuffix.ReplaceAllString(bare, "")
	}
	if strings.HasSuffix(m.Bare, "latest") || strings.Trim(m.Bare[max(0, len(m.Bare)-2):], "0123456789") == "" {
		m.Bare = modelDate.ReplaceAllString(m.Bare, "")
	}
	for _, family := range modelFamilies {
		if g := family.numbers.FindStringSubmatch(bare); g != nil {
			m.Family = family.name
			m.Major, _ = strconv.Atoi(g[1])
			if g[2] != "" {
				m.Minor, _ = strconv.Atoi(g[2])
			}
			return m
		}
	}
	if word, _, _ := strings.Cut(m.Bare, "-"); slices.Contains(familyNames(), word) {
		m.Family = word
	}
	return m
}

func familyNames() (names []string) {
	for _, f := range modelFamilies {
		names = append(names, f.name)
	}
	return names
}

// HasVersion reports whether the name says which version the model is.
func (m ModelName) HasVersion() bool { return m.Major > 0 }

// IsBefore reports whether m is older than a version, 0.0 being the oldest.
func (m ModelName) IsBefore(major, minor int) bool {
	return m.Major < major || m.Major == major && m.Minor < minor
}

// HasWord reports whether word stands between the dashes of the name, as opus in
// claude-opus-4-6.
func (m ModelName) HasWord(word string) bool {
	return slices.Contains(strings.Split(m.Bare, "-"), word)
}

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
			return t, fmt.Errorf("%q is neither a word of a name nor one of %s", rest[0],
				strings.Join(comparisons, " "))
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
