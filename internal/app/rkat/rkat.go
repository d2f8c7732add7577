// Package rkat is the command line of the agent: it reads flags and
// configuration, wires meerkat/* together and prints. What an agent does is
// decided there, not here.
package rkat

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// Run executes one command and returns the process's exit code. env is a list
// of K=V; keys, addresses, proxy and certificates come from it and never from
// the process. When ctx ends, the run stops, its session stays legal and the
// code is 130. Errors are one line on stderr: "rkat: object: what; what to do".
//
// Sessions are kept in files of lines or in memory; see RunWith for the rest.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return RunWith(ctx, Backends{}, args, stdin, stdout, stderr, env)
}

// RunWith is Run with backends.
func RunWith(ctx context.Context, backends Backends, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{backends: backends, settings: config.Table(), stdin: stdin, stdout: stdout, stderr: &shared{w: stderr}, env: readEnv(env), variables: env, dir: workingFolder()}
	root := a.command() //nolint:contextcheck // commands take theirs from cobra
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(a.stderr)
	return a.exit(root.ExecuteContext(ctx))
}

type app struct {
	backends       Backends
	settings       []config.Setting
	stdin          io.Reader
	stdout, stderr io.Writer
	env            environ
	variables      []string // env as it was given
	dir            string   // where the search for a project begins

	configFile string // --config
	trust      bool   // --trust-project
	quiet      bool
	verbose    bool
	format     format // --output of the command that runs

	streaming bool       // --stream in text
	streamed  bool       // the first line of a json-stream is out
	lost      int        // parts of the conversation that the model did not get
	shown     bool       // a part of the answer is on the terminal
	session   session.ID // the stored one that a command is about
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
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   as everywhere, also in lower case
  SSL_CERT_FILE                       certificates trusted besides the system's
  RKAT_SESSION_DIR                    where sessions are (see --session-dir)
  RKAT_MODEL, RKAT_MAX_TOKENS, …      any setting: RKAT_ and its name in capitals

Exit codes:
    0  ok
    1  the run failed, a reply could not be read, or doctor found something
    2  the turn limit or a budget was reached
    3  the model refused, or a filter stopped it
    4  the reply was cut off (output tokens, context window)
   64  wrong usage or configuration
   65  the session is damaged, of a newer format, or changed since it was sent
   69  the provider or a tool server is not available: rate limit, overload, no
       connection, a stream that was cut or that failed in the middle
   77  unsupported model, or the provider does not accept the key
  130  interrupted
A session that exists when a run fails is legal and can be resumed.`

func (a *app) command() *cobra.Command {
	root := group("rkat", "Run an agent that can be resumed", long)
	root.Version = version.String()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetVersionTemplate("rkat {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %v; run: %s --help", cmd.Name(), err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "`file` to read instead of the project's and the user's")
	flags.BoolVar(&a.trust, "trust-project", false, "let .rkat/config.toml of the project set anything")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log on stderr what happens")
	a.bindSettings(flags, config.AllCommands)
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.sessionsCommand(), a.compactCommand(), a.renderCommand(),
		a.modelsCommand(), a.doctorCommand(), a.eventsCommand())
	addAbsent(root, map[string]string{
		"mcp-server": "use rkat run",
		"serve":      "use rkat run",
	})
	return root
}

// group is a command that only holds others.
func group(name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage("%s: unknown command; one of %s", args[0], names(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

func names(cmd *cobra.Command) string {
	var list []string
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			list = append(list, c.Name())
		}
	}
	return strings.Join(list, ", ")
}

// addAbsent adds commands of the contract (DESIGN §6) that this build lacks.
// They are refused by name, so that nobody waits for what will not come.
func addAbsent(parent *cobra.Command, advice map[string]string) {
	for name, text := range advice {
		parent.AddCommand(&cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return usage("%s: not in this build; %s", name, text) },
		})
	}
}

// arguments refuses more or fewer of them than wanted.
func arguments(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage("%s: want %s; run: %s --help", cmd.Name(), want, cmd.CommandPath())
		}
		return nil
	}
}

// note prints one line for people who did not ask for quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.say(format, args...)
	}
}

// shared is stderr: tool servers and the run write to it at the same time.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// log is where --verbose reports to.
func (a *app) log() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// say prints one line for people.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}
