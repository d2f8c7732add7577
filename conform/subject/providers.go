package subject

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/wires"
)

// NarrowProfile returns the profile with no more than the providers named. Nil names: the
// profile as it is. The error names a provider that the agent is not run with.
func NarrowProfile(p *profiles.Profile, names []string) (*profiles.Profile, error) {
	if names == nil {
		return p, nil
	}
	if err := checkProviders(p.Name, names, slices.Collect(maps.Keys(p.Providers))); err != nil {
		return nil, err
	}
	narrow := *p
	narrow.Providers = map[string]profiles.Provider{}
	for _, name := range names {
		narrow.Providers[name] = p.Providers[name]
	}
	return &narrow, nil
}

// NarrowAgent is [NarrowProfile] for an agent without a profile.
func NarrowAgent(agent harness.Subject, names []string) (harness.Subject, error) {
	about := agent.About()
	if names == nil {
		return agent, nil
	}
	if err := checkProviders(about.Name, names, about.Providers); err != nil {
		return nil, err
	}
	return &narrowed{agent, names}, nil
}

type narrowed struct {
	harness.Subject
	providers []string
}

// About implements harness.Subject.
func (n *narrowed) About() harness.About {
	about := n.Subject.About()
	about.Providers = n.providers
	return about
}

// checkProviders says which name is not a provider that an agent has. Nil known: it has all.
func checkProviders(agent string, names, known []string) error {
	for _, name := range names {
		if providerNames := wires.Names(); !slices.Contains(providerNames, name) {
			return fmt.Errorf("--provider: unknown value %q; use %s%s", name, strings.Join(providerNames, ", "), spelling.Hint(name, providerNames))
		}
		if known != nil && !slices.Contains(known, name) {
			slices.Sort(known)
			return fmt.Errorf("--provider %s: %s is run with %s only; name one of those, or leave the flag out", name, agent, strings.Join(known, ", "))
		}
	}
	return nil
}
