package conform

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

const filterHelp = "select by labels: ids, areas, consequences, providers and scenarios with && || ! ( )"

// filterError marks what is wrong with the filter as wrong usage.
func filterError(err error) error {
	if bad := (*harness.FilterError)(nil); errors.As(err, &bad) || errors.Is(err, harness.ErrNothingSelected) {
		return cli.Usage("%w", err)
	}
	return err
}

// selectRequirements returns the requirements of a set, all of the catalogue for "",
// that a filter selects. A filter that selects none is wrong usage.
func selectRequirements(set, expression string) ([]specs.Requirement, error) {
	filter, err := harness.ParseFilter(expression)
	if err != nil {
		return nil, filterError(err)
	}
	all, err := specs.Requirements()
	if set != "" {
		all, err = specs.Set(set)
	}
	if err != nil {
		return nil, cli.Usage("--set: %w", err)
	}
	known, err := catalogueLabels()
	if err == nil {
		err = harness.CheckFilter(expression, known)
	}
	if err != nil {
		return nil, filterError(err)
	}
	var selected []specs.Requirement
	for _, r := range all {
		if filter(requirementLabels(r)) {
			selected = append(selected, r)
		}
	}
	if len(selected) == 0 {
		return nil, cli.Usage("filter %q selects nothing; use ids, areas, consequences and providers that go together",
			expression)
	}
	return selected, nil
}

// catalogueLabels are all that a filter of requirements may name.
func catalogueLabels() (labels []string, err error) {
	all, err := specs.Requirements()
	for _, r := range all {
		labels = append(labels, requirementLabels(r)...)
	}
	return labels, err
}

// requirementLabels are those of [harness.Labels], as far as a requirement
// without a case has them.
func requirementLabels(r specs.Requirement) []string {
	providers := r.Applies.Provider
	if len(providers) == 0 {
		providers = wires.Names()
	}
	return append([]string{r.ID, r.Area(), string(r.Consequence)}, providers...)
}

const dutyFilterHelp = "select by labels: cases, ids, areas, consequences and wires with && || ! ( ), or by a regular " +
	"expression over the names of cases"

// dutyFilter is what --filter selects of the cases and results of a server or a gateway: the words of conform
// run, or a regular expression over the names of cases. One of the two may be nil, and then selects nothing.
type dutyFilter struct {
	text  string
	words harness.Filter
	names *regexp.Regexp
}

func parseDutyFilter(text string) (f dutyFilter, err error) {
	f.text = text
	words, noWords := harness.ParseFilter(text)
	if f.names, err = regexp.Compile(text); err != nil && noWords != nil {
		return f, cli.Usage("--filter: %q is no regular expression: %w; %w", text, err, noWords)
	}
	f.words = words
	return f, nil
}

// holds reports whether the result of a duty in a case is selected.
func (f dutyFilter) holds(name string, duty *specs.Duty) bool {
	return f.names != nil && f.names.MatchString(name) || f.words != nil && f.words(dutyLabels(name, duty))
}

// holdsCase reports whether a result of the case may be selected.
func (f dutyFilter) holdsCase(name string) bool {
	all, _ := specs.Duties() // embedded, and tested
	return slices.ContainsFunc(all, func(d specs.Duty) bool { return f.holds(name, &d) })
}

// unknownError says that the filter selects nothing, with the label that was probably meant.
func (f dutyFilter) unknownError(err error) error {
	all, _ := specs.Duties() // embedded, and tested
	var known []string
	for i := range all {
		known = append(known, dutyLabels("", &all[i])...)
	}
	return cli.Usage("--filter %q %w%s", f.text, err, spelling.Hint(f.text, known))
}

// dutyLabels are the parts of a case's name, and the id of a duty with its areas and its consequence.
func dutyLabels(name string, d *specs.Duty) []string {
	labels := append(strings.FieldsFunc(name, func(r rune) bool { return r == '/' }), name)
	for _, part := range strings.Split(name, "/") {
		labels = append(labels, strings.Split(part, "-to-")...)
	}
	area, _, _ := strings.Cut(d.ID, "-")
	group := strings.TrimSuffix(strings.TrimRight(d.ID, "0123456789"), "-")
	return append(labels, d.ID, group, area, string(d.Consequence))
}
