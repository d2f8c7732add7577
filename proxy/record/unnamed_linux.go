package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openUnnamed creates a file in dir that never has a name, so that nothing is
// left of it when the process is killed. Some file systems cannot.
func openUnnamed(dir string) (*os.File, error) {
	for {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err == nil {
			return os.NewFile(uintptr(fd), ""), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}
