package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// figures are what a process and its descendants cost.
type figures struct {
	wall time.Duration
	cpu  time.Duration
	mib  float64 // the most memory held at once, shared pages counted in each process
}

const (
	longest = 2 * time.Minute
	glance  = 2 * time.Millisecond
)

// measure runs cmd to its end and returns its figures and all that it wrote.
func measure(ctx context.Context, cmd *exec.Cmd) (figures, string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return figures{}, "", err
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // what it left behind
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	late, looks := time.NewTimer(longest), time.NewTicker(glance)
	defer late.Stop()
	defer looks.Stop()
	var most float64
	for {
		select {
		case err := <-done:
			f := figures{wall: time.Since(began), mib: most}
			if s := cmd.ProcessState; s != nil {
				f.cpu = s.UserTime() + s.SystemTime()
			}
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil // a descendant has its output open
			}
			return f, out.String(), err
		case <-late.C:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
			return figures{}, out.String(), fmt.Errorf("still running after %v", longest)
		case <-ctx.Done():
			<-done
			return figures{}, out.String(), ctx.Err()
		case <-looks.C:
			most = max(most, treeMiB(cmd.Process.Pid))
		}
	}
}

// treeMiB is the memory of a process and its descendants: what they hold now, or
// the most that one of them has held. This program, as a child that has not
// begun or as a tool server, does not count.
func treeMiB(pid int) float64 {
	own, _ := os.Readlink("/proc/self/exe")
	var now, peak float64
	for _, p := range append(descendants(pid), pid) {
		dir := filepath.Join("/proc", strconv.Itoa(p))
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err != nil || exe == own {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue
		}
		now += field(bytes.NewReader(status), "VmRSS:") / 1024
		peak = max(peak, field(bytes.NewReader(status), "VmHWM:")/1024)
	}
	return max(now, peak)
}

func descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}
