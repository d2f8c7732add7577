package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Main is a command: arguments, streams and environment in, exit code out.
type Main func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int

// inProcess is the kind of a subject that runs inside the harness.
const inProcess = "in-process"

// Converse opens a session with an agent that takes several prompts while it runs: main,
// called with a command line and an environment.
type Converse func(room Room, main Main, args, env []string) (Session, error)

// InProcess returns a subject for rkat of a version, or for an agent with its command
// line. A new session runs in this process by calling main. A resumed session runs in a
// process of its own, because only that shows what was on disk: this executable
// is started again and must call [RunIfSubject] before anything else. Cases with several
// prompts in one process go through converse; nil leaves them out.
func InProcess(main Main, version string, converse Converse) Subject {
	return rkatSubject{main: main, version: version, converse: converse}
}

// Executable returns a subject for the program at path, which has rkat's command
// line. Every step is a process. converse is that of [InProcess].
func Executable(path, version string, converse Converse) Subject {
	return rkatSubject{path: path, version: version, converse: converse}
}

// rkatSubject speaks rkat's command line. A nil main runs all steps as processes
// of path; an empty path is this executable.
type rkatSubject struct {
	main          Main
	path, version string
	converse      Converse
}

// About implements Subject.
func (s rkatSubject) About() About {
	kind := inProcess
	if s.main == nil {
		kind = "command"
	}
	return About{
		Subject: report.Subject{Name: "rkat", Version: s.version, Kind: kind},
		Abilities: slices.DeleteFunc(specs.Abilities(), func(a specs.Ability) bool {
			return a == specs.AbilityTurns && s.converse == nil
		}),
		Providers: spokenByRkat(), PromisesExit: true, HoldsAll: true,
	}
}

// spokenByRkat are the providers that rkat speaks to.
func spokenByRkat() (names []string) {
	for _, w := range wires.All() {
		if !w.Scripts.ByClient {
			names = append(names, w.Name)
		}
	}
	return names
}

// Open implements Subject.
func (s rkatSubject) Open(_ context.Context, room Room) (Session, error) {
	dir := filepath.Join(room.Home, "sessions")
	env := append(slices.Clip(room.Env), "RKAT_SESSION_DIR="+dir)
	env = append(env, quickStart(dir)...)
	switch {
	case room.Case.Scenario.IsSimulated: // a provider that fails is asked again, without a long wait
		env = append(env, "RKAT_RETRY_INITIAL_DELAY=1ms")
		if givesUpSilence(room.Case.Scenario) {
			env = append(env, "RKAT_LIMITS_IDLE_TIMEOUT="+idleTimeout.String())
		}
	case !room.Case.Scenario.Live: // a recording says how often the provider is asked
		env = append(env, "RKAT_RETRY_MAX_RETRIES=0")
	}
	needs := room.Case.Scenario.Needs()
	if slices.Contains(needs, specs.AbilityProviderCompaction) {
		env = append(env, "RKAT_COMPACTION_THRESHOLD="+compactionThreshold[room.Case.Target.Provider])
	}
	if slices.Contains(needs, specs.AbilityTurns) {
		args := append([]string{"acp", "--permission-mode", "auto"},
			append(settingArguments(room.Case.Steps("")[0], dir), "--conform-tools")...)
		if s.main == nil {
			return s.converse(room, programMain(s.path), args, env)
		}
		return s.converse(room, s.main, args, env)
	}
	tools, err := toolArguments(room, needs)
	return &rkatSession{rkatSubject: s, env: env, dir: dir, tools: tools}, err
}

// toolArguments are the flags that offer our tools: those that rkat has, or where the
// scenario needs it those of our MCP server.
func toolArguments(room Room, needs []specs.Ability) ([]string, error) {
	if !slices.Contains(needs, specs.AbilityMCP) || len(room.Tools.Command) == 0 {
		return []string{"--conform-tools"}, nil
	}
	file := filepath.Join(room.Temp, "conform-mcp.json")
	return []string{"--mcp", file}, os.WriteFile(file, []byte(room.Tools.ConfigFile()), 0o600)
}

