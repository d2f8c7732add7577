package inspector

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

var ruleID = regexp.MustCompile(`\b[A-Z]{1,3}-[A-Z]?\d{1,3}\b`)

// addCatalogue adds the requirements and rules that the page names.
func (p *Page) addCatalogue(summary *report.Summary) {
	named, cited := map[string]bool{}, map[string]bool{}
	for _, c := range p.Cases {
		for _, r := range c.Results {
			id, _, _ := strings.Cut(r.Check, "/")
			named[id] = true
			for _, f := range r.Findings {
				for _, rule := range ruleID.FindAllString(f.Rule, -1) {
					cited[rule] = true
				}
			}
		}
	}
	if summary != nil {
		for _, id := range slices.Concat(summary.Coverage.Unseen, summary.Coverage.Missing) {
			named[id] = true
		}
	}
	p.Requirements, p.Rules, p.Areas = requirementsOf(named), rulesOf(cited), map[string]string{}
	for _, r := range p.Requirements {
		p.Areas[r.Area] = specs.AreaName(r.Area)
	}
}

func requirementsOf(named map[string]bool) []Requirement {
	list := []Requirement{}
	for id := range named {
		r, err := specs.FindRequirement(id)
		if err != nil { // a team's, or of a newer catalogue
			r = specs.Requirement{ID: id, Title: id}
		}
		row := Requirement{ID: r.ID, Area: r.Area(), Title: r.Title, Consequence: string(r.Consequence), Text: r.Text,
			Why: r.Why, Fix: r.Fix}
		for _, s := range r.Sources {
			row.Sources = append(row.Sources, newSource(s))
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b Requirement) int {
		if i, j := slices.Index(specs.Areas, a.Area), slices.Index(specs.Areas, b.Area); i != j {
			return i - j
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// newSource names a source. Only a page that is fetched safely becomes a link.
func newSource(s specs.Source) Source {
	out := Source{Section: s.Section}
	switch {
	case strings.HasPrefix(s.URL, "https://"):
		out.URL, out.Label = s.URL, strings.TrimPrefix(s.URL, "https://")
	case s.Doc != "":
		out.Label = s.Doc
	case s.URL != "":
		out.Label = s.URL
	default:
		out.Label = "unverified: " + s.Reason
	}
	return out
}

func rulesOf(cited map[string]bool) map[string]Rule {
	rules := map[string]Rule{}
	all, _ := specs.WireRules() // an error of the embedded page: ids without text
	for _, r := range all {
		for _, id := range r.IDs {
			if !cited[id] {
				continue
			}
			rule := Rule{Section: r.Section}
			for _, c := range r.Cells {
				rule.Cells = append(rule.Cells, c.Column+": "+c.Text)
			}
			rules[id] = rule
		}
	}
	return rules
}
