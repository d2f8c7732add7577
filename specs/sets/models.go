// Package sets holds what a run is measured by besides the requirements: the
// policy that says which models an agent may ask for.
package sets

import (
	"bytes"
	_ "embed"
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

// Models is the allowlist the referee holds agents to. It is read-only and
// stems from its own data and code, not from an agent's.
type Models struct {
	Rules []Rule `yaml:"models"`
}

// Rule admits the models of one family from a minimum version on.
type Rule struct {
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
}

// Default returns the embedded policy.
func Default() (*Models, error) { return load() }

var load = sync.OnceValues(func() (*Models, error) { return Parse("models.yaml", modelFile) })

// Parse reads a policy; file is named in errors.
func Parse(file string, data []byte) (*Models, error) {
	var m Models
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(m.Rules) == 0 {
		return nil, fmt.Errorf("%s: no rule; a policy without one refuses every model", file)
	}
	for i := range m.Rules {
		if err := m.Rules[i].compile(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, m.Rules[i].Name, err)
		}
	}
	return &m, nil
}

func (r *Rule) compile() error {
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
func (m *Models) Allows(model string) (ok bool, reason string) {
	reason = "no family of the allowlist has such a name"
	for i := range m.Rules {
		ok, why := m.Rules[i].allows(model)
		if ok {
			return true, ""
		}
		if why != "" {
			reason = why
		}
	}
	return false, reason
}

// allows returns an empty reason when the rule does not speak of the model.
func (r *Rule) allows(model string) (ok bool, reason string) {
	g := r.pattern.FindStringSubmatch(model)
	if g == nil {
		return false, ""
	}
	if major, minor := number(g[1]), number(g[2]); major < r.major || major == r.major && minor < r.minor {
		return false, fmt.Sprintf("version %d.%d is below the minimum %s of %s", major, minor, r.Minimum, r.Name)
	}
	for _, word := range strings.Split(model, "-") {
		if slices.Contains(r.Except, word) {
			return false, fmt.Sprintf("%s leaves out %q models", r.Name, word)
		}
	}
	return true, ""
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
