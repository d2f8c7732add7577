package record

import (
	"runtime"
	"syscall"
)

// saverNice is the nice value of the thread that saves: it gets a third of what a thread of a
// client gets where both want the same processor.
const saverNice = 5

// lowerPriority gives the goroutine a thread of its own, which the system lets wait for those of
// the clients. The thread ends with the goroutine.
func lowerPriority() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), saverNice)
}
