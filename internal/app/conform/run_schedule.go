package conform

import "github.com/spf13/cobra"

// scheduleFlags say which cases run when, and what is known to fail.
type scheduleFlags struct{}

func (f *scheduleFlags) addTo(cmd *cobra.Command) {
	refuseFlags(cmd, map[string]string{
		"shard":        "run the whole, it takes seconds",
		"baseline":     "exclude with --filter and say why where you do",
		"rerun-failed": "select with --filter",
	})
}
