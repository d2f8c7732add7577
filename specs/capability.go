package specs

import (
	"bytes"
	_ "embed" // for capabilities.yaml
	"fmt"
	"slices"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed capabilities.yaml
var capabilityFile []byte

// Capability says what the models that a predicate selects take, as far as it is
// known; see the head of capabilities.yaml. A nil list is unknown, an empty one says
// that the parameter is refused.
type Capability struct {
	Models   ModelPredicate `yaml:"models"`
	Thinking []string       `yaml:"thinking"`
	Efforts  []string       `yaml:"efforts"`
	Levels   []string       `yaml:"levels"`
	// Budget is the least and the greatest thinking budget above 0.
	Budget []int `yaml:"budget"`
	// Reasoning is always, on, off, never, or "" when unknown.
	Reasoning string `yaml:"reasoning"`
	// MaxOutput is the greatest number of output tokens, 0 when unknown.
	MaxOutput int      `yaml:"max_output"`
	Refuses   []string `yaml:"refuses"`
}

// DoesRefuse reports whether the models are known to refuse what, e.g. "sampling".
func (c Capability) DoesRefuse(what string) bool { return slices.Contains(c.Refuses, what) }

// FindCapability returns what a model of provider takes. For a model without a
// description it is the zero value, in which everything is unknown.
func FindCapability(provider, model string) Capability {
	all, err := capabilities()
	if err != nil {
		return Capability{}
	}
	name := ParseModel(model)
	for _, c := range all[provider] {
		if c.Models.Matches(name) {
			return c
		}
	}
	return Capability{}
}

var capabilities = sync.OnceValues(func() (map[string][]Capability, error) {
	return parseCapabilities("capabilities.yaml", capabilityFile)
})

var refusable = []string{"sampling", "temperature beside top_p", "forced tools", "disabled at xhigh", "prefill", "zero budget"}

func parseCapabilities(file string, data []byte) (map[string][]Capability, error) {
	var all map[string][]Capability
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for provider, rows := range all {
		for _, row := range rows {
			switch {
			case !slices.Contains(providers, provider):
				return nil, fmt.Errorf("%s: %s is not a provider", file, provider)
			case row.Models.IsZero():
				return nil, fmt.Errorf("%s: %s: a row names no models", file, provider)
			case len(row.Budget) != 0 && len(row.Budget) != 2:
				return nil, fmt.Errorf("%s: %s: the budget is not two numbers", file, row.Models)
			}
			for _, what := range row.Refuses {
				if !slices.Contains(refusable, what) {
					return nil, fmt.Errorf("%s: %s: refuses %q, which no check asks for", file, row.Models, what)
				}
			}
		}
	}
	return all, nil
}
