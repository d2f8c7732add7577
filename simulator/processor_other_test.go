//go:build !unix

package simulator

import "time"

// processorTime is not measured here: only rates of wall time are compared.
func processorTime() time.Duration { return 0 }
