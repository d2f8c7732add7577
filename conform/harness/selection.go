package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// Rules returns the embedded catalogue with its checks.
func Rules() ([]report.Rule, error) {
	catalogue, err := specs.Requirements()
	if err != nil {
		return nil, err
	}
	return report.Rules(catalogue, check.All())
}

// Labels are what a filter selects by: the area, id and consequence of the requirement,
// the provider and the scenario.
func Labels(c Case, r specs.Requirement) []string {
	return []string{r.Area(), c.Target.Provider, c.Scenario.Name, r.ID, string(r.Consequence)}
}

// CassetteLabel selects the checks of the committed cassettes themselves, see
// [VerifyCassette].
const CassetteLabel = "harness"

// ErrNothingSelected is wrapped by [Run] when the filter selects nothing.
var ErrNothingSelected = errors.New("selects nothing; use ids, areas, consequences, providers and scenario names that exist")

// selectedRun is one case to run with one source, and the rules whose results are
// wanted.
type selectedRun struct {
	testCase Case
	source   evidence.Source
	rules    []report.Rule
}

// selection is what a filter leaves of all cases and rules.
type selection struct {
	runs         []selectedRun
	cassettes    []Case // whose recordings are verified
	requirements []string
	expected     []string // those of them that a selected case was written to show
}

// countResults is how many results and verifications a run of the selection has.
func (s *selection) countResults() int {
	n := len(s.cassettes)
	for _, r := range s.runs {
		n += len(r.rules)
	}
	return n
}

func selectRuns(expression string, sources []evidence.Source, cases []Case, rules []report.Rule) (*selection, error) {
	filter, err := ParseFilter(expression)
	if err != nil {
		return nil, err
	}
	s := &selection{}
	for _, source := range sources {
		switch source {
		case evidence.SourceCassette:
			if filter([]string{CassetteLabel}) {
				s.cassettes = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !c.HasTraffic() })
			}
		case evidence.SourceSimulator:
		default:
			return nil, fmt.Errorf("source %s: cannot answer an agent; use cassette or simulator", source)
		}
		s.addSource(source, filter, cases, rules)
	}
	if s.countResults() == 0 {
		return nil, fmt.Errorf("filter %q %w", expression, ErrNothingSelected)
	}
	for _, list := range []*[]string{&s.requirements, &s.expected} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s, nil
}

// addSource adds the cases that the filter selects with one source. The run is asked
// for a requirement when one of the selected cases was written to show it, or when all
// cases are selected for it; only the former must show it.
func (s *selection) addSource(source evidence.Source, filter Filter, cases []Case, rules []report.Rule) {
	chosen, covered, narrowed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		run := selectedRun{testCase: c, source: source}
		for _, rule := range rules {
			id := rule.Requirement.ID
			switch {
			case !rule.Requirement.Applies.To(c.Target.Provider, string(source)):
			case !filter(Labels(c, rule.Requirement)):
				narrowed[id] = true
			default:
				run.rules = append(run.rules, rule)
				chosen[id] = true
				covered[id] = covered[id] || c.covers(id)
			}
		}
		if len(run.rules) > 0 {
			s.runs = append(s.runs, run)
		}
	}
	for id := range chosen {
		if covered[id] || !narrowed[id] {
			s.requirements = append(s.requirements, id)
		}
		if covered[id] {
			s.expected = append(s.expected, id)
		}
	}
}
