package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/conform"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

const (
	tablesBegin = "<!-- tables: begin -->\n"
	tablesEnd   = "<!-- tables: end -->\n"
)

// TestTablesOfTheDesign holds that the design's tables of commands and exit
// codes are what the programs say of themselves. With -update it writes them.
func TestTablesOfTheDesign(t *testing.T) {
	text := read(t, design)
	before, rest, found := strings.Cut(text, tablesBegin)
	have, after, closed := strings.Cut(rest, tablesEnd)
	if !found || !closed {
		t.Fatalf("%s has no place for the tables", design)
	}
	want := "\n" + commandTables() + exitTable() + "\n"
	if have == want {
		return
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, design), []byte(before+tablesBegin+want+tablesEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s does not say what the programs say; run: go test ./internal/archtest -run Tables -update\nwant:\n%s",
		design, want)
}

// programs returns the root commands of the three programs.
func programs() []*cobra.Command {
	return []*cobra.Command{conform.Command(), recorder.Command(), rkat.Command()}
}

// commandTables has a table for each program, a row for each command that runs.
func commandTables() string {
	var all strings.Builder
	for _, p := range programs() {
		fmt.Fprintf(&all, "| `%s` | |\n|---|---|\n", p.Name())
		cli.WalkCommands(p, func(c *cobra.Command) {
			if c == p || c.Hidden || c.HasSubCommands() || c.Name() == "help" || c.Parent().Name() == "completion" {
				return
			}
			use := strings.TrimPrefix(c.CommandPath(), p.Name()+" ") + strings.TrimPrefix(c.Use, c.Name())
			fmt.Fprintf(&all, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", `\|`), c.Short)
		})
		all.WriteString("\n")
	}
	return all.String()
}

// exitTable has a row for each exit code, a column for each program.
func exitTable() string {
	meaning := map[int]map[string]string{}
	var codes []int
	names := []string{"conform", "recorder", "rkat"}
	for _, name := range names {
		for _, e := range cli.ExitCodes(name) {
			if meaning[e.Code] == nil {
				meaning[e.Code] = map[string]string{}
				codes = append(codes, e.Code)
			}
			meaning[e.Code][name] = e.Meaning
		}
	}
	slices.Sort(codes)
	var all strings.Builder
	all.WriteString("| exit | conform | recorder | rkat |\n|---|---|---|---|\n")
	for _, code := range codes {
		fmt.Fprintf(&all, "| %d |", code)
		for _, name := range names {
			fmt.Fprintf(&all, " %s |", meaning[code][name])
		}
		all.WriteString("\n")
	}
	return all.String()
}
