package conform

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/specs"
)

// teamFlags name files of a team's own rules.
type teamFlags struct {
	files []string
}

func (f *teamFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.files, "rules", nil, "judge by the team's own rules in `FILE.yaml` as well, see docs/guides/own-rules.md")
}

// readFiles returns the rules of all files. What is wrong with them is wrong usage.
func (f *teamFlags) readFiles() (rules []report.Rule, err error) {
	var faults []error
	files := map[string]string{} // by id
	for _, name := range f.files {
		data, err := readRules(name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list, err := specs.ParseTeamRules(name, data)
		faults = append(faults, err)
		for _, r := range list {
			id := r.Requirement.ID
			if first, known := files[id]; known && first != name {
				faults = append(faults, fmt.Errorf("%s:%d: %s: the id stands in %s already; ids are unique", name, r.Line, id, first))
			}
			files[id] = name
		}
		if err == nil {
			rules = append(rules, report.TeamRules(list)...)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, cli.Usage("--rules: %w", err)
	}
	return rules, nil
}

// readRules reads one byte more than a file of rules may have, so that its parser sees
// that it is too long.
func readRules(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, fileutil.Reason(err))
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, specs.MaxTeamRulesBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, fileutil.Reason(err))
	}
	return data, nil
}
