package subject

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/profiles"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func TestCommandName(t *testing.T) {
	for command, want := range map[string]string{
		"node my-agent.mjs {prompt}":                           "my-agent",
		"node --import tsx ./src/my_agent.ts {prompt}":         "my_agent",
		"python3.12 -u agents/loop.py {prompt}":                "loop",
		"python3 -m my_agent.cli {prompt}":                     "my_agent.cli",
		"/opt/bin/claude -p {prompt}":                          "claude",
		"npx -y @anthropic-ai/claude-code@2.1.330 -p {prompt}": "claude-code",
		"npx --package=x my-agent {prompt}":                    "my-agent",
		"uv run --with httpx agent.py {prompt}":                "agent",
		"env A=b timeout 30 ./agent.sh {prompt}":               "agent",
		"sh -c codex\\ exec {prompt}":                          "sh",
		"./.hidden {prompt}":                                   "hidden",
		"my agent!":                                            "my",
		"node {prompt}":                                        "node",
		"go run ./cmd/agent {prompt}":                          "agent",
		"deno run -A agent.ts {prompt}":                        "agent",
		"lua5.4 agents/loop.lua {prompt}":                      "loop",
		"elixir loop.exs {prompt}":                             "loop",
		"php8.2 loop.php {prompt}":                             "loop",
		"Rscript loop.R {prompt}":                              "loop",
		"mono Loop.exe {prompt}":                               "Loop",
		"java -jar loop.jar {prompt}":                          "loop",
	} {
		if got := commandName(strings.Fields(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// TestPathsOfWorkDir holds that the agent finds files of the folder in which it starts by the
// names that they have there.
func TestPathsOfWorkDir(t *testing.T) {
	dir, own := t.TempDir(), t.TempDir()
	t.Chdir(own)
	for _, name := range []string{filepath.Join(dir, "cmd", "agent", "main.go"), filepath.Join(dir, "run.sh"),
		filepath.Join(own, "other.py")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"go run ./cmd/agent {prompt}": "go run ./cmd/agent {prompt}",
		"./run.sh run.sh {prompt}":    "DIR/run.sh run.sh {prompt}",
		"python3 other.py {prompt}":   "python3 OWN/other.py {prompt}",
	} {
		var got []string
		for _, arg := range commandTemplates(strings.Fields(command), dir) {
			got = append(got, strings.NewReplacer(dir, "DIR", own, "OWN").Replace(string(arg)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestPathsBecomeAbsolute holds that files of the caller's folder are found from the
// folder in which the agent starts, and that words stay words.
func TestPathsBecomeAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"agent.mjs", "script", "exec"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("skills", 0o700); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"node agent.mjs {prompt}":                  "node DIR/agent.mjs {prompt}",
		"node script exec {prompt}":                "node DIR/script exec {prompt}",
		"my-agent exec {prompt}":                   "my-agent exec {prompt}",
		"./agent.mjs --settings=agent.mjs .":       "DIR/agent.mjs --settings=DIR/agent.mjs .",
		"my-agent --skills ./skills skills none.x": "my-agent --skills DIR/skills skills none.x",
	} {
		var got []string
		for _, arg := range commandTemplates(strings.Fields(command), "") {
			got = append(got, string(arg))
		}
		if text := strings.ReplaceAll(strings.Join(got, " "), dir, "DIR"); text != want {
			t.Errorf("%s: %s, want %s", command, text, want)
		}
	}
}

func TestAdHoc(t *testing.T) {
	p, err := AdHoc(CommandLine{
		Run: []string{"my-agent", "-p", "{prompt}"}, Resume: `my-agent --resume {session} -p '{prompt}'`,
		MCP: "--mcp {mcp_config}",
		Env: []string{"A=b=c", "MY_URL={base_url}/v1", "MY_CA={ca_file}"}, Providers: []string{"gemini"},
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := NewCommand(p, "1.0")
	about := agent.About()
	if about.Name != "my-agent" || about.Level() != "L2" || !slices.Equal(about.Providers, []string{"gemini"}) {
		t.Errorf("%+v", about)
	}
	room := harness.Room{Ingress: profiles.IngressBaseURL, BaseURL: map[string]string{"gemini": "http://x"},
		Temp: "/tmp/t", Tools: harness.ToolServer{Command: []string{"conform", "tools"}}}
	room.Case.Target.Provider = "gemini"
	pl := newPlan(p, room)
	if env, err := pl.fillEnvironment(); err != nil || !slices.Equal(env, []string{"A=b=c", "MY_URL=http://x/v1"}) {
		t.Error(env, err)
	}
	argv, err := pl.fillArguments(p.Resume, `say "hi"`, "id-1")
	if want := []string{"my-agent", "--resume", "id-1", "-p", `say "hi"`, "--mcp",
		filepath.Join("/tmp/t", "conform-mcp.json")}; err != nil || !slices.Equal(argv, want) {
		t.Error(argv, err)
	}
	if id := findSession(*p.Session, evidence.Process{Stderr: []byte("OpenAI Codex\nsession id: 0199-ab.c\n")}, ""); id != "0199-ab.c" {
		t.Error(id)
	}
}

// TestAdHocFaults holds that each mistake of a command line is named with what to
// write, and that a value that may be a secret is not repeated.
func TestAdHocFaults(t *testing.T) {
	run := []string{"a", "{prompt}"}
	for _, c := range []struct {
		line CommandLine
		want string
	}{
		{CommandLine{}, "names no program"},
		{CommandLine{Run: []string{"a"}}, "write {prompt} where its prompt goes, or use --stdin"},
		{CommandLine{Run: run, Stdin: true}, "leave out --stdin"},
		{CommandLine{Run: []string{"a", "{promt}", "{prompt}"}},
			"argument {promt}: placeholder {promt} unknown, write {{promt}} for the text itself; did you mean {prompt}?"},
		{CommandLine{Run: []string{"a", "{mcp_url}", "{prompt}"}}, "{mcp_url} has no value here"},
		{CommandLine{Run: run, Resume: "a 'b"}, "a quotation mark is not closed"},
		{CommandLine{Run: run, Resume: " "}, `--resume-cmd " ": names no command`},
		{CommandLine{Run: run, Resume: "a --continue"}, "write {prompt} where the next prompt goes"},
		{CommandLine{Run: run, Resume: "a {session} {prompt}", SessionPattern: "("},
			`--session-pattern "(": missing closing )`},
		{CommandLine{Run: run, MCP: "--mcp x"}, "does not say where the tool server is"},
		{CommandLine{Run: run, MCP: "--mcp {mcp_confg} {mcp_url}"}, "did you mean {mcp_config}?"},
		{CommandLine{Run: run, Env: []string{"hunter2"}}, "is not NAME=VALUE"},
		{CommandLine{Run: run, Env: []string{"1A=hunter2"}}, "an entry is not NAME=VALUE"},
		{CommandLine{Run: run, Env: []string{"A={hom}"}}, "--env A: placeholder {hom} unknown"},
		{CommandLine{Run: run, Providers: []string{"antropic"}},
			`unknown value "antropic"; use anthropic, openai, gemini`},
	} {
		if _, err := AdHoc(c.line); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %s", c.line, err, c.want)
		}
	}
}

func TestSplitCommandNamesNone(t *testing.T) {
	for _, text := range []string{"", "  ", `""`, "'"} {
		if argv, err := SplitCommand("--subject", text); err == nil || !strings.Contains(err.Error(), "--subject") {
			t.Errorf("%q: %q, %v", text, argv, err)
		}
	}
}
