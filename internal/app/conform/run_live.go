package conform

import "github.com/spf13/cobra"

// liveFlags say how the providers themselves may be asked.
type liveFlags struct{}

func (f *liveFlags) addTo(*cobra.Command) {}
