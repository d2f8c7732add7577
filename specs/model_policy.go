package specs

import (
	"bytes"
	_ "embed" // for models.yaml
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed models.yaml
var modelFile []byte

// ModelPolicy says which models an agent may ask for. It is read-only, and its data
// are the referee's own, not an agent's.
type ModelPolicy struct {
	Rules []ModelRule `yaml:"models"`
}

// ModelRule admits the models of one family from a minimum version on. In YAML it may
// also be one word or sentence: the name of a model, which admits it and its dated
// snapshots, or a [ModelPredicate].
type ModelRule struct {
	Name     string `yaml:"name"`
	Provider string `yaml:"provider"`
	// Pattern captures the major and the minor version; a missing one is 0.
	Pattern string `yaml:"pattern"`
	// Minimum is "major.minor".
	Minimum string `yaml:"minimum"`
	// Except lists words, between dashes, that exclude a name.
	Except []string `yaml:"except"`

	pattern      *regexp.Regexp
	major, minor int
	predicate    *ModelPredicate
	bare         string // of the model that is named
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

// UnmarshalYAML reads a rule in full, or one word or sentence.
func (r *ModelRule) UnmarshalYAML(node *yaml.Node) (err error) {
	if node.Kind == yaml.ScalarNode {
		if *r, err = newNamedRule(node.Value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		return nil
	}
	type plain ModelRule
	text, err := yaml.Marshal(node)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text)) // a node forgets that unknown keys are errors
	dec.KnownFields(true)
	return dec.Decode((*plain)(r))
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
	var m ModelPolicy
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(m.Rules) == 0 {
		return nil, fmt.Errorf("%s: no rule; a policy without one refuses every model", file)
	}
	for i := range m.Rules {
		if err := m.Rules[i].compilePattern(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, m.Rules[i].Name, err)
		}
	}
	return &m, nil
}

func (r *ModelRule) compilePattern() error {
	if r.predicate != nil || r.bare != "" {
		return nil
	}
	var err error
	if r.pattern, err = regexp.Compile(r.Pattern); err != nil {
		return err
	}
	if r.pattern.NumSubexp() != 2 {
		return fmt.Errorf("pattern captures %d groups; capture the major and the minor version", r.pattern.NumSubexp())
	}
	if _, err := fmt.Sscanf(r.Minimum, "%d.%d", &r.major, &r.minor); err != nil {
		return fmt.Errorf("minimum %q is not major.minor", r.Minimum)
	}
	return nil
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
	g := r.pattern.FindStringSubmatch(model)
	if g == nil {
		return false, ""
	}
	if major, minor := versionPart(g[1]), versionPart(g[2]); major < r.major || major == r.major && minor < r.minor {
		return false, fmt.Sprintf("version %d.%d is below the minimum %s of %s", major, minor, r.Minimum, r.Name)
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
