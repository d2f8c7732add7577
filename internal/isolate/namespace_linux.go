package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mountProc gives this process's PID namespace a /proc of its own: the host's
// would show the host's processes.
func mountProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	return nil
}

// hideSockets puts /dev/null over sockets that a pattern names. A connection to them is
// then refused.
func hideSockets(patterns []string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := unix.Mount(os.DevNull, path, "", unix.MS_BIND, ""); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("hide %s: %w", path, err)
			}
		}
	}
	return nil
}

func enableLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}

// listenOn opens loopback listeners and returns their file descriptors.
func listenOn(ports []int) (files []int, err error) {
	for _, port := range ports {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			return nil, err
		}
		file, err := l.File()
		if err != nil {
			return nil, err
		}
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		_, _ = l.Close(), file.Close()
		files = append(files, fd)
	}
	return files, nil
}

// dropCapabilities takes from this thread, and so from the processes that it
// starts, what would let root undo the preparations. Root keeps the rest: sandboxes
// that agents make themselves need some of it.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for _, capability := range []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} {
		// Without the right to do it there are no capabilities to take.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
	}
	return nil
}
