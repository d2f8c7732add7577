package serve

import (
	"slices"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

// outcome is what became of one cassette.
type outcome struct {
	served, recorded, missed, unused int
	exit                             int
}

// bySeverity are the exit codes, the worse the later.
var bySeverity = []int{recorderenv.ExitOK, recorderenv.ExitIncomplete, recorderenv.ExitGate, recorderenv.ExitUsage, recorderenv.ExitInternal}

// worseExit is the exit code to end with when a and b are both called for.
func worseExit(a, b int) int {
	if slices.Index(bySeverity, b) > slices.Index(bySeverity, a) {
		return b
	}
	return a
}
