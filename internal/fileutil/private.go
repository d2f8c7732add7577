package fileutil

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// ExposedError says that somebody else can read, or has made, a file that has to be private.
type ExposedError struct {
	Why    string // what is wrong
	Advice string // what to do about it
}

// Error returns both on one line.
func (e *ExposedError) Error() string { return e.Why + "; " + e.Advice }

// ReadPrivate reads a file that holds a secret. The error is an [*ExposedError] where users other
// than the owner may open it, or where the owner is neither this process's user nor root. Root may
// read the files of everybody. On Windows, where modes say nothing, all files pass.
func ReadPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, &ExposedError{fmt.Sprintf("mode %04o lets others read it", mode), "run: chmod 600 " + path}
	}
	if owner, ok := foreignOwner(info, os.Geteuid()); ok {
		return nil, &ExposedError{fmt.Sprintf("user %d owns it, who can read it", owner), "use a file of your own"}
	}
	return io.ReadAll(f)
}
