package conform

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/schemas"
)

// exits runs conform and compares its exit code: exits 2 check x.yaml.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if ee := (*exec.ExitError)(nil); errors.As(ts.Exec("conform", args[1:]...), &ee) {
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("conform %s exits %d, not %d\n%s%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stdout"),
			ts.ReadFile("stderr"))
	}
}

// valid holds a file against one of our schemas: valid conform.check.v2 out.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	err := schemas.Validate(schemas.Name(args[0]), []byte(ts.ReadFile(args[1])))
	if (err != nil) != neg {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// printable holds that a file is text that controls no terminal: printable report.xml.
func printable(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if (text != terminal.Text(text)) != neg {
		ts.Fatalf("%s: holds what is not printed", args[0])
	}
}

// gen writes a file of exactly the given bytes, in Go syntax: gen x.yaml "\x00".
func gen(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