// quickStart are the variables that spare a process of rkat, which lives for some
// milliseconds, the work that only a longer life repays: to read the system's
// certificates, none of which it meets, and to collect garbage.
func quickStart(noCertificates string) []string {
	return []string{"SSL_CERT_DIR=" + noCertificates, "GOGC=800"}
}

// compactionThreshold is the share of the context window from which rkat asks a provider to
// compact: a little more than the least that the provider takes.
var compactionThreshold = map[string]string{"anthropic": "0.26", "openai": "0.02"}

// idleTimeout is how long rkat waits where it is to give up a provider that falls silent.
// Elsewhere rkat's own time applies, which a machine that stands still for seconds does not
// exceed.
const idleTimeout = 2 * time.Second

// givesUpSilence reports whether the agent itself is to end a reply that has fallen silent.
// In other scenarios it is called off or killed then, and must not ask again before that.
func givesUpSilence(s *specs.Scenario) bool {
	return s.HasStall() && !slices.ContainsFunc(s.Steps,
		func(step specs.Step) bool { return step.Interrupt || step.Kill })
}

// rkatSession is rkat in one case.
type rkatSession struct {
	rkatSubject
	env []string
	dir string // of rkat's sessions
	id  string // of the session, "" before there is one
	// tools are the flags that offer our tools.
	tools []string
}

// Close implements Session. Every step has ended its process.
func (s *rkatSession) Close() error { return nil }

// panicExit is the exit code of a Go program that panics.
const panicExit = 2

// RunStep implements Session.
func (s *rkatSession) RunStep(ctx context.Context, step Step) (evidence.Process, error) {
	env := s.env
	if step.NewKey {
		env = withOtherKeys(env)
	}
	if step.Fork {
		if p, err := s.forkSession(ctx, env); err != nil || p.ExitCode != 0 {
			return p, err
		}
	}
	p := evidence.Process{Args: append(rkatArguments(step, s.id, s.dir), s.tools...)}
	var err error
	if step.Resume || step.Kill != nil || s.main == nil {
		err = s.startProcess(ctx, &p, env, step)
	} else {
		called, cancel := context.WithCancel(ctx)
		release := onClosed(step.Interrupt, cancel)
		s.callMain(called, &p, env)
		release()
		cancel()
	}
	s.id = readSessionID(p.Stdout, s.id)
	return p, err
}

// forkSession goes on with a copy of the session. The process that makes it sends nothing.
func (s *rkatSession) forkSession(ctx context.Context, env []string) (evidence.Process, error) {
	p := evidence.Process{Args: []string{"sessions", "fork", s.id, "--session-dir", s.dir}}
	err := s.startProcess(ctx, &p, env, Step{})
	s.id = strings.TrimSpace(string(p.Stdout))
	return p, err
}

// onClosed calls act when the channel is closed. It returns what ends the waiting. A nil
// channel is never closed.
func onClosed(signal <-chan struct{}, act func()) (release func()) {
	released := make(chan struct{})
	go func() {
		select {
		case <-signal:
			act()
		case <-released:
		}
	}()
	return func() { close(released) }
}

func rkatArguments(step Step, session, dir string) []string {
	args := []string{"run", step.Prompt}
	if step.Resume {
		args = []string{"resume", cmp.Or(session, "--last")} // one that was killed had no time to say its id
		if step.Compact {
			args[0] = "compact"
		}
		if step.Prompt != "" {
			args = append(args, step.Prompt)
		}
	}
	args = append(args, "--output", "json")
	for _, name := range step.Attached {
		args = append(args, "--attach", name)
	}
	return append(args, settingArguments(step, dir)...)
}

// settingArguments are the flags of all commands that ask a model.
func settingArguments(step Step, dir string) []string {
	args := []string{"--model", step.Model, "--session-dir", dir}
	if len(step.ExtraTools) > 0 {
		args = append(args, "--conform-extra", strings.Join(step.ExtraTools, ","))
	}
	if step.System != "" && !step.Resume {
		args = append(args, "--system", step.System)
	}
	args = append(args, abilityArguments(step)...)
	if step.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(step.MaxTurns))
	}
	if step.Effort != "" {
		args = append(args, "--effort", step.Effort)
	}
	return args
}

// abilityArguments are the flags that give rkat what the scenario needs beyond its usual
// settings.
func abilityArguments(step Step) (args []string) {
	for _, a := range []struct {
		ability specs.Ability
		args    []string
	}{
		{specs.AbilityCache, []string{"--cache-ttl", "5m"}},
		{specs.AbilityOutputSchema, []string{"--output-schema", step.OutputSchema}},
		{specs.AbilitySubAgents, []string{"--sub-agents"}},
		{specs.AbilityToolChoice, []string{"--tool-choice", "conform_echo"}},
		{specs.AbilityDeferredTools, []string{"--tools-defer-above", "1"}},
		{specs.AbilityWebSocket, []string{"--websocket"}},
		{specs.AbilityHosted, []string{"--hosted", "web_search,code_execution"}},
	} {
		if slices.Contains(step.Needs, a.ability) {
			args = append(args, a.args...)
		}
	}
	return args
}

// Variable is the value of a variable in an environment, "" for none.
func Variable(env []string, name string) string {
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v
		}
	}
	return ""
}

// callMain runs the agent in this process. A panic is a crash of the agent, not
// of the harness.
func (s rkatSubject) callMain(ctx context.Context, p *evidence.Process, env []string) {
	var stdout, stderr bytes.Buffer
	defer func() {
		if cause := recover(); cause != nil {
			p.ExitCode = panicExit
			fmt.Fprintf(&stderr, "panic: %v\n\n%s", cause, debug.Stack())
		}
		p.Stdout, p.Stderr = stdout.Bytes(), stderr.Bytes()
	}()
	p.ExitCode = s.main(ctx, p.Args, strings.NewReader(""), &stdout, &stderr, env)
}

// forkLock lets one process start at a time. Between fork and exec a child holds
// copies of every open file of this process, and with them the locks of sessions
// that other cases are about to resume. It is one for the process, as file
// descriptors are.
var forkLock sync.Mutex

// launch starts a process in a group of its own.
func launch(cmd *exec.Cmd) error {
	makeGroup(cmd)
	forkLock.Lock()
	defer forkLock.Unlock()
	return cmd.Start()
}

// startProcess runs one process to its end, or to where the step calls it off.
func (s rkatSubject) startProcess(ctx context.Context, p *evidence.Process, env []string, step Step) error {
	path := s.path
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return err
		}
		env = append(slices.Clip(env), runAsVariable+"="+runAsRkat)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, p.Args...) //nolint:gosec // the program that the caller wants judged
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err := launch(cmd)
	if err == nil {
		defer onClosed(step.Interrupt, func() { _ = cmd.Process.Signal(os.Interrupt) })()
		defer onClosed(step.Kill, func() { _ = cmd.Process.Kill() })()
		err = cmd.Wait()
	}
	p.ExitCode, p.Stdout, p.Stderr = cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// programMain is the command of a program. It returns 1 where the program does not run.
func programMain(path string) Main {
	return func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
		cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the program that the caller wants judged
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, stdin, stdout, stderr
		cmd.WaitDelay = time.Second // its input may stay open
		if err := launch(cmd); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		_ = cmd.Wait() // the exit code says it
		return cmd.ProcessState.ExitCode()
	}
}

// readSessionID reads the id of the session from the last line that rkat wrote,
// which is JSON. It returns known when there is none.
func readSessionID(stdout []byte, known string) string {
	lines := bytes.Split(bytes.TrimSpace(stdout), []byte("\n"))
	var last struct {
		ID string `json:"session_id"`
	}
	if json.Unmarshal(lines[len(lines)-1], &last) != nil || last.ID == "" {
		return known
	}
	return last.ID
}

// The variable that tells a process of this executable to be the agent or its tool
// server.
const (
	runAsVariable = "CONFORM_ACT_AS"
	runAsRkat     = "rkat"
	runAsTools    = "tools"
)

// RunIfSubject runs main and reports true when this process was started as the
// agent under test by a subject of [InProcess]. Programs that use InProcess call
// it before anything else; one that does not would start itself over and over.
func RunIfSubject(ctx context.Context, main Main, args []string, stdin io.Reader, stdout, stderr io.Writer,
	env []string) (code int, isSubject bool) {
	if Variable(env, runAsVariable) != runAsRkat {
		return 0, false
	}
	return main(ctx, args, stdin, stdout, stderr, env), true
}
