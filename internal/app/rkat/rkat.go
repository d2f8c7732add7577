// Package rkat is the command line of the agent. It reads flags and settings, builds
// an agent with meerkat.AgentBuilder like any user of the SDK, and prints what
// happens. What an agent does is decided in package meerkat.
//
// [Run] executes one command in this process, as conform does with its built-in
// subject:
//
//	code := rkat.Run(ctx, []string{"run", "--demo", "hi"}, os.Stdin, os.Stdout, os.Stderr, os.Environ())
//
// A prompt goes this way, each step in the file that is named:
//
//	startSession   run.go           reads settings and prompt, and chooses the model
//	prepareRun     build_agent.go   reads the settings by package meerkat/config, opens the store
//	buildAgent     build_agent.go   gives them to a meerkat.AgentBuilder; tool servers start
//	runAgent       run.go           calls meerkat.Agent.Run, which is agent.Run
//	handleEvent    output.go        shows what agent.Run reports while it goes on
//	reportOutcome  output.go        prints the result
//
// What happens in agent.Run, up to the records of the session, is in the comment of package
// meerkat/agent. resume, compact and the servers take the same way from buildAgent on.
//
// The package keeps sessions in files or in memory. SQLite, metrics and spans are
// [Backends] that the command cmd/rkat adds from package backends.
//
// The package promises: answers and results are on stdout, everything else is on
// stderr; nothing is read from the process but the working folder; exit codes are
// those of cli.ExitCodes.
package rkat

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/config/setting"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// InterruptPatience is how long the process goes on after the first SIGINT: with what
// the machine needs to end it, less than a second. Sessions are legal at any moment.
const InterruptPatience = 800 * time.Millisecond

// Patience is InterruptPatience, or 0 for a command that ends its work in its own time
// after the first SIGINT: serve has --drain.
func Patience(args []string) time.Duration {
	if cmd, _, err := Command().Find(args); err == nil && cmd.Name() == "serve" {
		return 0
	}
	return InterruptPatience
}

// Run is Backends.Run without backends: sessions are kept in files of lines or in
// memory.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return Backends{}.Run(ctx, args, stdin, stdout, stderr, env)
}

// Run executes one command and returns the exit code of the process. env is a list
// of K=V; keys, addresses, proxy and certificates come from it and never from the
// process. When ctx ends, the run stops, its session stays legal and the code is
// 130. Errors are one line on stderr: "rkat: object: what is wrong; what to do".
func (b Backends) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := newApp(b, stdin, stdout, stderr, env)
	return a.Run(ctx, a.rootCommand(), args) //nolint:contextcheck // commands take theirs from cobra
}

// Command returns the tree of commands, for their documentation.
func Command() *cobra.Command {
	return newApp(Backends{}, nil, io.Discard, io.Discard, nil).rootCommand()
}

func newApp(b Backends, stdin io.Reader, stdout, stderr io.Writer, env []string) *app {
	a := &app{backends: b, settings: config.Table(), env: config.ParseEnvironment(env), dir: workingFolder()}
	a.Frame = cli.New(cli.Program{
		Name: "rkat", Short: "Run an agent that can be resumed", Long: long,
		UsageCode: exitUsage, InternalCode: exitError,
		ExitCode: func(err error) (int, bool) { code, _ := classifyError(err); return code, true },
		OnError:  a.reportAsJSON,
	}, stdin, stdout, stderr, env)
	return a
}

type app struct {
	*cli.Frame
	backends Backends
	settings setting.Table
	env      environment
	dir      string // where the search for a project begins

	configFile string // --config
	trust      bool   // --trust-project
	format     format // --output of the command that runs

	streaming        bool            // --stream in text
	firstLineWritten bool            // the first line of a json-stream is out
	lostParts        int             // parts of the conversation that the model did not get
	compaction       agent.Event     // the last one that was completed
	unknown          map[string]bool // what of replies was said to be unknown
	answerShown      bool            // a part of the answer is on the terminal
	session          session.ID      // the stored one that a command is about
}

const long = `Run an agent: a model, tools, and a session that can be resumed.

  rkat run "PROMPT"            start a session; - or no argument reads stdin
  rkat resume ID ["PROMPT"]    go on with one; the beginning of the id is enough
  rkat resume --last ["PROMPT"]
  rkat run --demo "PROMPT"     the same without a key, with a scripted provider

Settings come from flags, then the environment, then .rkat/config.toml of the
project (here or above), then meerkat/config.toml in $XDG_CONFIG_HOME or
~/.config. rkat doctor shows each of them and where it comes from.

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY (or GOOGLE_API_KEY)
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   with their usual meaning, also in lower case
  SSL_CERT_FILE                       certificates trusted besides the system's
  RKAT_SESSION_DIR                    where sessions are (see --session-dir)
  RKAT_MODEL, RKAT_MAX_TOKENS, …      any setting: RKAT_ and its name in capitals

A session that exists when a run fails is valid and can be resumed.`

func (a *app) rootCommand() *cobra.Command {
	root := a.Root()
	root.Example = "  rkat run --demo \"How long is a heron?\"\n  rkat resume --demo --last \"And an owl?\""
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "`file` to read instead of the project's and the user's")
	flags.BoolVar(&a.trust, "trust-project", false, "let .rkat/config.toml of the project set anything")
	cli.BindSettings(root, flags, a.settings, config.AllCommands)
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.sessionsCommand(), a.compactCommand(), a.renderCommand(),
		a.modelsCommand(), a.doctorCommand(), a.eventsCommand(), a.mcpServerCommand(), a.acpCommand(), a.serveCommand())
	return root
}

// noteLine prints one line for people on stderr; -q silences it.
func (a *app) noteLine(format string, args ...any) {
	if !a.Quiet {
		a.printLine(format, args...)
	}
}

// printLine prints one line on stderr without the name of the program: it is a part
// of the run that people follow, and no diagnostic. Texts of others cannot break it.
func (a *app) printLine(format string, args ...any) {
	fmt.Fprintln(a.Stderr, terminal.Line(fmt.Sprintf(format, args...)))
}
