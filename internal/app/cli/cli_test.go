package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/schemas"
)

// sampleProgram is a program with a command, a group, and settings from files.
func sampleProgram(file string) Program {
	return Program{Name: "sample", Short: "Try the frame", Long: "Try the frame.", UsageCode: 64, InternalCode: 70,
		Settings: &Settings{Files: []string{file}, Variables: []string{"SAMPLE_CREDENTIAL"},
			Refuse: func(_ *Frame, value string) string {
				if value == "hush" {
					return "holds a secret"
				}
				return ""
			}}}
}

func sampleCommand(f *Frame, run func(cmd *cobra.Command) error) *cobra.Command {
	root := f.Root()
	asJSON := false
	show := &cobra.Command{
		Use: "show", Args: NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) },
	}
	show.Flags().String("level", "low", "how much")
	show.Flags().StringSlice("host", nil, "hosts")
	show.Flags().Bool("strict", false, "refuse more")
	AddJSONFlag(show, &asJSON)
	group := Group("store", "The store", "")
	group.AddCommand(&cobra.Command{Use: "list", RunE: func(*cobra.Command, []string) error { return nil }})
	root.AddCommand(show, group)
	return root
}

// runSample runs the sample with a command that prints its settings.
func runSample(t *testing.T, file string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	f := New(sampleProgram(file), strings.NewReader(""), &out, &errs, env)
	code = f.Run(t.Context(), sampleCommand(f, func(cmd *cobra.Command) error {
		level, _ := cmd.Flags().GetString("level")
		hosts, _ := cmd.Flags().GetStringSlice("host")
		f.Print("%s %s given %s\n", level, strings.Join(hosts, "+"), strings.Join(GivenFlags(cmd), ","))
		return nil
	}), args)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, stderr string }{
		{"shwo", "sample: shwo: unknown command; did you mean show? run: sample --help\n"},
		{"elsewhere", "sample: elsewhere: unknown command; one of show, store, version\n"},
		{"store lits", "sample: lits: unknown command; did you mean list? run: sample store --help\n"},
		{"show --jsno", "sample: show: unknown flag: --jsno; did you mean --json? run: sample show --help\n"},
		{"completion bahs", "sample: bahs: unknown command; did you mean bash? run: sample completion --help\n"},
		{"show --json=ture", "sample: show: --json=ture: neither true nor false; run: sample show --help\n"},
		{"show --elsewhere", "sample: show: unknown flag: --elsewhere; run: sample show --help\n"},
		{"show --level --", "sample: --level: its value is missing: -- is behind it; run: sample show --help\n"},
		{"show --host --", "sample: --host: its value is missing: -- is behind it; run: sample show --help\n"},
		{"show x", "sample: x: unexpected; show takes flags only\n"},
	} {
		if code, stdout, stderr := runSample(t, "", nil, strings.Fields(c.args)...); code != 64 || stdout != "" ||
			stderr != c.stderr {
			t.Errorf("%s: %d, stdout %q, stderr %q; want 64 and %q", c.args, code, stdout, stderr, c.stderr)
		}
	}
	if code, stdout, _ := runSample(t, "", nil, "store"); code != 0 ||
		!strings.Contains(stdout, "sample store list") && !strings.Contains(stdout, "list") {
		t.Errorf("a group alone: %d, %q; want its help", code, stdout)
	}
	if code, stdout, _ := runSample(t, "", nil, "--version"); code != 0 || !strings.HasPrefix(stdout, "sample ") {
		t.Errorf("--version: %d, %q", code, stdout)
	}
	if code, stdout, _ := runSample(
		t, "", []string{"SAMPLE_LEVLE=x"}, "version",
	); code != 0 || !strings.Contains(stdout, "catalogue  ") {
		t.Errorf("version: %d, %q", code, stdout)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := runSample(
			t, "", nil, "completion", shell,
		); code != 0 || len(stdout) < 1000 || stderr != "" {
			t.Errorf("completion %s: %d, %d bytes, %q", shell, code, len(stdout), stderr)
		}
	}
}

