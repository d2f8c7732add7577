package specs

import (
	_ "embed" // for capabilities.yaml
	"fmt"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
)

//go:embed capabilities.yaml
var capabilityFile []byte

// Capability says what the models that a predicate selects take, as far as it is
// known; see the head of capabilities.yaml. A nil list is unknown, an empty one says
// that the parameter is refused.
type Capability struct {
	Models   ModelPredicate `yaml:"models" data:"required"`
	Thinking []string       `yaml:"thinking" data:"empty"`
	Efforts  []string       `yaml:"efforts" data:"empty"`
	Levels   []string       `yaml:"levels" data:"empty"`
	// Budget is the least and the greatest thinking budget above 0.
	Budget []int `yaml:"budget"`
	// Reasoning is always, on, off, never, or "" when unknown.
	Reasoning string `yaml:"reasoning" data:"one=always on off never"`
	// MaxOutput is the greatest number of output tokens, 0 when unknown.
	MaxOutput int      `yaml:"max_output"`
	Refuses   []string `yaml:"refuses" data:"is=refusable"`
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

var refusable = datafile.OneOf("sampling", "temperature beside top_p", "forced tools", "disabled at xhigh", "prefill", "zero budget")

func parseCapabilities(file string, data []byte) (all map[string][]Capability, err error) {
	f := datafile.Read(file, data, &all, datafile.Options{Rules: map[string]datafile.Rule{"refusable": refusable}})
	for provider, rows := range all {
		for i, row := range rows {
			f.AddUnless(row.Budget == nil || len(row.Budget) == 2, fmt.Sprintf("%s[%d].budget", provider, i), "is not two numbers")
		}
	}
	return all, f.Err()
}
