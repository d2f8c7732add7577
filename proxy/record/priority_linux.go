package record

import (
	"runtime"
	"syscall"
)

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
