package isolate

import (
	"net"

	"golang.org/x/sys/unix"
)

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
