package mcp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// process is a running server, the leader of its own process group.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	done   chan struct{} // closed when the head has ended and its group is gone
	logged chan struct{} // closed when the last of stderr is logged
	tail   tail
}

// startProcess runs a server's command. It runs until stop is called, also when ctx
// ends.
func startProcess(ctx context.Context, s Server, o Options) (*process, error) {
	if _, err := os.Stat(cmp.Or(s.Dir, ".")); err != nil {
		return nil, fmt.Errorf("cwd: %w", err)
	}
	env := commandEnvironment(s.Env, o.Environ)
	program, err := findProgram(s.Command, env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program,
		s.Args...) //nolint:gosec // the user names the command
	cmd.Args[0], cmd.Env, cmd.Dir = s.Command, env, s.Dir
	ownGroup(cmd)
	p := &process{cmd: cmd, done: make(chan struct{}), logged: make(chan struct{})}
	if err := p.launchCommand(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Command, err)
	}
	mask := newMasker(s, o.Environ)
	go p.waitForExit()
	go p.logStderr(o.Log.With("mcp_server", s.Name), mask)
	return p, nil
}

// launchCommand starts the command on pipes of our own: with those of exec, Wait could
// close stdout before its last bytes are read, or hang on a grandchild.
func (p *process) launchCommand() error {
	var theirs, ours []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(theirs, ours...))
			return err
		}
		theirs, ours = append(theirs, w), append(ours, r)
	}
	theirs[0], ours[0] = ours[0], theirs[0] // stdin flows the other way
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p.stdin, p.stdout, p.stderr = ours[0], ours[1], ours[2]
	err := p.cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
	}
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written that could be lost
	}
}

// waitForExit waits for the command to end and then ends its process group: helpers
// that a server started must not outlive it.
func (p *process) waitForExit() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	killGroup(p.cmd)
	close(p.done)
}

// hurriedGrace is how long a server has to end once the user is waiting for it.
const hurriedGrace = 200 * time.Millisecond

// stop ends the process: stdin is closed, after a quarter of grace comes
// SIGTERM, after the rest SIGKILL; when hurry ends, SIGKILL comes hurriedGrace later.
// It returns when the process is gone.
func (p *process) stop(hurry context.Context, grace time.Duration) {
	deadline := make(chan struct{})
	defer context.AfterFunc(hurry, func() { time.AfterFunc(hurriedGrace, func() { close(deadline) }) })()
	_ = p.stdin.Close() // a message that was not read is not wanted any more
	if !p.hasExitedBefore(deadline, grace/4) {
		termGroup(p.cmd)
		if !p.hasExitedBefore(deadline, grace*3/4) {
			killGroup(p.cmd)
			<-p.done
		}
	}
	_ = p.stdout.Close()
	_ = p.stderr.Close() // a grandchild that fled the group may hold the other end
	<-p.logged
}

func (p *process) hasExitedBefore(deadline <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-deadline:
		return false
	case <-timer.C:
		return false
	}
}

// exitDescription says how the process ended; "" while it runs.
func (p *process) exitDescription() string {
	select {
	case <-p.done:
		return p.cmd.ProcessState.String()
	default:
		return ""
	}
}

// maxLogged bounds the lines of one server's stderr that are logged.
const maxLogged = 10_000

// logStderr passes stderr on, line by line and without the server's secrets.
func (p *process) logStderr(log *slog.Logger, mask func(string) string) {
	defer close(p.logged)
	in := bufio.NewReaderSize(p.stderr, maxLogLine)
	for n := 0; ; n++ {
		piece, _, err := in.ReadLine()
		if err != nil {
			return
		}
		switch line := mask(strings.ToValidUTF8(string(piece), "\uFFFD")); {
		case n < maxLogged:
			p.tail.addLine(line)
			log.Info("mcp server says", "line", line)
		case n == maxLogged:
			log.Warn("mcp server says too much; the rest is left out", "lines", maxLogged)
		}
	}
}

// tail keeps the last lines of stderr, for the error of a server that does not start.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) addLine(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, clipText(line, 300))
	if len(t.lines) > 3 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.Join(t.lines, " | "))
}

// findProgram looks a command up in the PATH of its own environment.
func findProgram(command string, env []string) (string, error) {
	if runtime.GOOS == "windows" || strings.ContainsRune(command, filepath.Separator) {
		return exec.LookPath(command)
	}
	dirs, _ := lookupVariable(env, "PATH")
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue // never a program from the current folder
		}
		if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w in PATH; install it or give its whole path", command, errNotFound)
}

var errNotFound = errors.New("not found")

// pipe is the connection to a process that the SDK uses. Closing it closes
// the process's stdin only: stop does the rest.
type pipe struct {
	io.Reader
	p *process
}

// Close implements io.Closer.
func (p pipe) Close() error { return p.p.stdout.Close() }
