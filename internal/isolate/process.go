package isolate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// gracePeriod is how long a process may take to end after SIGTERM, and how long
// its output may stay open after its end.
const gracePeriod = 2 * time.Second

// Process is a running process. Wait must be called once; the other methods are
// safe for concurrent use.
type Process struct {
	// Stdin is what the process reads. Closing it is the end of its input.
	Stdin io.WriteCloser
	// Stdout is what the process writes, up to its end. A process that nobody reads
	// from waits; Wait drops what was not read.
	Stdout io.Reader

	sandbox        *Sandbox
	cmd            *exec.Cmd
	container      container
	parent         context.Context // the caller's, without the time limit
	release        context.CancelFunc
	stdout, stderr *boundedBuffer
	unread         *io.PipeReader
	ended          chan struct{}

	mu        sync.Mutex
	timedOut  bool
	killTimer *time.Timer // set by the first terminateAll
}

// startProcess starts command. With talk its stdin and stdout are for the caller.
func (s *Sandbox) startProcess(ctx context.Context, command Command, talk bool) (*Process, error) {
	if len(command.Args) == 0 || command.Args[0] == "" {
		return nil, errNoProgram
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := findProgram(command)
	if err != nil {
		return nil, err
	}
	limits := command.Limits.withDefaults()
	limited, release := context.WithCancel(ctx)
	p := &Process{sandbox: s, parent: ctx, release: release,
		stdout: &boundedBuffer{limit: limits.Output}, stderr: &boundedBuffer{limit: limits.Output}}
	command.Dir, command.Limits = cmp.Or(command.Dir, s.cfg.Dir), limits
	if p.cmd, p.container, err = s.newContainer(limited, path, command); err != nil {
		release()
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = command.Stdin, p.stdout, p.stderr
	if command.Stdout != nil {
		p.cmd.Stdout = command.Stdout
	}
	if command.Stderr != nil {
		p.cmd.Stderr = command.Stderr
	}
	p.cmd.WaitDelay = 2 * gracePeriod
	p.cmd.Cancel = p.endAtLimit
	if talk {
		p.Stdin, err = p.cmd.StdinPipe()
		p.unread, p.stdout.copyTo = io.Pipe()
		p.Stdout = p.unread
	}
	if err == nil {
		err = p.container.startProgram(p.cmd)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("%s: cannot be started: %w", command.Args[0], fileutil.Reason(err))
	}
	p.ended = make(chan struct{})
	if limits.Time > 0 {
		timer := time.AfterFunc(limits.Time, release)
		p.release = func() { timer.Stop(); release() }
	}
	go p.awaitEnd()
	return p, nil
}

// awaitEnd waits for the end of the process, and shows it to the reader of Stdout.
func (p *Process) awaitEnd() {
	_ = p.cmd.Wait() // the state says how it ended
	if p.stdout.copyTo != nil {
		_ = p.stdout.copyTo.Close()
	}
	close(p.ended)
}

// container holds a process and all that it starts.
type container interface {
	// startProgram starts cmd and returns when its program runs.
	startProgram(cmd *exec.Cmd) error
	interruptGroup() error
	// terminateAll asks all processes to end, killAll ends them.
	terminateAll() error
	killAll()
	// finishRun returns how the program ended, after cmd.Wait, and ends the rest.
	finishRun() ending
}

// ending is how a program ended.
type ending struct {
	ExitCode int
	Signal   string
	Killed   int
	Stopped  string // why it was ended, "" for not
}

// endAtLimit ends the process because its context has ended.
func (p *Process) endAtLimit() error {
	p.mu.Lock()
	p.timedOut = p.parent.Err() == nil
	p.mu.Unlock()
	return p.terminateAll()
}

// terminateAll asks the group to end and kills it after the grace period.
func (p *Process) terminateAll() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killTimer == nil {
		p.killTimer = time.AfterFunc(gracePeriod, p.container.killAll)
	}
	return p.container.terminateAll()
}

// Interrupt does what Ctrl-C at a terminal does: the process and what it started
// are told to stop what they are doing.
func (p *Process) Interrupt() error { return p.container.interruptGroup() }

// Terminate asks the process and what it started to end (SIGTERM), and leaves it to
// them when.
func (p *Process) Terminate() error { return p.container.terminateAll() }

// Stop ends the process: SIGTERM, and SIGKILL when it does not end.
func (p *Process) Stop() { _ = p.terminateAll() }

// Wait waits for the end of the process, ends what it left behind and returns how
// it ended. The error is that of the context of Start, when it ended first.
func (p *Process) Wait() (Result, error) {
	defer p.release()
	if p.unread != nil {
		_ = p.unread.Close()
	}
	<-p.ended
	end := p.container.finishRun()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killTimer != nil {
		p.killTimer.Stop()
	}
	result := Result{ExitCode: end.ExitCode, Signal: end.Signal, Killed: end.Killed, Stopped: end.Stopped,
		TimedOut: p.timedOut}
	var cutOut, cutErr bool
	result.Stdout, cutOut = p.stdout.keptBytes()
	result.Stderr, cutErr = p.stderr.keptBytes()
	result.Truncated = cutOut || cutErr
	p.sandbox.countResult(result)
	return result, p.parent.Err()
}

func (s *Sandbox) countResult(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Killed += r.Killed
	if r.Truncated {
		s.report.Truncated++
	}
}

// findProgram looks a program up in the PATH of the command's environment, which
// is not that of this process.
func findProgram(command Command) (string, error) {
	name := command.Args[0]
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(lookupVariable(command.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // would depend on the folder that we run in
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: no such program in PATH; install it, or give its path", name)
}

func lookupVariable(env []string, name string) (value string) {
	for _, entry := range env {
		if key, v, _ := strings.Cut(entry, "="); key == name {
			value = v
		}
	}
	return value
}
