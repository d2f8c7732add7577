package isolate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// Command is a program to run.
type Command struct {
	// Args is the program and its arguments. A name without a slash is looked up
	// in the PATH of Env.
	Args []string
	// Env is the whole environment of the process.
	Env []string
	// Dir is the folder that the process works in; "" means that of the sandbox.
	Dir string
	// Stdin is what the process reads; nil means nothing. Start ignores it.
	Stdin io.Reader
	// Stdout and Stderr, if not nil, get all that the process writes there, and
	// Result nothing of it. The process gets a file itself. Start ignores them.
	Stdout, Stderr io.Writer
	Limits         Limits
}

// Limits bound a process and all that it starts. A negative limit of time, processes
// or memory is none.
type Limits struct {
	// Time is how long the process may run; 0 means 10 minutes.
	Time time.Duration
	// Output is how many bytes of stdout, and as many of stderr, are kept; 0 means
	// 8 MiB.
	Output int64
	// Processes is how many processes may live at once; 0 means 1024. Only Linux
	// holds it.
	Processes int
	// Memory is how many bytes all processes may have for themselves; 0 means
	// 4 GiB. Only Linux holds it.
	Memory int64
}

func (l Limits) withDefaults() Limits {
	return Limits{Time: cmp.Or(l.Time, 10*time.Minute), Output: cmp.Or(l.Output, 8<<20),
		Processes: cmp.Or(l.Processes, 1024), Memory: cmp.Or(l.Memory, 4<<30)}
}

// Result is how a process ended.
type Result struct {
	// ExitCode is that of the process, -1 when a signal ended it.
	ExitCode int
	// Signal names the signal that ended the process, "" for none.
	Signal string
	// Stdout and Stderr are what the process wrote, up to the limit.
	Stdout, Stderr []byte
	// TimedOut says that the process was ended at its time limit.
	TimedOut bool
	// Stopped says why the process was ended before its time: "it had more than
	// 1024 processes". It is "" for every other end.
	Stopped string
	// Truncated says that the process wrote more than was kept.
	Truncated bool
	// Killed counts what the process had started and was still alive when it had
	// ended. It was ended, too.
	Killed int
}

// Remark says what was unusual about the end of the process, as part of a sentence
// about it: "was ended at its time limit". It is "" for a process that exited.
func (r Result) Remark() string {
	switch {
	case r.Stopped != "":
		return "was ended: " + r.Stopped
	case r.TimedOut:
		return "was ended at its time limit"
	case r.Signal != "":
		return "was ended by " + r.Signal
	}
	return ""
}

// Run starts a process, waits for its end and ends what it leaves behind. The
// error says that it could not be started, or that ctx ended before it; a process
// that fails returns its exit code.
func (s *Sandbox) Run(ctx context.Context, command Command) (Result, error) {
	p, err := s.StartAttached(ctx, command)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	return p.Wait()
}

// StartAttached starts a process with the streams of its command. The caller calls
// Wait.
func (s *Sandbox) StartAttached(ctx context.Context, command Command) (*Process, error) {
	return s.startProcess(ctx, command, false)
}

// Start starts a process to talk to. The caller calls Wait.
func (s *Sandbox) Start(ctx context.Context, command Command) (*Process, error) {
	command.Stdin, command.Stdout, command.Stderr = nil, nil, nil
	return s.startProcess(ctx, command, true)
}

var errNoProgram = errors.New("command: names no program")
