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
	share   bool     // pages hold hashes in place of content
	serve   string   // where the page is shown live, "" for nowhere
}

func (f *reportFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.reports, "report", nil, reportHelp)
	cmd.Flags().BoolVar(&f.share, "share", false, "put hashes and lengths in the place of content in the reports html and inspector")
}

// deliverRun is deliverReport for a run.
func (a *app) deliverRun(ran *report.Run, files reportFiles, asJSON bool, runErr error) error {
	return a.deliverReport(ran, func(t *report.Terminal) { t.Run(ran) }, ran.Summary.Exit, files, asJSON, runErr)
}

// deliverReport writes all reports of a run or check, prints the one for people or JSON, and
// returns the error that ends the program with exit. runErr is what went wrong before.
// The verdict is printed also when a report cannot be written.
func (a *app) deliverReport(doc reportDocument, show func(*report.Terminal), exit int, files reportFiles, asJSON bool, runErr error) error {
	saveErr := a.save(files, doc)
	var printErr error
	if files.takesStdout() {
		if a.Verbose {
			show(report.NewTerminal(a.Stderr, false))
		}
	} else {
		printErr = a.printReport(asJSON, doc, show)
	}
	if err := errors.Join(saveErr, runErr, printErr); err != nil {
		return err
	}
	return cli.Exit(exit)
}
