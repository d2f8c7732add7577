package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/scenario"
)

// Main is a command: arguments, streams and environment in, exit code out.
type Main func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int

// Rkat is rkat as a subject. A new session runs in this process, a resumed one
// in a process of its own, because only that shows what was on disk.
type Rkat struct {
	Main Main
	// Self is the program that acts as rkat when it is started by ActAs. Empty:
	// this executable.
	Self string
}

// panicked is the exit code of a Go program that panics.
const panicked = 2

// Run performs one step.
func (r Rkat) Run(ctx context.Context, step scenario.Step, session string, env []string) (evidence.Process, string, error) {
	p := evidence.Process{Args: arguments(step, session, env)}
	var err error
	if step.Resume {
		err = r.spawn(ctx, &p, env)
	} else {
		r.call(ctx, &p, env)
	}
	return p, sessionOf(p.Stdout, session), err
}

func arguments(step scenario.Step, session string, env []string) []string {
	args := []string{"run", step.Prompt}
	if step.Resume {
		args = []string{"resume", session}
		if step.Prompt != "" {
			args = append(args, step.Prompt)
		}
	}
	args = append(args, "--model", step.Model, "--output", "json", "--session-dir", lookup(env, "RKAT_SESSION_DIR"), "--conform-tools")
	if step.System != "" && !step.Resume {
		args = append(args, "--system", step.System)
	}
	if step.Effort != "" {
		args = append(args, "--effort", step.Effort)
	}
	return args
}

func lookup(env []string, name string) string {
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v
		}
	}
	return ""
}

// call runs rkat in this process. A panic is its crash, not ours.
func (r Rkat) call(ctx context.Context, p *evidence.Process, env []string) {
	var stdout, stderr bytes.Buffer
	defer func() {
		if cause := recover(); cause != nil {
			p.ExitCode = panicked
			fmt.Fprintf(&stderr, "panic: %v\n\n%s", cause, debug.Stack())
		}
		p.Stdout, p.Stderr = stdout.Bytes(), stderr.Bytes()
	}()
	p.ExitCode = r.Main(ctx, p.Args, strings.NewReader(""), &stdout, &stderr, env)
}

// starting lets one process start at a time. Between fork and exec a child
// holds copies of every open file of this process, and with them the locks of
// sessions that other plays are about to resume.
var starting sync.Mutex

func (r Rkat) spawn(ctx context.Context, p *evidence.Process, env []string) error {
	self := r.Self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, p.Args...) //nolint:gosec // runs this very program
	cmd.Env = append(slices.Clip(env), actAs+"="+actRkat)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	starting.Lock()
	err := cmd.Start()
	starting.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	p.ExitCode, p.Stdout, p.Stderr = cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// sessionOf reads the session's id from the last line rkat wrote, JSON; known
// is the answer when there is none.
func sessionOf(stdout []byte, known string) string {
	lines := bytes.Split(bytes.TrimSpace(stdout), []byte("\n"))
	var last struct {
		ID string `json:"session_id"`
	}
	if json.Unmarshal(lines[len(lines)-1], &last) != nil || last.ID == "" {
		return known
	}
	return last.ID
}

const (
	actAs   = "CONFORM_ACT_AS"
	actRkat = "rkat"
)

// ActAs runs main and reports true when this process was started to act as the
// agent under test. Programs that play call it before anything else; one that
// does not would start itself over and over.
func ActAs(ctx context.Context, main Main, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) (code int, acted bool) {
	if lookup(env, actAs) != actRkat {
		return 0, false
	}
	return main(ctx, args, stdin, stdout, stderr, env), true
}
