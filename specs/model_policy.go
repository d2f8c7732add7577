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
		f.AddUnless(groups == 2, fmt.Sprintf("models[%d].pattern", i), "captures %d groups; capture the major and the minor version", groups)
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
	if major, minor := versionPart(g[1]), versionPart(g[2]); major < r.Minimum.major || major == r.Minimum.major && minor < r.Minimum.minor {
		return false, fmt.Sprintf("version %d.%d is below the minimum %d.%d of %s", major, minor, r.Minimum.major, r.Minimum.minor, r.Name)
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
