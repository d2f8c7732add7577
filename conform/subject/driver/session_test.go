package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/specs"
)

// loop is a driver in shell that answers hello and close itself. The other commands
// have the ids: 2 one that no version knows, 3 open or resume, 4 the first turn.
func loop(hello, answers string) Config {
	return shell(`while read line; do case "$line" in
*'"type":"hello"'*) echo '{"type":"hello_ok","id":1,"name":"x"` + hello + `}' ;;
*'"type":"close"'*) exit 0 ;;
` + answers + `
esac; done`)
}

const (
	opens = `*'"type":"open"'*) echo '{"type":"ok","id":3}' ;;
`
	turns = `*'"type":"turn"'*) echo '{"type":"ok","id":4,"text":"hi","stop":"end"}' ;;
`
)

// openCase opens a session of the driver in a room of its own.
func openCase(t *testing.T, config Config) harness.Session {
	t.Helper()
	agent, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sandbox, err := isolate.New(isolate.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sandbox.Close() })
	room := harness.Room{Work: dir, Env: []string{"PATH=" + config.Path}, Sandbox: sandbox,
		Case: harness.Case{Scenario: &specs.Scenario{Name: "s"},
			Target: specs.Target{Provider: "anthropic", Model: "m"}}}
	session, err := agent.Open(t.Context(), room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestUnsupported(t *testing.T) {
	for name, c := range map[string]struct{ answers, want string }{
		"exit code 127":  {`*'"type":"open"'*) echo "needs a licence" >&2; exit 127 ;;`, "needs a licence"},
		"127, no reason": {`*'"type":"open"'*) exit 127 ;;`, "the driver exited with code 127"},
		"127 in a turn":  {opens + `*'"type":"turn"'*) echo "no tools" >&2; exit 127 ;;`, "no tools"},
		"unsupported": {`*'"type":"open"'*) echo '{"type":"unsupported","id":3,"reason":"no base URL"}' ;;`,
			"no base URL"},
		"without reason": {opens + `*'"type":"turn"'*) echo '{"type":"unsupported","id":4}' ;;`,
			"the driver does not support turn"},
		"a turn of tools": {opens + `*'"type":"turn"'*) echo '{"type":"unsupported","id":4,"reason":"no tools"}' ;;`,
			"no tools"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openCase(t, loop("", c.answers)).RunStep(t.Context(), harness.Step{Prompt: "p"})
			unsupported := (*harness.UnsupportedError)(nil)
			if !errors.As(err, &unsupported) || unsupported.Reason != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestSteps holds how a step ends that no driver calls unsupported.
func TestSteps(t *testing.T) {
	resume := harness.Step{Prompt: "q", Resume: true}
	for name, c := range map[string]struct {
		hello, answers string
		step           harness.Step // behind the first
		code           int
		want           string // in what was said, or in what went wrong
	}{
		"unknown command unanswered": {"", opens + turns, harness.Step{}, 0, "hi"},
		"unknown command refused": {"",
			`*'"type":"x-ignore-me"'*) echo '{"type":"error","id":2,"message":"what?"}' ;;` + "\n" + opens + turns,
			harness.Step{}, 0, "hi"},
		"a warning between": {"",
			opens + `*'"type":"turn"'*) echo 'DeprecationWarning'; echo '{"type":"ok","id":4,"text":"hi"}' ;;`,
			harness.Step{}, 0, "hi"},
		"interrupted": {"",
			opens + `*'"type":"turn"'*) echo '{"type":"ok","id":4,"stop":"interrupted"}' ;;`, harness.Step{},
			exitInterrupted, ""},
		"error": {"", opens +
			`*'"type":"turn"'*) echo '{"type":"error","id":4,"message":"no key"}' ;;`, harness.Step{}, 1, "no key"},
		"dies": {"", opens + `*'"type":"turn"'*) exit 9 ;;`, harness.Step{}, 9,
			"ended before it answered turn"},
		"declared, then unsupported": {`,"abilities":["resume"]`, opens + turns +
			`*'"type":"export"'*) echo '{"type":"unsupported","id":5,"reason":"not yet"}' ;;`, resume, 1,
			"declares resume in hello_ok and answers export with unsupported: not yet"},
		"another process": {`,"abilities":["resume"]`,
			opens + turns + `*'"type":"export"'*) echo '{"type":"ok","id":5,"session":[1]}' ;;
*'"session":[1]'*) echo '{"type":"ok","id":3}' ;;`, resume, 0, "hi"},
	} {
		t.Run(name, func(t *testing.T) {
			session := openCase(t, loop(c.hello, c.answers))
			p, err := session.RunStep(t.Context(), harness.Step{Prompt: "p"})
			if err == nil && c.step.Prompt != "" {
				p, err = session.RunStep(t.Context(), c.step)
			}
			if err != nil || p.ExitCode != c.code || !strings.Contains(said(p), c.want) {
				t.Errorf("%v, exit code %d: %s", err, p.ExitCode, said(p))
			}
		})
	}
}

func said(p evidence.Process) string { return string(p.Stdout) + string(p.Stderr) }
