package isolate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// forEachLevel runs a test with every level that this machine has.
func forEachLevel(t *testing.T, test func(t *testing.T, sandbox *Sandbox)) {
	t.Helper()
	for name, level := range levels(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandbox, err := New(Config{Level: level, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { sandbox.Close() })
			test(t, sandbox)
		})
	}
}

// run runs a shell script.
func run(t *testing.T, sandbox *Sandbox, limits Limits, script string) Result {
	t.Helper()
	result, err := sandbox.Run(t.Context(), shell(script, limits))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func shell(script string, limits Limits) Command {
	return Command{Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Limits: limits}
}

func TestResult(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		got := run(t, sandbox, Limits{}, "echo out; echo err >&2; exit 3")
		if got.ExitCode != 3 || string(got.Stdout) != "out\n" || string(got.Stderr) != "err\n" || got.Signal != "" ||
			got.TimedOut || got.Truncated || got.Killed != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestSignalIsNamed(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		if got := run(t, sandbox, Limits{}, "kill -SEGV $$"); got.Signal != "SIGSEGV" || got.TimedOut {
			t.Errorf("%+v", got)
		}
	})
}

func TestEnvironmentIsTheCommands(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of the user")
	t.Setenv("SSH_AUTH_SOCK", "/of/the/user")
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		if got := run(t, sandbox, Limits{}, "env; pwd"); strings.Contains(string(got.Stdout), "of the user") ||
			strings.Contains(string(got.Stdout), "SSH_AUTH_SOCK") {
			t.Errorf("the process got a variable of ours:\n%s", got.Stdout)
		}
	})
}

func TestOutputIsBounded(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		got := run(t, sandbox, Limits{Output: 1000}, "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 5")
		if got.ExitCode != 5 || len(got.Stdout) != 1000 || len(got.Stderr) != 1000 || !got.Truncated {
			t.Errorf("code %d, %d and %d bytes, truncated %v", got.ExitCode, len(got.Stdout), len(got.Stderr),
				got.Truncated)
		}
		if got := run(t, sandbox, Limits{Output: 3}, "printf abc"); got.Truncated {
			t.Error("output of exactly the limit is called truncated")
		}
	})
}

func TestTimeLimit(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		got := run(t, sandbox, Limits{Time: time.Second}, "exec sleep 60")
		if !got.TimedOut || got.Signal != "SIGTERM" {
			t.Errorf("%+v", got)
		}
	})
}

func TestSigtermIsNotEnough(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		p, err := sandbox.Start(t.Context(), shell("trap '' TERM; echo began; while :; do sleep 1; done", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		bufio.NewScanner(p.Stdout).Scan()
		p.Stop()
		if got, err := p.Wait(); err != nil || got.TimedOut || got.Signal != "SIGKILL" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCancel(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := sandbox.Start(ctx, shell("echo began; exec sleep 60", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		bufio.NewScanner(p.Stdout).Scan()
		cancel()
		got, err := p.Wait()
		if !errors.Is(err, context.Canceled) || got.TimedOut || got.Signal != "SIGTERM" ||
			string(got.Stdout) != "began\n" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCannotBeStarted(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		for _, args := range [][]string{nil, {""}, {"no-such-program"}, {"/no/such/program"}} {
			_, err := sandbox.Run(t.Context(), Command{Args: args, Env: []string{"PATH=/usr/bin"}})
			if err == nil {
				t.Errorf("%q was started", args)
			} else {
				t.Log(err)
			}
		}
	})
}

func TestTalk(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		p, err := sandbox.Start(t.Context(), shell("while read line; do echo got $line; done; exit 4", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(p.Stdout)
		for _, word := range []string{"one", "two"} {
			if _, err := io.WriteString(p.Stdin, word+"\n"); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() || lines.Text() != "got "+word {
				t.Errorf("%q, %v", lines.Text(), lines.Err())
			}
		}
		_ = p.Stdin.Close()
		got, err := p.Wait()
		if err != nil || got.ExitCode != 4 || string(got.Stdout) != "got one\ngot two\n" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestUnreadOutputDoesNotBlockWait(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		p, err := sandbox.Start(t.Context(), shell("head -c 1000000 /dev/zero", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Wait(); err != nil || got.ExitCode != 0 || len(got.Stdout) != 1000000 {
			t.Errorf("%d bytes, %v", len(got.Stdout), err)
		}
	})
}

func TestInterrupt(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		p, err := sandbox.Start(t.Context(),
			shell("trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.05; done", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(p.Stdout)
		lines.Scan()
		if err := p.Interrupt(); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != "interrupted" {
			t.Errorf("%q", lines.Text())
		}
		if got, err := p.Wait(); err != nil || got.ExitCode != 9 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestLeftBehind(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		got := run(t, sandbox, Limits{}, "sleep 60 >/dev/null 2>&1 & exit 0")
		if got.ExitCode != 0 || got.Killed != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestStdoutEnds holds that who talks to a process sees its end without Wait.
func TestStdoutEnds(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		p, err := sandbox.Start(t.Context(), shell("echo bye; exit 3", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(p.Stdout)
		if err != nil || string(said) != "bye\n" {
			t.Errorf("read %q, %v; want bye and the end", said, err)
		}
		if result, err := p.Wait(); err != nil || result.ExitCode != 3 {
			t.Errorf("ended with %d, %v; want 3", result.ExitCode, err)
		}
	})
}
