package conform

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// policyFlags say what turns a report red beside failures.
type policyFlags struct {
	strict  bool
	failOn  string
	require []string
}

func (f *policyFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make failures of warnings")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "fail", "what exits 1: fail, or warn for warnings as well")
	cmd.Flags().StringSliceVar(&f.require, "require", nil, "requirements and areas that must be seen, e.g. SIG,ORD-001")
}

// policy checks the values of the flags. own are the team's rules.
func (f policyFlags) policy(own []report.Rule) (report.Policy, error) {
	p := report.Policy{Strict: f.strict, FailOn: report.Verdict(f.failOn)}
	if err := checkValues("fail-on", f.failOn); err != nil {
		return p, err
	}
	catalogue, err := specs.Requirements()
	if err != nil {
		return p, err
	}
	for _, r := range own {
		catalogue, p.MustSee = append(catalogue, r.Requirement), append(p.MustSee, r.Requirement.ID)
	}
	if p.Require, err = report.ParseRequired(f.require, catalogue); err != nil {
		return p, cli.Usage("--require: %w", err)
	}
	return p, nil
}
