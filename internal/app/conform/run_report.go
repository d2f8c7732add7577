package conform

import "github.com/spf13/cobra"

// reportFlags say which reports are written beside the terminal's.
type reportFlags struct {
	reports []string // KIND=FILE
}

func (f *reportFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.reports, "report", nil, "write reports: json=FILE,junit=FILE")
}
