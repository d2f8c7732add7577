//go:build !linux

package record

import (
	"errors"
	"os"
)

// openUnnamed would make a file that never has a name.
func openUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }
