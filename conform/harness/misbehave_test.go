//go:build unix

package harness

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
)

// misbehaviour names what a bad subject does beside what the miniature agent does.
const misbehaviour = "TEST_MISBEHAVIOUR"

// misdeeds are what a bad subject does before it works, by name. Those that return
// let it work.
var misdeeds = map[string]func(env []string) error{
	"": func([]string) error { return nil },
	"hangs": func([]string) error {
		time.Sleep(time.Hour)
		return nil
	},
	"stops itself": func([]string) error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) },
	"forks": func([]string) error {
		cmd := exec.Command("sleep", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, os.Environ()
		return cmd.Start()
	},
	"floods": func([]string) error {
		junk := []byte(strings.Repeat("x", 1<<20) + "\n")
		for range 40 {
			_, _ = os.Stderr.Write(junk)
			_, _ = os.Stdout.Write(junk)
		}
		return nil
	},
	"ignores the proxy": func([]string) error {
		_, err := net.DialTimeout("tcp", "1.1.1.1:443", 3*time.Second)
		return err
	},
	"crashes": func([]string) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"prints a key": func([]string) error {
		return fmt.Errorf("cannot use sk-ant-%s", "api03-"+strings.Repeat("Abc9", 20)+"-xyzAA")
	},
	"writes outside": func(env []string) error {
		return os.WriteFile(filepath.Join(Variable(env, "HOME"), "..", "out\x1bside"), nil, 0o600)
	},
	"closes its output": func([]string) error { return os.Stdout.Close() },
	"never reads stdin": func([]string) error { return nil },
	"takes rights away": func(env []string) error {
		dir := filepath.Join(Variable(env, "HOME"), "locked")
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o700); err != nil {
			return err
		}
		return os.Chmod(dir, 0o500)
	},
}

// misbehave is the main function of a bad subject.
func misbehave(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	if err := misdeeds[Variable(env, misbehaviour)](env); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return miniature{}.main(ctx, args, stdin, stdout, stderr, env)
}

// init makes this executable a bad subject when it was started as one.
func init() {
	if os.Getenv(runAsVariable) == "bad" {
		os.Exit(misbehave(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
}

// badSubject is this test's executable as an agent that misbehaves in one scenario.
type badSubject struct{ misdeed, in string }

func (b badSubject) About() About {
	return About{Subject: report.Subject{Name: "bad", Kind: "command"}, Abilities: []specs.Ability{specs.AbilityTools,
		specs.AbilityModel, specs.AbilitySystem}, Providers: []string{"anthropic"}}
}

func (b badSubject) Open(_ context.Context, room Room) (Session, error) {
	return badSession{b, room}, nil
}

type badSession struct {
	badSubject
	room Room
}

func (s badSession) Close() error { return nil }

func (s badSession) RunStep(ctx context.Context, step Step) (evidence.Process, error) {
	env := append(slices.Clone(s.room.Env), runAsVariable+"=bad")
	if s.in == "" || s.in == s.room.Case.Scenario.Name {
		env = append(env, misbehaviour+"="+s.misdeed)
	}
	command := isolate.Command{
		Args: append([]string{os.Args[0]}, rkatArguments(step, "", s.room.Home)...), Env: env, Dir: s.room.Work,
		Stdin:  strings.NewReader(strings.Repeat("more than a pipe holds\n", 100_000)),
		Limits: isolate.Limits{Output: 1 << 20},
	}
	result, err := s.room.Sandbox.Run(ctx, command)
	return evidence.Process{ExitCode: result.ExitCode, Remark: result.Remark(), Stdout: result.Stdout,
		Stderr: result.Stderr}, err
}

// TestBadSubjects holds that every misdeed has its sentence, and that nothing of the
// agent is left.
func TestBadSubjects(t *testing.T) {
	level, err := isolate.Detect(t.Context(), isolate.Auto)
	if err != nil {
		t.Fatal(err)
	}
	c := findCase(t, "failing-tool/anthropic")
	for misdeed, want := range map[string]struct{ deviation, effect string }{
		"":                  {},
		"hangs":             {deviation: "step 0 was ended at the case's time limit of 3s, having sent no request; give slow agents more with --case-timeout"},
		"stops itself":      {deviation: "step 0 was ended at the case's time limit of 3s, having sent no request; give slow agents more with --case-timeout"},
		"forks":             {effect: "left 1 process behind, which the harness ended"},
		"floods":            {effect: "wrote more than is kept of the output: 1 process"},
		"ignores the proxy": {deviation: "sent no request; if it calls a model, it may not use HTTPS_PROXY"},
		"crashes":           {deviation: "step 0 was ended by SIGKILL"},
		"prints a key":      {deviation: "cannot use "},
		"writes outside":    {effect: `wrote outside its folders: "out\x1bside"`},
		"closes its output": {deviation: "step 0 exited 1"},
		"never reads stdin": {},
		"takes rights away": {},
	} {
		t.Run(misdeed, func(t *testing.T) {
			t.Parallel()
			timeout := DefaultCaseTimeout
			if strings.Contains(want.deviation, "time limit") {
				timeout = 3 * time.Second
			}
			runner, err := NewRunner(Config{Subject: badSubject{misdeed: misdeed}, Isolation: level,
				CaseTimeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			run := runner.Run(t.Context(), Permutation{Case: c, Source: evidence.SourceSimulator})
			said := strings.Join(run.Deviations, "\n")
			t.Logf("%s: %q, %q, %v", time.Since(began).Round(time.Millisecond), run.Deviations, run.Effects, run.Err)
			if run.Err != nil || (said == "") != (want.deviation == "") || !strings.Contains(said, want.deviation) {
				t.Errorf("deviations %q, %v; want %q", run.Deviations, run.Err, want.deviation)
			}
			if strings.Contains(want.deviation, "time limit") &&
				(len(run.Deviations) != 1 || strings.Contains(said, "HTTPS_PROXY")) {
				t.Errorf("more than the time limit is said: %q", run.Deviations)
			}
			if strings.Contains(said, "Abc9") {
				t.Errorf("the key is kept: %s", said)
			}
			if got := strings.Join(run.Effects, "\n"); got != want.effect {
				t.Errorf("effects %q, want %q", got, want.effect)
			}
			if left := processesOf(t, runner.dir); len(left) > 0 {
				t.Errorf("still alive: %q", left)
			}
			runner.Close()
			if _, err := os.Stat(runner.dir); err == nil {
				t.Error("the folder of the run is still there")
			}
		})
	}
}

// processesOf lists processes whose environment names a folder.
func processesOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), dir) {
			found = append(found, path)
		}
	}
	return found
}

// TestOthersGoOn holds that a misdeed in one case is that case's.
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	found, err := Run(t.Context(), Options{
		Config:  Config{Subject: badSubject{misdeed: "hangs", in: "failing-tool"}, CaseTimeout: 15 * time.Second},
		Sources: []evidence.Source{evidence.SourceSimulator},
		Filter:  "(failing-tool || thinking-tool-loop) && anthropic",
	})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]report.Verdict{}
	for _, c := range found.Cases {
		if c.Reason == "" {
			verdicts[c.Name] = c.Verdict
		}
	}
	t.Log(verdicts)
	if len(verdicts) != 2 || verdicts["failing-tool/anthropic@simulator"] == report.Pass ||
		verdicts["thinking-tool-loop/anthropic@simulator"] != report.Pass {
		t.Errorf("%v", verdicts)
	}
}
