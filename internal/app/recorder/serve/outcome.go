package serve

import (
	"slices"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
)

// outcome counts what happened with one cassette.
type outcome struct {
	served, recorded, missed, unused int
	exit                             int
}

// bySeverity lists the exit codes, the worst last.
var bySeverity = []int{recorderenv.ExitOK, recorderenv.ExitIncomplete, recorderenv.ExitGate, recorderenv.ExitUsage, recorderenv.ExitInternal}

// worseExit returns the worse of two exit codes.
func worseExit(a, b int) int {
	if slices.Index(bySeverity, b) > slices.Index(bySeverity, a) {
		return b
	}
	return a
}
