package isolate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// watchInterval is how often processes and memory are measured.
	watchInterval = 200 * time.Millisecond
	// farewell is how long processes that the program started may live after it.
	// Tool servers end by themselves when their client has gone.
	farewell = 500 * time.Millisecond
)

// processInfo is what the helper needs to know of a process.
type processInfo struct {
	pid, parent     int
	stopped, zombie bool
}

// watchLimits ends the program when it has too many processes or too much memory.
// Neither can be limited for a tree of processes without a cgroup, which needs
// rights that most users do not have.
func (h *helper) watchLimits() {
	for range time.Tick(watchInterval) {
		processes := h.listProcesses()
		memory := int64(0)
		for _, p := range processes {
			memory += anonymousMemory(p.pid)
		}
		switch {
		case h.Limits.Processes > 0 && len(processes) > h.Limits.Processes:
			h.stopProgram(fmt.Sprintf("it had more than %d processes", h.Limits.Processes))
		case h.Limits.Memory > 0 && memory > h.Limits.Memory:
			h.stopProgram(fmt.Sprintf("it used more than %d MiB of memory", h.Limits.Memory>>20))
		}
	}
}

func (h *helper) stopProgram(why string) {
	h.stopped.CompareAndSwap(nil, &why)
	h.killAll()
}

// awaitEnd reaps processes until the program has ended, gives the others a moment
// to end as well, and kills those that do not.
func (h *helper) awaitEnd() ending {
	end := ending{ExitCode: -1}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			break // the program is always there to be reaped
		}
		if pid == h.program {
			end.ExitCode = status.ExitStatus()
			if status.Signaled() {
				end.Signal = unix.SignalName(status.Signal())
			}
			break
		}
	}
	end.Killed = h.awaitOthers(farewell)
	h.killAll()
	h.awaitOthers(farewell) // a zombie would be left to a process that may not reap it
	if why := h.stopped.Load(); why != nil {
		end.Stopped = *why
	}
	return end
}

// awaitOthers reaps processes until none is left, at most for patience, and
// returns how many are alive then.
func (h *helper) awaitOthers(patience time.Duration) int {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		reapAll()
		if left := len(h.listProcesses()); left == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// reapAll reaps what has ended.
func reapAll() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// signalAll sends a signal to every process but the helper.
func (h *helper) signalAll(signal syscall.Signal) {
	if h.PIDNamespace {
		_ = syscall.Kill(-1, signal) // all of the namespace
		return
	}
	for _, p := range h.listProcesses() {
		_ = syscall.Kill(p.pid, signal)
	}
}

// killAll kills every process but the helper. Without a namespace, processes are
// stopped first: one that is killed later could start another.
func (h *helper) killAll() {
	for range freezePasses {
		if h.PIDNamespace || !h.freezeRunning() {
			break
		}
	}
	h.signalAll(syscall.SIGKILL)
}

// freezePasses bounds how often killAll looks for processes that still run.
const freezePasses = 50

// freezeRunning stops the processes that run and reports whether there were any.
func (h *helper) freezeRunning() (found bool) {
	for _, p := range h.listProcesses() {
		if !p.stopped {
			found = true
			_ = syscall.Kill(p.pid, syscall.SIGSTOP)
		}
	}
	return found
}

// listProcesses returns the living processes that the program started, and itself.
func (h *helper) listProcesses() []processInfo {
	children := map[int][]processInfo{}
	all := allProcesses()
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var living []processInfo
	if h.PIDNamespace {
		for _, p := range all {
			if p.pid != os.Getpid() && !p.zombie {
				living = append(living, p)
			}
		}
		return living
	}
	for queue := children[os.Getpid()]; len(queue) > 0; queue = queue[1:] {
		if p := queue[0]; !p.zombie {
			living = append(living, p)
		}
		queue = append(queue, children[queue[0].pid]...)
	}
	return living
}

// allProcesses returns what /proc shows.
func allProcesses() (all []processInfo) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// readProcess reads the state and the parent of a process. Its name, which it
// chooses itself, stands between brackets and may hold anything.
func readProcess(pid int) (p processInfo, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return p, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	state := fields[0][0]
	return processInfo{pid: pid, parent: parent, stopped: state == 'T' || state == 't', zombie: state == 'Z' ||
		state == 'X'}, err == nil
}

// anonymousMemory returns how many bytes a process has for itself. Files that it
// maps are shared with others.
func anonymousMemory(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(text), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
