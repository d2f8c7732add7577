package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// visitCommands visits the commands of all programs that help texts list.
func visitCommands(t *testing.T, visit func(*cobra.Command)) {
	t.Helper()
	seen := 0
	for _, root := range commandTrees() {
		cli.WalkCommands(root, func(cmd *cobra.Command) {
			if !cmd.Hidden {
				seen++
				visit(cmd)
			}
		})
	}
	if seen < 35 {
		t.Errorf("%d commands; the test would prove little", seen)
	}
}

// Every help text says in one line what the command does and shows how it is called.
func TestHelp(t *testing.T) {
	visitCommands(t, func(cmd *cobra.Command) {
		if cmd.Short == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: no description, or no example of a call: %q", cmd.CommandPath(), cmd.Example)
		}
	})
}

// mayDiffer lists the flags that take another kind of value in another command of
// the same program.
var mayDiffer = map[string]string{
	"seed":   "a number for faults, a text for the simulator",
	"set":    "requirements for a run of conform, what a recording does not say for its check",
	"host":   "pairs of hosts for a check of recordings, the one host of a body for lint",
	"output": "a format for runs of rkat, a file for its exports",
}

// Flags named alike have the same short form in all programs and take the same kind
// of value in all commands of one; those of the frame have one text.
func TestFlagsMeanTheSame(t *testing.T) {
	type meaning struct{ kind, short, usage, command string }
	known := map[string]meaning{}
	visitCommands(t, func(cmd *cobra.Command) {
		check := func(flag *pflag.Flag) {
			m := meaning{strings.TrimSuffix(flag.Value.Type(), "func"), flag.Shorthand, "", cmd.CommandPath()}
			switch flag.Name {
			case "quiet", "verbose", "json":
				m.usage, _, _ = strings.Cut(flag.Usage, ",")
			}
			if old, seen := known[flag.Name]; !seen {
				known[flag.Name] = m
			} else if old.short != m.short || old.usage != m.usage {
				t.Errorf("--%s: %+v and %+v", flag.Name, old, m)
			}
			own := cmd.Root().Name() + " " + flag.Name
			if old, seen := known[own]; !seen {
				known[own] = m
			} else if old.kind != m.kind && mayDiffer[flag.Name] == "" {
				t.Errorf("--%s: %+v and %+v", flag.Name, old, m)
			}
		}
		cmd.NonInheritedFlags().VisitAll(check)
	})
}

// There is a page for each command, with the program's exit codes in the page of
// the program.
func TestWritePages(t *testing.T) {
	dir := t.TempDir()
	if err := writePages(dir); err != nil {
		t.Fatal(err)
	}
	visitCommands(t, func(cmd *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		}
		if !cmd.HasParent() {
			for _, c := range cli.ExitCodes(cmd.Name()) {
				if word := strings.Fields(c.Meaning)[0]; !strings.Contains(string(page), word) {
					t.Errorf("%s.1 lacks exit code %d", cmd.Name(), c.Code)
				}
			}
		}
	})
}