func TestExitCode(t *testing.T) {
	special := errors.New("special")
	p := sampleProgram("")
	p.ExitCode = func(err error) (int, bool) { return 9, errors.Is(err, special) }
	for _, c := range []struct {
		err    error
		code   int
		stderr string
	}{
		{nil, 0, ""},
		{Usage("x: is %s", "wrong"), 64, "sample: x: is wrong\n"},
		{Fail(3, "y: missing"), 3, "sample: y: missing\n"},
		{Exit(1), 1, ""},
		{Exit(0), 0, ""},
		{errors.New("z"), 70, "sample: z\n"},
		{special, 9, "sample: special\n"},
		{errors.Join(errors.New("a"), errors.New("b\x1b[2J")), 70, "sample: a; b\\x1b[2J\n"},
		{
			errors.Join(errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d")), 70,
			"sample: a; b; c (and 1 more)\n",
		},
	} {
		var errs bytes.Buffer
		f := New(p, nil, io.Discard, &errs, nil)
		code := f.Run(t.Context(), sampleCommand(f, func(*cobra.Command) error { return c.err }), []string{"show"})
		if code != c.code || errs.String() != c.stderr {
			t.Errorf("%v: %d, %q; want %d, %q", c.err, code, errs.String(), c.code, c.stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	seen := map[ExitCode]bool{}
	for _, c := range ExitCodes("") {
		key := ExitCode{c.Program, c.Code, ""}
		if seen[key] || c.Meaning == "" {
			t.Errorf("%s %d: twice, or without a meaning", c.Program, c.Code)
		}
		seen[key] = true
	}
	for _, program := range []string{"conform", "recorder", "rkat"} {
		help := exitCodeHelp(program)
		for _, c := range ExitCodes(program) {
			if !strings.Contains(strings.Join(strings.Fields(help), " "), c.Meaning) {
				t.Errorf("the help of %s does not explain %d", program, c.Code)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "level: high\nhost: [a, b]\n")
	for _, c := range []struct {
		file           string
		env            []string
		args           string
		stdout, stderr string
	}{
		{"", nil, "show", "low  given \n", ""},
		{good, nil, "show", "high a+b given \n", "sample: from " + good + ": host, level\n"},
		{good, nil, "show -q", "high a+b given quiet\n", ""},
		{good, []string{"SAMPLE_LEVEL=mid"}, "show", "mid a+b given \n", "sample: from " + good + ": host\n"},
		{good, []string{"SAMPLE_LEVEL=mid", "SAMPLE_HOST=c,d"}, "show --level top", "top c+d given level\n", ""},
		{
			"", []string{"SAMPLE_CONFIG=" + good}, "show", "high a+b given \n",
			"sample: from " + good + ": host, level\n",
		},
		{"", []string{"SAMPLE_OTHER=x", "SAMPLE_CREDENTIAL=x"}, "show", "low  given \n", ""},
		{
			"", []string{"SAMPLE_LEVLE=x"}, "show", "",
			"sample: SAMPLE_LEVLE: unknown; SAMPLE_LEVEL is meant, or rename it\n",
		},
		{"", []string{"SAMPLE_LEVEL=hush"}, "show", "", "sample: SAMPLE_LEVEL: holds a secret\n"},
		{"", []string{"SAMPLE_STRICT=perhaps"}, "show", "", "sample: SAMPLE_STRICT: \"perhaps\": use true or false\n"},
		{"", []string{"SAMPLE_JSON=true"}, "show", "low  given \n", ""},
		{
			write("typo.yaml", "lvel: x\n"), nil, "show", "",
			"sample: " + dir + "/typo.yaml: lvel: unknown; level is meant\n",
		},
		{
			write("other.yaml", "colour: x\n"), nil, "show", "",
			"sample: " + dir + "/other.yaml: colour: unknown; the settings are the flags: host, level, strict\n",
		},
		{
			write("list.yaml", "level: [a, b]\n"), nil, "show", "",
			"sample: " + dir + "/list.yaml: level: takes one value, not a list\n",
		},
		{
			"", nil, "show --config " + dir + "/none.yaml", "",
			"sample: " + dir + "/none.yaml: does not exist; name a configuration file that does with --config\n",
		},
	} {
		code, stdout, stderr := runSample(t, c.file, c.env, strings.Fields(c.args)...)
		if failed := c.stdout == ""; stdout != c.stdout || stderr != c.stderr || failed != (code == 64) {
			t.Errorf(
				"%s %v %s: %d, stdout %q, stderr %q; want %q, %q", c.file, c.env, c.args, code, stdout, stderr,
				c.stdout, c.stderr,
			)
		}
	}
}

// A reader that has seen enough changes neither the output of the program nor its
// exit code.
func TestClosedPipe(t *testing.T) {
	reader, writer := io.Pipe()
	_ = reader.Close()
	var errs bytes.Buffer
	f := New(sampleProgram(""), nil, writer, &errs, nil)
	code := f.Run(t.Context(), sampleCommand(f, func(*cobra.Command) error {
		f.Print("a line\n")
		return errors.Join(f.WriteJSON([]int{1}), Exit(3))
	}), []string{"show"})
	if code != 3 || errs.String() != "" {
		t.Errorf("%d, %q; want 3 and nothing", code, errs.String())
	}
	for err, want := range map[error]error{syscall.EPIPE: nil, syscall.ENOSPC: syscall.ENOSPC} {
		if _, got := (&pipeWriter{w: failingWriter{err}}).Write([]byte("x")); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// A result that could not be written is an error, also where it was printed as text
// and the command itself succeeded.
func TestLostResult(t *testing.T) {
	var errs bytes.Buffer
	f := New(sampleProgram(""), nil, failingWriter{syscall.ENOSPC}, &errs, nil)
	code := f.Run(t.Context(), sampleCommand(f, func(*cobra.Command) error {
		f.Print("a line\n")
		return nil
	}), []string{"show"})
	if code != f.Program.InternalCode || !strings.Contains(
		errs.String(), "stdout: the result is incomplete: no space left on device",
	) {
		t.Errorf("%d, %q", code, errs.String())
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestNotesAndLog(t *testing.T) {
	for _, c := range []struct {
		quiet, verbose bool
		want           string
	}{{false, false, "sample: note\nsample: said\n"}, {true, false, "sample: said\n"},
		{true, true, "sample: said\nlog\n"}} {
		var errs bytes.Buffer
		f := New(sampleProgram(""), nil, io.Discard, &errs, nil)
		f.Quiet, f.Verbose = c.quiet, c.verbose
		f.Note("note")
		f.Say("said")
		f.Log().Debug("detail")
		got := errs.String()
		if head, _, logged := strings.Cut(got, "time="); logged {
			got = head + "log\n"
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	p := sampleProgram("")
	p.Scrub = func(line string) string { return strings.ReplaceAll(line, "key", "***") }
	var errs bytes.Buffer
	New(p, nil, io.Discard, &errs, nil).Say("a key")
	if errs.String() != "sample: a ***\n" {
		t.Errorf("%q", errs.String())
	}
}

// Progress is silent at first and then shows a line at most every interval.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &Progress{w: &out, what: "checked", now: func() time.Time { return now }}
	p.shown = now.Add(progressDelay - progressInterval)
	for range 4 {
		p.Step(4)
		now = now.Add(progressDelay / 2)
	}
	p.Done()
	if got, want := out.String(), "\rchecked 3 of 4\x1b[K\rchecked 4 of 4\x1b[K\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f := New(sampleProgram(""), nil, io.Discard, &out, nil)
	if silent := f.StartProgress("checked"); silent.w != nil {
		t.Error("progress where nobody watches")
	}
	if f.StdoutIsTerminal() || f.HasColor() {
		t.Error("a buffer is taken for a terminal")
	}
}

func TestGetenv(t *testing.T) {
	f := New(sampleProgram(""), nil, nil, nil, []string{"A=1", "B=2", "A=3", "AB=4"})
	if f.Getenv("A") != "3" || f.Getenv("C") != "" {
		t.Errorf("%q, %q", f.Getenv("A"), f.Getenv("C"))
	}
}

// A step of which nothing can be counted shows for how long it goes on.
func TestElapsedSeconds(t *testing.T) {
	var shown bytes.Buffer
	p := &Progress{w: &shown, what: "saving \x1b[2Jx"}
	tick, stop := make(chan time.Time), make(chan struct{})
	go func() {
		tick <- time.Time{}
		tick <- time.Time{}
		close(stop)
	}()
	p.countTicks(tick, stop)
	if got := shown.String(); !strings.Contains(got, "x: 1 s") || !strings.HasSuffix(got, "x: 2 s\x1b[K") ||
		strings.Contains(got, "\x1b[2J") {
		t.Errorf("shown: %q", got)
	}
}

// The command version names every format of ours. The providers' and HAR are not ours.
func TestDocuments(t *testing.T) {
	var want []string
	for _, name := range schemas.Names() {
		if !strings.HasSuffix(string(name), ".event") && !strings.HasSuffix(string(name), ".request") &&
			name != "gemini.chunk" && name != schemas.HAR {
			want = append(want, string(name))
		}
	}
	if got := slices.Sorted(slices.Values(documents)); !slices.Equal(got, want) {
		t.Errorf("documents:\n%q\nschemas:\n%q", got, want)
	}
}
