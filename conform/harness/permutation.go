package harness

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/specs"
)

// Permutation is one case with one source and one way in. It is plain data.
type Permutation struct {
	Case Case
	// Source is what answers the agent: [evidence.SourceCassette] or
	// [evidence.SourceSimulator].
	Source evidence.Source
	// Ingress is how the agent reaches the proxy. "" is proxy.MITM.
	Ingress string
}

// Name is the stable name of the permutation: that of the case, followed by "@" and
// the source unless that is the cassette, and by "@base-url" for that way in.
func (p Permutation) Name() string {
	name := p.Case.Name()
	if p.Source != evidence.SourceCassette {
		name += "@" + string(p.Source)
	}
	if p.wayIn() != proxy.MITM {
		name += "@" + p.Ingress
	}
	return name
}

// caseSummary is the permutation as reports name it.
func (p Permutation) caseSummary() report.CaseSummary {
	return report.CaseSummary{Name: p.Name(), Provider: p.Case.Target.Provider, Ingress: p.wayIn(), Source: string(p.Source)}
}

func (p Permutation) wayIn() string { return cmp.Or(p.Ingress, proxy.MITM) }

// UnsupportedReason says why an agent cannot run the permutation, "" when it can.
func (p Permutation) UnsupportedReason(a About) string {
	switch {
	case a.Providers != nil && !slices.Contains(a.Providers, p.Case.Target.Provider):
		return "the agent is not run with " + p.Case.Target.Provider
	case a.Ingress != nil && !slices.Contains(a.Ingress, p.wayIn()):
		return "the agent does not come in by " + p.wayIn()
	case p.Source == evidence.SourceCassette && !a.HoldsAll:
		return "the cassettes are recordings of rkat; use --source simulator"
	}
	if reason := a.unsupportedReason(p.Case); reason != "" {
		return reason
	}
	var missing []string
	for _, need := range p.Case.Scenario.Needs() {
		if !a.Can(need) && (need != specs.AbilityTools || !a.ownsCalledTools(p.Case)) {
			missing = append(missing, string(need))
		}
	}
	if len(missing) > 0 {
		return "needs " + strings.Join(missing, ", ")
	}
	if p.Case.Scenario.IsLenient && p.Case.Scenario.PretendsLength() {
		return "the prompt is long in the provider's words only, which misleads an agent that counts tokens"
	}
	return ""
}

// ownsCalledTools reports whether a live case asks for no other tools than the agent has
// itself, under names that a prompt about their roles makes sense with.
func (a About) ownsCalledTools(c Case) bool {
	for _, step := range c.Scenario.Steps {
		for _, role := range step.Calls {
			if own := a.Tools[role]; own == "" || !strings.Contains(strings.ToLower(own), role) {
				return false
			}
		}
	}
	return c.Scenario.Live && !slices.Contains(c.Scenario.ExtraNeeds, specs.AbilityTools)
}

// unsupportedReason is the reason that the agent gives for a case that it does not support.
func (a About) unsupportedReason(c Case) string {
	for pattern, reason := range a.Unsupported {
		name := c.Name()
		if !strings.Contains(pattern, "/") {
			name = c.Scenario.Name
		}
		if matches, err := path.Match(pattern, name); err == nil && matches {
			return cmp.Or(reason, "not supported")
		}
	}
	return ""
}
