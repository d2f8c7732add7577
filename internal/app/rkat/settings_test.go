package rkat

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/config/setting"
)

var update = flag.Bool("update", false, "write the table of settings into the guide")

const (
	guide      = "../../../docs/guides/rkat.md"
	tableBegin = "<!-- settings: go test ./internal/app/rkat -run TestGuideHasTheSettings -update -->\n"
	tableEnd   = "<!-- end of settings -->\n"
)

// TestGuideHasTheSettings holds the guide's table against config.Table.
func TestGuideHasTheSettings(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	have, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the settings", guide)
	}
	want := "\n" + config.Table().Markdown("RKAT_") + "\n"
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the table of settings; run this test with -update", guide)
	}
	if err := os.WriteFile(guide, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOneRowIsEnough adds a made-up setting to a copy of the table: it appears as
// a flag, a variable, a key of the file, in the help text and in the
// documentation, without any other change.
func TestOneRowIsEnough(t *testing.T) {
	table := append(config.Table(), setting.Row{
		Key: "agent.mood", Flag: "mood", Commands: config.RequestCommands, Default: "calm",
		Help: "`mood` that nobody has",
	})
	home := t.TempDir()
	file := filepath.Join(home, "config.toml")
	if err := os.WriteFile(file, []byte("[agent]\nmood = 'of-file'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute := func(env []string, args ...string) string {
		var out, errs bytes.Buffer
		a := newApp(Backends{}, strings.NewReader(""), &out, &errs, append(env, "HOME="+home))
		a.settings = table
		if code := a.Run(t.Context(), a.rootCommand(), args); code != 0 {
			t.Fatalf("%v: %d %s", args, code, errs.String())
		}
		return out.String()
	}
	wantLine := func(place, output, want string) {
		t.Helper()
		for line := range strings.Lines(output) {
			if strings.Join(strings.Fields(line), " ") == want {
				return
			}
		}
		t.Errorf("%s: no line %q in\n%s", place, want, output)
	}
	wantLine("default", execute(nil, "doctor"), "agent.mood calm default")
	wantLine("file", execute(nil, "doctor", "--config", file), "agent.mood of-file file "+file)
	wantLine(
		"variable", execute([]string{"RKAT_AGENT_MOOD=of-variable"}, "doctor", "--config", file),
		"agent.mood of-variable environment RKAT_AGENT_MOOD",
	)
	wantLine("help", execute(nil, "run", "--help"), "--mood mood mood that nobody has")
	wantLine(
		"documentation", table.Markdown("RKAT_"),
		"| `agent.mood` | `--mood` | `RKAT_AGENT_MOOD` | `calm` | mood that nobody has |",
	)

	a := newApp(Backends{}, nil, nil, nil, []string{"HOME=" + home})
	a.settings = table
	cmd := a.runCommand()
	if err := cmd.ParseFlags([]string{"--mood", "of-flag"}); err != nil {
		t.Fatal(err)
	}
	cfg, err := a.loadConfig(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if from := cfg.From("agent.mood"); from.Where != "--mood" {
		t.Errorf("flag: %+v", from)
	}
}
