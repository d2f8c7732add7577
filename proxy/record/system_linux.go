package record

import (
	"errors"
	"os"
	"runtime"
	"syscall"

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

// saverNice is by how much the nice value of the thread that saves is above that of the
// others: it gets a third of what a thread of a client gets where both want the same processor.
const saverNice = 5

// lowerPriority gives the goroutine a thread of its own, which the system lets wait for those of
// the clients. The thread ends with the goroutine.
func lowerPriority() {
	runtime.LockOSThread()
	if kernel, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid()); err == nil { // 20 less the nice value
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), min(20-kernel+saverNice, 19))
	}
}
