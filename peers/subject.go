package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// subject is a program between the clients and the upstream. A fresh process is
// started for each measurement.
type subject struct {
	name string
	note string // what a reader of the table should know
	// command returns the process to run on port, and the way through it; nil
	// without one.
	command func(port int) (*exec.Cmd, way, error)
	direct  way
}

// running is a subject's process.
type running struct {
	way
	cmd   *exec.Cmd
	began time.Time
	done  chan error
}

const startTimeout = 60 * time.Second

// start runs the subject and waits until it accepts connections.
func (s subject) start(ctx context.Context) (*running, error) {
	if s.command == nil {
		return &running{way: s.direct}, nil
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd, w, err := s.command(port)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(os.TempDir(), "peers-"+s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &running{way: w, cmd: cmd, began: began, done: make(chan error, 1)}
	go func() { r.done <- cmd.Wait() }()
	if err := r.await(ctx, port); err != nil {
		r.stop()
		return nil, fmt.Errorf("%s: %w; its output is in %s", s.name, err, log.Name())
	}
	return r, nil
}

func (r *running) await(ctx context.Context, port int) error {
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		select {
		case err := <-r.done:
			r.done <- err
			return fmt.Errorf("ended at once: %w", errors.Join(err, errors.New("no listener")))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return conn.Close()
		}
	}
	return errors.New("did not listen in time")
}

// stop asks the process to end, then makes it.
func (r *running) stop() {
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
	if r.cmd == nil || r.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		<-r.done
	}
}

// peakMiB is the most memory the process held; 0 where the system does not tell.
func (r *running) peakMiB() float64 {
	if r.cmd == nil {
		return 0
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	return field(f, "VmHWM:") / 1024
}

// clockTick is the unit of /proc/PID/stat: a hundredth of a second on every Linux.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that the process has used; 0 where the system does not tell.
// It says more than the clock on a machine with other work.
func (r *running) cpu() time.Duration {
	if r.cmd == nil {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * clockTick
}

func field(r io.Reader, name string) float64 {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) > 1 && f[0] == name {
			v, _ := strconv.ParseFloat(f[1], 64)
			return v
		}
	}
	return 0
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func local(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
