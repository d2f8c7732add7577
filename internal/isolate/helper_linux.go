package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The helper is this executable, started again as the first process of its
// namespaces. It prepares them, starts the program, watches it, and ends all that
// is left when the program has ended. It is told what to do by two files that it
// inherits.
const (
	helperName   = "isolate-helper" // the helper's argument 0, which no program has
	controlFD    = 3                // a unixpacket socket to the sandbox
	assignmentFD = 4                // an assignment as JSON
)

// assignment is what a helper does.
type assignment struct {
	Args   []string // empty: prepare, and report whether that worked
	Path   string
	Env    []string
	Dir    string
	Ports  []int    // to listen on, in the network namespace
	Hidden []string // patterns of sockets to hide, with a process namespace

	Limits Limits
	namespaces
}

// message is what a helper sends: one about the start, one about the end.
type message struct {
	Err     string `json:",omitempty"` // the program was not started
	Missing bool   `json:",omitempty"` // Err is about the program, not the sandbox
	Ending  ending
}

// What a sandbox sends to its helper. The end of the connection means kill.
const (
	orderInterrupt = 'i'
	orderTerminate = 't'
	orderKill      = 'k'
)

// init turns a process that a sandbox started into a helper. A call in main would
// be needed in every program and test that starts a sandbox, and one that forgot
// it would start itself over and over.
func init() {
	if len(os.Args) == 1 && os.Args[0] == helperName {
		os.Exit(runHelper())
	}
}

// helper is the state of a helper.
type helper struct {
	assignment
	control *net.UnixConn
	program int // process id
	stopped atomic.Pointer[string]
}

func runHelper() int {
	runtime.LockOSThread() // capabilities belong to a thread
	// Signals are caught and dropped. Ignored ones would be ignored in the program,
	// too.
	signal.Notify(make(chan os.Signal, 1))
	h, err := openHelper()
	if err != nil {
		return 1 // without a sandbox there is nobody to tell
	}
	if err := h.startUp(); err != nil {
		_ = h.sendMessage(message{Err: err.Error(), Missing: errors.As(err, new(*programError))}, nil)
		return 1
	}
	if h.program == 0 {
		return 0
	}
	go h.obeyOrders()
	go h.watchLimits()
	_ = h.sendMessage(message{Ending: h.awaitEnd()}, nil)
	return 0
}

func openHelper() (*helper, error) {
	// Files that this program inherited from the user's shell are not the program's.
	if err := unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(controlFD)
		unix.CloseOnExec(assignmentFD)
	}
	h := &helper{}
	text, err := io.ReadAll(os.NewFile(assignmentFD, "assignment"))
	if err == nil {
		err = json.Unmarshal(text, &h.assignment)
	}
	if err != nil {
		return nil, err
	}
	conn, err := net.FileConn(os.NewFile(controlFD, "control"))
	if err != nil {
		return nil, err
	}
	h.control = conn.(*net.UnixConn)
	return h, nil
}

func (h *helper) sendMessage(m message, files []int) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	_, _, err = h.control.WriteMsgUnix(text, rights, nil)
	return err
}

// programError says why the program, and not the sandbox, could not be started.
type programError struct{ error }

// startUp prepares the namespaces, starts the program and hands over the listeners.
func (h *helper) startUp() error {
	listening, err := h.prepareNamespaces()
	if err != nil {
		return err
	}
	if len(h.Args) > 0 {
		if h.namespaces != (namespaces{}) {
			if err := dropCapabilities(); err != nil {
				return err
			}
		}
		if h.program, err = h.startProgram(); err != nil {
			return &programError{err}
		}
	}
	// The streams are released before the sandbox is told that the program runs. Otherwise the
	// sandbox could write to a program that has closed its input and not notice: the pipe would
	// still have a reader, the helper.
	if err := releaseStreams(); err != nil {
		return err
	}
	if err := h.sendMessage(message{}, listening); err != nil {
		return err
	}
	for _, fd := range listening {
		_ = unix.Close(fd)
	}
	return nil
}

func (h *helper) prepareNamespaces() (listening []int, err error) {
	if !h.PIDNamespace {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
		}
	}
	if h.PIDNamespace {
		if err := mountProc(); err != nil {
			return nil, err
		}
		if err := hideSockets(h.Hidden); err != nil {
			return nil, err
		}
	}
	if !h.NetworkNamespace {
		return nil, nil
	}
	if err := enableLoopback(); err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	if err := refuseVsock(); err != nil {
		return nil, fmt.Errorf("filter of system calls: %w", err)
	}
	return listenOn(h.Ports)
}

// startProgram starts the program in a session of its own, so that it cannot ask
// anything at the user's terminal. The kernel prefers it to all other processes
// when it needs memory.
func (h *helper) startProgram() (int, error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0)
	defer func() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0) }()
	return syscall.ForkExec(h.Path, h.Args, &syscall.ProcAttr{ //nolint:gosec // the program that the caller wants run
		Dir: h.Dir, Env: h.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// releaseStreams closes the helper's own copies of the program's streams: who
// reads them is to see when the program closes them.
func releaseStreams() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return err
		}
	}
	return unix.Close(null)
}

// obeyOrders does what the sandbox says. When the sandbox is gone, everything
// ends.
func (h *helper) obeyOrders() {
	for order := make([]byte, 1); ; {
		n, err := h.control.Read(order)
		if err != nil || n == 0 {
			h.killAll()
			os.Exit(1)
		}
		switch order[0] {
		case orderInterrupt:
			_ = syscall.Kill(-h.program, syscall.SIGINT)
		case orderTerminate:
			h.signalAll(syscall.SIGTERM)
			h.signalAll(syscall.SIGCONT) // a stopped process would not notice
		case orderKill:
			h.killAll()
		}
	}
}
