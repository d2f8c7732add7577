package isolate

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// escape runs a script and holds that nothing of it lives afterwards.
func escape(t *testing.T, sandbox *Sandbox, limits Limits, script string) Result {
	t.Helper()
	command := shell(script, limits)
	mark := "TEST_ESCAPE=" + t.TempDir() // no other run of this test on the machine has it
	command.Env = append(command.Env, mark)
	began := time.Now()
	got, err := sandbox.Run(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	if alive := processesWith(t, mark); len(alive) > 0 {
		t.Errorf("still alive: %s", alive)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	return got
}

// processesWith lists the processes of this machine that have a variable.
func processesWith(t *testing.T, variable string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, []byte(variable+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, filepath.Dir(path)+" "+strings.ReplaceAll(string(name), "\x00", " "))
		}
	}
	return found
}

func TestNothingEscapes(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		for name, c := range map[string]struct {
			script string
			limits Limits
			want   func(Result) bool
		}{
			"session of its own": {script: "setsid sleep 60 >/dev/null 2>&1 & sleep 0.3",
				want: func(r Result) bool { return r.Killed == 1 && r.ExitCode == 0 }},
			"double fork": {script: "echo $( (setsid sh -c 'sleep 60 >&2 & sleep 61 >&2 & echo done; exec >&2; wait' &) )", want: func(r Result) bool { return r.Killed == 3 && string(r.Stdout) == "done\n" }},
			"held pipes": {script: "sleep 60 & echo done; exit 2",
				want: func(r Result) bool { return r.Killed == 1 && r.ExitCode == 2 && string(r.Stdout) == "done\n" }},
			"stops itself": {script: "kill -STOP $$", limits: Limits{Time: time.Second},
				want: func(r Result) bool { return r.TimedOut }},
			"closes its output": {script: "echo x; exec >&- 2>&-; sleep 0.3; exit 7",
				want: func(r Result) bool { return r.ExitCode == 7 && string(r.Stdout) == "x\n" }},
			"kills its parent": {script: "kill -TERM $PPID; kill -INT $PPID; sleep 0.2; exit 6",
				want: func(r Result) bool { return r.ExitCode == 6 }},
			// It ends by itself: a test must not be able to fill the machine.
			"many processes": {script: "i=0; while [ $i -lt 150 ]; do sleep 20 & i=$((i+1)); done; wait",
				limits: Limits{Processes: 50},
				want:   func(r Result) bool { return strings.Contains(r.Stopped, "50 processes") }},
			"ignores SIGTERM": {script: "trap '' TERM; (trap '' TERM; setsid sleep 60) & while :; do sleep 1; done",
				limits: Limits{Time: 5 * time.Second},
				want:   func(r Result) bool { return r.TimedOut && r.Signal == "SIGKILL" }},
			"memory": {script: "(head -c 300000000 /dev/zero; sleep 20) | tail",
				limits: Limits{Memory: 100 << 20},
				want:   func(r Result) bool { return strings.Contains(r.Stopped, "100 MiB") }},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if got := escape(t, sandbox, c.limits, c.script); !c.want(got) {
					got.Stdout = got.Stdout[:min(len(got.Stdout), 300)]
					t.Errorf("%+v", got)
				}
			})
		}
	})
}

// TestNothingEscapesASlowHelper holds that nothing is left when the machine does not let the
// helper run for a while just when the program is to end.
func TestNothingEscapesASlowHelper(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		mark := "TEST_ESCAPE=" + t.TempDir()
		command := shell("echo began; while :; do sleep 1; done", Limits{})
		command.Env = append(command.Env, mark)
		ctx, cancel := context.WithCancel(t.Context())
		p, err := sandbox.Start(ctx, command)
		if err != nil {
			t.Fatal(err)
		}
		bufio.NewScanner(p.Stdout).Scan()
		helper := p.container.(*helped).helper
		_ = helper.Signal(unix.SIGSTOP)
		cancel()
		select {
		case <-p.ended: // it was given up
		case <-time.After(3 * gracePeriod):
		}
		_ = helper.Signal(unix.SIGCONT)
		_, _ = p.Wait()
		if alive := processesWith(t, mark); len(alive) > 0 {
			t.Errorf("still alive: %s", alive)
		}
	})
}

// TestOwnSandboxesWork holds that a program can make namespaces of its own, as
// agents do for the commands that they run.
func TestOwnSandboxesWork(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		if got := run(t, sandbox, Limits{},
			"command -v unshare >/dev/null || exit 0; unshare --user --map-root-user --net true"); got.ExitCode != 0 {
			t.Errorf("%+v: %s", got, got.Stderr)
		}
	})
}

// TestNoForeignFiles holds that a program gets its streams and no other file of
// this process.
func TestNoForeignFiles(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFD, 0); err != nil { // as if a shell had left it open
		t.Fatal(err)
	}
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		got := run(t, sandbox, Limits{}, "exec ls /proc/self/fd")
		if files := strings.Fields(string(got.Stdout)); len(files) != 4 { // three streams and the folder that ls reads
			t.Errorf("%v are open: %s", files, run(t, sandbox, Limits{}, "exec ls -l /proc/self/fd").Stdout)
		}
	})
}
