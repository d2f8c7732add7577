//go:build !linux

package record

import (
	"errors"
	"os"
)

// openUnnamed creates a file without a name; only Linux can.
func openUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// lowerPriority does nothing: only Linux has priorities of threads.
func lowerPriority() {}
