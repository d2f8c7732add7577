package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/specs"
)

const filterHelp = "select by labels: ids, areas, levels, providers and scenarios with && || ! ( )"

// play runs the suites. After an interruption it returns both what was found
// until then and the error.
func (a *app) play(ctx context.Context, f runFlags) (*report.Run, error) {
	bar := a.progress("judged")
	began := time.Now()
	var sources []evidence.Source
	for _, s := range f.sources {
		if source := evidence.Source(s); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	outcome, err := harness.Run(ctx, harness.Options{
		Subject: harness.InProcess(rkat.Run), Filter: f.filter, Sources: sources,
		Progress: func(_, total int) { bar.Step(total) },
	})
	bar.Done()
	if err != nil {
		return nil, selection(err)
	}
	ran := report.NewRun(report.Run{
		Tool: tool(), Subject: report.Subject{Name: "rkat", Version: version.String(), Kind: "in-process"}, Set: report.NewSet(f.set, outcome.Requirements),
		Source: f.sources, Ingress: f.ingress, Started: began.UTC(), DurationMS: time.Since(began).Milliseconds(),
	}, outcome.Results)
	if outcome.Interrupted {
		return ran, fmt.Errorf("interrupted after %d results; run it again for a verdict", len(outcome.Results))
	}
	return ran, nil
}

// selection marks what is wrong with the filter as wrong usage.
func selection(err error) error {
	if bad := (*harness.FilterError)(nil); errors.As(err, &bad) || errors.Is(err, harness.ErrNothingSelected) {
		return usage("%w", err)
	}
	return err
}

// choose returns the requirements a filter selects; a filter that selects none
// is wrong usage.
func choose(expression string) ([]specs.Requirement, error) {
	match, err := harness.ParseFilter(expression)
	if err != nil {
		return nil, usage("%w", err)
	}
	all, err := specs.Requirements()
	if err != nil {
		return nil, err
	}
	var chosen []specs.Requirement
	for _, r := range all {
		if match(labels(r)) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, usage("filter %q selects nothing; use ids, areas, levels and providers that exist", expression)
	}
	return chosen, nil
}

// labels are those of the suites' specs, as far as a requirement has them.
func labels(r specs.Requirement) []string {
	providers := r.Applies.Provider
	if len(providers) == 0 {
		providers = []string{evidence.Anthropic, evidence.OpenAI, evidence.Gemini}
	}
	return append([]string{r.ID, r.Area(), string(r.Level)}, providers...)
}
