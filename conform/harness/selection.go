package harness

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Rules returns the embedded catalogue with its checks.
func Rules() ([]report.Rule, error) { return report.RulesOf(specs.CurrentSet) }

// Labels are what a filter selects by: the area, id and consequence of the requirement,
// the provider and the scenario.
func Labels(c Case, r specs.Requirement) []string {
	return []string{r.Area(), c.Target.Provider, c.Scenario.Name, r.ID, string(r.Consequence)}
}

// knownLabels are all that a filter may name: those of the whole catalogue, of rules, and of
// the cases with any source, so that one filter can serve several runs.
func knownLabels(rules []report.Rule) ([]string, error) {
	catalogue, err := Rules()
	if err != nil {
		return nil, err
	}
	cases, err := AllCases()
	if err != nil {
		return nil, err
	}
	live, err := specs.LiveScenarios()
	if err != nil {
		return nil, err
	}
	known := []string{CassetteLabel}
	for _, r := range slices.Concat(catalogue, rules) {
		known = append(known, r.Requirement.Area(), r.Requirement.ID, string(r.Requirement.Consequence))
	}
	for _, c := range append(cases, casesOf(live)...) {
		known = append(known, c.Target.Provider, c.Scenario.Name)
	}
	return known, nil
}

// CassetteLabel selects the checks of the committed cassettes themselves, see
// [VerifyCassette].
const CassetteLabel = "harness"

// ErrNothingSelected is wrapped by [Run] when the filter selects nothing.
var ErrNothingSelected = errors.New("selects nothing; use ids, areas, consequences, providers and scenario names that go together")

// selectedRun is one permutation to run, and the rules whose results are wanted.
type selectedRun struct {
	Permutation
	rules []report.Rule
}

// selection is what a filter leaves of all cases and rules.
type selection struct {
	runs         []selectedRun
	cassettes    []Case // whose recordings are verified
	requirements []string
	expected     []string // those of them that a selected case was written to show
	unplayed     []report.CaseSummary
}

// countResults is how many results and verifications a run of the selection has.
func (s *selection) countResults() int {
	n := len(s.cassettes)
	for _, r := range s.runs {
		n += len(r.rules)
	}
	return n
}

// selectRuns returns what of all permutations and rules o selects for the agent.
func (o Options) selectRuns(rules []report.Rule) (*selection, error) {
	about := o.Subject.About()
	filter, err := ParseFilter(o.Filter)
	if err != nil {
		return nil, err
	}
	permutations, err := o.Permutations()
	if err != nil {
		return nil, err
	}
	known, err := knownLabels(rules)
	if err == nil {
		err = CheckFilter(o.Filter, known)
	}
	if err != nil {
		return nil, err
	}
	s := &selection{}
	for _, p := range permutations {
		if p.Source == evidence.SourceCassette && p.wayIn() == proxy.MITM && p.Case.HasCassette() &&
			filter([]string{CassetteLabel}) {
			s.cassettes = append(s.cassettes, p.Case)
		}
	}
	s.addRuns(o.Live, filter, permutations, about, rules)
	if s.countResults() == 0 && len(s.unplayed) == 0 {
		return nil, fmt.Errorf("filter %q %w", o.Filter, ErrNothingSelected)
	}
	s.beginWithLongest()
	if !about.HoldsAll {
		s.expected = slices.DeleteFunc(s.expected, func(id string) bool { return !specs.IsTeamRule(id) })
	}
	for _, list := range []*[]string{&s.requirements, &s.expected} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s, nil
}

// beginWithLongest puts those cases first in which the provider falls silent: they take
// seconds, and a run that began with them last would wait for them alone.
func (s *selection) beginWithLongest() {
	stalls := func(r selectedRun) bool { return r.Case.Scenario.HasStall() }
	quick := func(r selectedRun) bool { return !stalls(r) }
	s.runs = append(slices.DeleteFunc(slices.Clone(s.runs), quick), slices.DeleteFunc(s.runs, stalls)...)
}

