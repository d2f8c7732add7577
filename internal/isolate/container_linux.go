package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helped is a container that a helper keeps.
type helped struct {
	ctx       context.Context
	sandbox   *Sandbox
	task      assignment
	listeners []*sharedListener
	control   *net.UnixConn
	helper    *os.Process
	ports     []net.Listener // inside the namespace, while the process lives
}

// newContainer returns the command that starts the helper.
func (s *Sandbox) newContainer(ctx context.Context, path string, command Command) (*exec.Cmd, container, error) {
	c := &helped{ctx: ctx, sandbox: s, listeners: s.sharedListeners()}
	c.task = assignment{Path: path, Args: command.Args, Env: command.Env, Dir: command.Dir, Limits: command.Limits,
		Hidden: s.hidden, namespaces: s.cfg.Level.namespaces}
	for _, l := range c.listeners {
		c.task.Ports = append(c.task.Ports, l.port)
	}
	return c.task.helperCommand(ctx), c, nil
}

// helperCommand returns the command that starts a helper in these namespaces.
func (n namespaces) helperCommand(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{helperName}, []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: n.cloneFlags()}
	if cmd.SysProcAttr.Cloneflags == 0 {
		return cmd
	}
	// The same user as outside: agents refuse to run as root.
	user, group := os.Getuid(), os.Getgid()
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}}
	if user != 0 {
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
	return cmd
}

// startProgram starts the helper and waits until it has started the program.
func (c *helped) startProgram(cmd *exec.Cmd) error {
	files, err := c.openControl()
	if err != nil {
		return err
	}
	task, write, err := os.Pipe()
	if err != nil {
		return errors.Join(err, files.Close(), c.control.Close())
	}
	cmd.ExtraFiles = []*os.File{files, task}
	cmd.WaitDelay = startPatience // killing the helper earlier would leave what it has not ended yet
	err = cmd.Start()
	_, _ = files.Close(), task.Close()
	if err != nil {
		_, _ = write.Close(), c.control.Close()
		return &namespaceError{err}
	}
	c.helper = cmd.Process
	go func() {
		_ = json.NewEncoder(write).Encode(c.task) //nolint:errchkjson // a helper that is gone is noticed below
		_ = write.Close()
	}()
	if err := c.awaitStart(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = c.control.Close()
		if lost := (*lostError)(nil); errors.As(err, &lost) {
			lost.ending = cmd.ProcessState.String()
		}
		return err
	}
	return nil
}

// lostError says that a helper reported nothing about the start of its program.
type lostError struct {
	timedOut bool
	ending   string // how the helper ended, such as "signal: killed"
}

func (e *lostError) Error() string {
	if e.timedOut {
		return fmt.Sprintf("its sandbox was not ready within %s; let this machine do less at once and try again",
			startPatience)
	}
	return fmt.Sprintf("its sandbox ended before the program began (%s); this happens when memory is short: free some and try again", e.ending)
}

// openControl connects c to its helper and returns the helper's end.
func (c *helped) openControl() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, errors.Join(err, theirs.Close())
	}
	c.control = conn.(*net.UnixConn)
	return theirs, nil
}

// startPatience is how long a helper may take to start its program, or to end it, on a
// machine with more to do than it can.
const startPatience = time.Minute

// awaitStart reads the helper's first message and serves the listeners that come
// with it.
func (c *helped) awaitStart() error {
	stop := context.AfterFunc(c.ctx, func() { _ = c.control.SetReadDeadline(time.Now()) })
	defer stop()
	_ = c.control.SetReadDeadline(time.Now().Add(startPatience))
	m, files, err := c.receiveMessage()
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case err != nil:
		return &lostError{timedOut: errors.Is(err, os.ErrDeadlineExceeded)}
	case m.Err != "" && m.Missing:
		return errors.New(m.Err)
	case m.Err != "":
		return &namespaceError{errors.New(m.Err)}
	}
	stop()
	_ = c.control.SetReadDeadline(time.Time{})
	return c.serveListeners(files)
}

// receiveMessage reads a message and the files that came with it.
func (c *helped) receiveMessage() (m message, files []int, err error) {
	text, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*maxListeners))
	n, rightsN, _, _, err := c.control.ReadMsgUnix(text, rights)
	if err == nil {
		err = json.Unmarshal(text[:n], &m)
	}
	if err != nil {
		return m, nil, err
	}
	all, err := unix.ParseSocketControlMessage(rights[:rightsN])
	if err != nil || len(all) == 0 {
		return m, nil, err
	}
	files, err = unix.ParseUnixRights(&all[0])
	return m, files, err
}

// serveListeners passes the connections of each file, a listener in the namespace, to the
// sandbox's listener with the same port.
func (c *helped) serveListeners(files []int) error {
	for i, fd := range files {
		unix.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(file)
		_ = file.Close()
		if err != nil {
			return err
		}
		c.ports = append(c.ports, l)
		go c.listeners[i].passOn(l)
	}
	return nil
}

func (c *helped) sendOrder(order byte) error {
	_, err := c.control.Write([]byte{order})
	return err
}

func (c *helped) interruptGroup() error { return c.sendOrder(orderInterrupt) }

func (c *helped) terminateAll() error { return c.sendOrder(orderTerminate) }

// killAll kills the helper as well when it does not obey: its namespace ends with it.
func (c *helped) killAll() {
	if c.sendOrder(orderKill) != nil {
		_ = c.helper.Kill()
	}
}

// finishRun reads how the program ended. The helper has ended before.
func (c *helped) finishRun() ending {
	_ = c.control.SetReadDeadline(time.Now().Add(startPatience)) // what it sent is there
	m, _, err := c.receiveMessage()
	if err != nil {
		m.Ending = ending{ExitCode: -1, Signal: unix.SignalName(unix.SIGKILL)}
	}
	_ = c.control.Close()
	for _, l := range c.ports {
		_ = l.Close()
	}
	return m.Ending
}
