package replay

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes its owner within microseconds. The runtime's timers do not on
// Linux: an idle process waits in epoll for whole milliseconds, so that half of
// them are late by more than 0.5 ms (performance goal R2). A timer that is a
// file ends that wait by itself.
type alarm struct {
	fd   int
	file *os.File
	stop func() bool
}

// newAlarm returns an alarm that ctx ends, or nil when the process has no file
// descriptor left.
func newAlarm(ctx context.Context) *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), "timer")
	ended := func() { _ = file.SetReadDeadline(time.Unix(1, 0)) }
	return &alarm{fd: fd, file: file, stop: context.AfterFunc(ctx, ended)}
}

// sleep returns after d, which is above 0, or when the context has ended.
func (a *alarm) sleep(d time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if unix.TimerfdSettime(a.fd, 0, &at, nil) == nil {
		_, _ = a.file.Read(make([]byte, 8)) // how often it rang
	}
}

func (a *alarm) close() {
	a.stop()
	_ = a.file.Close()
}