// Permutations returns every case with every source and way in of o, also those that its
// agent cannot run. Without sources of its own, an agent that holds all gets the cassettes,
// and the simulator where no cassette is kept of a case. The slice is the caller's.
func (o Options) Permutations() (list []Permutation, err error) {
	about, sources := o.Subject.About(), o.Sources
	if sources == nil {
		sources = DefaultSources(about)
	}
	ways := o.Ingress
	if ways == nil {
		ways = []string{proxy.MITM}
	}
	for _, source := range sources {
		cases, err := casesWith(source, about, o.Live)
		if err != nil {
			return nil, err
		}
		for _, way := range ways {
			for _, c := range cases {
				if o.Sources == nil && about.HoldsAll && c.isSimulated() != (source == evidence.SourceSimulator) {
					continue // each case once
				}
				if wires.Find(c.Target.Provider).Scripts.ByClient && about.HoldsAll && about.Providers != nil &&
					!slices.Contains(about.Providers, c.Target.Provider) {
					continue // rkat does not speak the wire
				}
				if source != evidence.SourceCassette || !c.isSimulated() {
					list = append(list, Permutation{c, source, way})
				}
			}
		}
	}
	return list, nil
}

// DefaultSources are what answers an agent by default: the committed cassettes are
// recordings of rkat, which holds all, and would refuse what another agent sends.
func DefaultSources(about About) []evidence.Source {
	if about.HoldsAll {
		return []evidence.Source{evidence.SourceCassette, evidence.SourceSimulator}
	}
	return []evidence.Source{evidence.SourceSimulator}
}

// casesWith returns the cases that there are with a source.
func casesWith(source evidence.Source, about About, live *Live) ([]Case, error) {
	switch source {
	case evidence.SourceLive:
		return live.Cases()
	case evidence.SourceCassette, evidence.SourceSimulator:
	default:
		return nil, fmt.Errorf("source %s: cannot answer an agent; use cassette, simulator or live", source)
	}
	cases, err := AllCases()
	if err != nil || about.HoldsAll {
		return cases, err
	}
	for i := range cases {
		cases[i].Scenario = cases[i].Scenario.Lenient()
	}
	return cases, err
}

// addRuns adds the permutations that the filter selects. The run is asked for a
// requirement when one of the selected cases was written to show it, or when all cases
// are selected for it; only the former must show it.
func (s *selection) addRuns(live *Live, filter Filter, permutations []Permutation, about About, rules []report.Rule) {
	chosen, covered, shown, narrowed := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range permutations {
		run := selectedRun{Permutation: p}
		for _, rule := range rules {
			id := rule.Requirement.ID
			switch {
			case !rule.Requirement.AppliesTo(p.Case.Target.Provider, string(p.Source)):
			case !filter(Labels(p.Case, rule.Requirement)):
				narrowed[id] = true
			default:
				run.rules = append(run.rules, rule)
			}
		}
		if len(run.rules) == 0 {
			continue
		}
		if reason := cmp.Or(p.UnsupportedReason(about), live.lacksKey(p)); reason != "" {
			unplayed := p.caseSummary()
			unplayed.Reason, unplayed.Verdict = reason, decide.Case(decide.CaseFacts{NotRun: true})
			s.unplayed = append(s.unplayed, unplayed)
			continue
		}
		for _, rule := range run.rules {
			id := rule.Requirement.ID
			chosen[id] = true
			covered[id] = covered[id] || p.Case.covers(id)
			mustShow := p.Case.covers(id) && p.Source != evidence.SourceLive // a model does as it likes
			shown[id] = shown[id] || mustShow || specs.IsTeamRule(id)
		}
		s.runs = append(s.runs, run)
	}
	for id := range chosen {
		if covered[id] || !narrowed[id] || specs.IsTeamRule(id) {
			s.requirements = append(s.requirements, id)
		}
		if shown[id] {
			s.expected = append(s.expected, id)
		}
	}
}

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
	return report.CaseSummary{Name: p.Name(), Provider: p.Case.Target.Provider, Ingress: p.wayIn(),
		Source: string(p.Source)}
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
