package conform

import (
	"errors"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/cli"
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
