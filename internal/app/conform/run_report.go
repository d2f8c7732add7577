package conform

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

// reportFlags say which reports are written beside the terminal's.
type reportFlags struct {
	reports []string // KIND=FILE
}

func (f *reportFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.reports, "report", nil, reportHelp)
}

// deliver writes all reports of a run, prints the one for people or JSON, and returns
// the error that ends the program as the run deserves. runErr is what went wrong before.
// The verdict is printed also when a report cannot be written.
func (a *app) deliver(ran *report.Run, files reportFiles, asJSON jsonVersion, runErr error) error {
	show := func(t *report.Terminal) { t.Run(ran) }
	saveErr := a.save(files, ran)
	var printErr error
	if files.takesStdout() {
		if a.Verbose {
			show(report.NewTerminal(a.Stderr, false))
		}
	} else {
		printErr = a.printReport(asJSON != "", asJSON.pick(ran, ran.V1), show)
	}
	if err := errors.Join(saveErr, runErr, printErr); err != nil {
		return err
	}
	return cli.Exit(ran.Summary.Exit)
}
