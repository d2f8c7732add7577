// Package cli is the frame of our three programs: conform, recorder and rkat. It
// holds what must be the same in all of them: the root command, usage errors and
// the nearest name for a misspelt one, exit codes, JSON and text output, progress,
// colour, shell completion, manual pages and settings from flags, environment and
// file.
//
// Start with [Program], [New] and [Frame.Run]:
//
//	func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
//		f := cli.New(program, stdin, stdout, stderr, env)
//		return f.Run(ctx, rootCommand(f), args)
//	}
//
//	var program = cli.Program{Name: "conform", Short: "Judge whether …", Long: long,
//		UsageCode: 2, InternalCode: 4,
//		Settings: &cli.Settings{Files: []string{"conform.yaml"}}}
//
//	func rootCommand(f *cli.Frame) *cobra.Command {
//		root := f.Root()
//		root.AddCommand(listCommand(f))
//		return root
//	}
//
//	func listCommand(f *cli.Frame) *cobra.Command {
//		asJSON := false
//		cmd := &cobra.Command{
//			Use: "list", Short: "List the requirements", Example: "  conform list --json | jq .",
//			Args: cli.NoArgs,
//			RunE: func(*cobra.Command, []string) error {
//				if asJSON {
//					return f.WriteJSON(requirements)
//				}
//				f.Print("%d requirements\n", len(requirements)) // a result: stdout
//				f.Note("read %s", path)                        // for people: stderr, silent with -q
//				if none {
//					return cli.Fail(1, "list: nothing found; name a set with --set")
//				}
//				return nil
//			},
//		}
//		cli.AddJSONFlag(cmd, &asJSON)
//		return cmd
//	}
//
// What it promises: results go to stdout, also when stdout is a pipe; diagnostics
// and progress go to stderr, one line each, as "program: object: what is wrong;
// what to do". Nothing is read from the process: streams and environment are
// arguments. A reader that closes its end of a pipe (| head) does not change the
// exit code.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// Program describes one of the three programs to the frame.
type Program struct {
	Name  string // as it is called
	Short string // one line
	// Long is the help text of the root command. The frame appends the exit
	// codes of the program.
	Long string
	// UsageCode is the exit code of a [UsageError].
	UsageCode int
	// InternalCode is the exit code of an error that says nothing about its code.
	InternalCode int
	// ExitCode returns the exit code of an error of the program's own, before the
	// frame looks at it; ok is false when the frame is to decide. It may be nil.
	ExitCode func(err error) (code int, ok bool)
	// Settings fills flags from the environment and a file. With nil the command
	// line alone sets flags.
	Settings *Settings
	// Prepare runs before each command, after its flags are complete. It may be
	// nil.
	Prepare func(cmd *cobra.Command) error
	// OnError sees the error of a command before it is printed, so that a program
	// can report it on stdout as well. It may be nil.
	OnError func(err error)
	// Scrub changes a line before people see it, to take secrets out. It may be
	// nil.
	Scrub func(line string) string
}

// Frame is one run of a program: its streams, its environment and the flags that
// all its commands have. Its methods may be used concurrently once a command runs.
type Frame struct {
	Program Program
	Stdin   io.Reader
	// Stdout is for results that people read. Text of others is shown so that it
	// cannot control a terminal; see [Frame.Data] and [Frame.JSON] for the rest. What
	// is written after the reader has closed its end of the pipe is dropped.
	Stdout io.Writer
	// Stderr is for people: errors, notes. Text is shown as on Stdout.
	Stderr  io.Writer
	Environ []string // K=V

	Quiet   bool // -q: errors only
	Verbose bool // -v: log what happens
	Raw     bool // --raw: text of others as it is

	givenOut, givenErr io.Writer   // as New got them
	results            *pipeWriter // stdout, to ask whether everything was written
	outText, errText   *textWriter // Stdout and Stderr
}

// New returns the frame of one run. env is a list of K=V; nothing is read from the
// environment of the process.
func New(p Program, stdin io.Reader, stdout, stderr io.Writer, env []string) *Frame {
	f := &Frame{
		Program: p, Stdin: stdin, Environ: env, givenOut: stdout, givenErr: stderr, results: &pipeWriter{w: stdout},
	}
	f.outText, f.errText = newTextWriter(f.results, &f.Raw), newTextWriter(stderr, &f.Raw)
	f.Stdout, f.Stderr = f.outText, f.errText
	return f
}

// ChildStreams returns stdin, stdout and stderr as New got them, for a program
// that this one starts: it writes to the same file or terminal.
func (f *Frame) ChildStreams() (stdin io.Reader, stdout, stderr io.Writer) {
	return f.Stdin, f.givenOut, f.givenErr
}

// Run executes a command line with the tree root and returns the exit code. An
// error is printed as one line on Stderr, unless the program reported it already.
func (f *Frame) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(f.Stdin)
	root.SetOut(f.Stdout)
	root.SetErr(f.Stderr)
	addCompletion(root, f.Program.Name)
	err := root.ExecuteContext(ctx)
	_, _ = f.outText.flush(), f.errText.flush() // results knows whether a write failed
	if failed := f.results.writeError(); failed != nil && (err == nil || isReported(err)) {
		err = fmt.Errorf("stdout: the result is incomplete: %w", failed)
	}
	if err != nil && f.Program.OnError != nil {
		f.Program.OnError(err)
	}
	if err != nil && !isReported(err) {
		f.Say("%s", OneLine(err))
	}
	return f.ExitCode(err)
}

// Getenv returns the value of a variable, the last one when it is set twice, ""
// when it is not set.
func (f *Frame) Getenv(name string) (value string) {
	for _, kv := range f.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// Print writes a part of a result to Stdout. Use it for text; see
// [Frame.WriteJSON] for JSON.
func (f *Frame) Print(format string, args ...any) { fmt.Fprintf(f.Stdout, format, args...) }

// Say prints one line for people on Stderr, "program: text", also with -q, as
// [terminal.Line] shows it.
func (f *Frame) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if f.Program.Scrub != nil {
		text = f.Program.Scrub(text)
	}
	fmt.Fprintf(f.Stderr, "%s: %s\n", f.Program.Name, terminal.Line(text))
}

// Note is [Frame.Say] for what is good to know: -q silences it.
func (f *Frame) Note(format string, args ...any) {
	if !f.Quiet {
		f.Say(format, args...)
	}
}

// Log returns the logger for details. It discards everything without -v.
func (f *Frame) Log() *slog.Logger {
	if !f.Verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(f.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// StdoutIsTerminal reports whether a person reads Stdout directly.
func (f *Frame) StdoutIsTerminal() bool { return IsTerminal(f.givenOut) }

// HasColor reports whether results on Stdout may be coloured: on a terminal that
// has colours, unless NO_COLOR is set (no-color.org).
func (f *Frame) HasColor() bool {
	return f.StdoutIsTerminal() && f.Getenv("NO_COLOR") == "" && f.Getenv("TERM") != "dumb"
}

// Width is how many characters a line of Stdout has on the terminal of a person, 0 elsewhere.
func (f *Frame) Width() int {
	file, ok := f.givenOut.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
