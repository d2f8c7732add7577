//go:build !linux

package record

import (
	"errors"
	"os"
)

// unnamed would make a file that never has a name.
func unnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }
