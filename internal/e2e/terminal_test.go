package e2e_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/conform"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/simulator"
)

// hostileText clears the screen, sets the title, writes the clipboard, turns the
// direction of writing, ends a line and begins one that is not ours, and is not UTF-8.
const hostileText = "x\x1b[2J\x1b]0;t\x07\x1b]52;c;cm0=\x1b\\\u202e\u009b2J\u2028\rY\nFORGED\x00\x7f\xff"

// hostileArgument is hostileText as far as an operating system takes it for an argument.
var hostileArgument = strings.ReplaceAll(hostileText, "\x00", "")

// controls is what must not reach a terminal.
var controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{200e}\x{202a}-\x{202e}\x{2028}]|(?m)^FORGED`)

// hostileFiles are contents of files with foreign text in the places that each format has.
var hostileFiles = map[string]string{
	"bytes":   hostileText,
	"yaml":    "? " + quoted(hostileText) + "\n: " + quoted(hostileText) + "\n",
	"profile": "version: 1\nname: " + quoted(hostileText) + "\ncommand: [" + quoted(hostileText) + "]\n",
	"cassette": "---\nversion: 2\ninteractions:\n- request:\n    url: " +
		quoted("https://api.anthropic.com/"+hostileText) + "\n    method: " + quoted(hostileText) + "\n    body: " +
		quoted(`{"model":"`+hostileText+`"}`) + "\n    headers: {" + quoted(hostileText) + ": [" + quoted(hostileText) +
		"]}\n  response:\n    status: " + quoted(hostileText) + "\n    code: 200\n    body: " + quoted(hostileText) +
		"\n    headers: {}\n",
	"har": `{"log":{"version":"1.2","creator":{"name":` + quoted(hostileText) +
		`,"version":"1"},"entries":[{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"POST","url":"https://api.anthropic.com/v1/messages","httpVersion":"HTTP/1.1","headers":[{"name":"content-type","value":` + quoted(hostileText) + `},{"name":"user-agent","value":` + quoted(hostileText) + `}],"postData":{"mimeType":"application/json","text":` + quoted(`{"model":`+quoted(hostileText)+`,"max_tokens":9,`+quoted(hostileText)+`:1,"messages":[{"role":"user","content":`+quoted(hostileText)+`}]}`) + `}},"response":{"status":400,"statusText":` + quoted(hostileText) + `,"httpVersion":"HTTP/1.1","headers":[{"name":"content-type","value":"application/json"}],"content":{"mimeType":"application/json","text":` + quoted(`{"type":"error","error":{"type":`+quoted(hostileText)+`,"message":`+quoted(hostileText)+`}}`) + `}}}]}}`,
	"report.json": `{"schema_version":1,"tool":` + quoted(hostileText) + `,"verdict":` + quoted(hostileText) +
		`,"results":[{"requirement":` + quoted(hostileText) + `,"status":"fail","case":` + quoted(hostileText) + `}]}`,
	"toml": "[agent]\n" + quoted(hostileText) + " = 1\nmodel = " + quoted(hostileText) + "\n",
	"mcp.json": `{"mcpServers":{` + quoted(hostileText) + `:{"command":` + quoted(hostileText) + `,` +
		quoted(hostileText) + `:1}}}`,
	"txtar": hostileText + "\n-- scenario.yaml --\ntitle: " + quoted(hostileText) + "\n" +
		quoted(hostileText) + ": 1\n",
	"schema.json": `{"type":` + quoted(hostileText) + `,"$ref":` + quoted(hostileText) + `}`,
}

// quoted returns text as a string of JSON, which is one of YAML and TOML, too.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case r == '"' || r == '\\':
			fmt.Fprintf(&b, `\%c`, r)
		case r == 0: // no place for it in some formats
		case r < ' ' || r > '~':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// TestTerminal walks through all commands and all their flags with foreign text as a
// value, as the name of a file, in a file of every format, and in the environment:
// nothing of it reaches the terminal as it is, and no line is forged.
func TestTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	files := writeHostileFiles(t)
	files = append(files, hostileResults(t, files)...)
	chosen := corpus.Sample(t, 5)
	for _, p := range []struct {
		root *cobra.Command
		run  cli.RunFunc
	}{{conform.Command(), conform.Run}, {recorder.Command(), recorder.Run}, {rkat.Command(), rkat.Run}} {
		cli.WalkCommands(p.root, func(c *cobra.Command) {
			if c.HasSubCommands() || c.Hidden || c.Name() == "help" {
				return
			}
			path := strings.Fields(c.CommandPath())[1:]
			t.Run(strings.Join(strings.Fields(c.CommandPath()), " "), func(t *testing.T) {
				for _, args := range append(hostileArguments(c, files), []string{"--last"},
					[]string{"--session-dir", hostileSessions, "--last"}, []string{"--session-dir", hostileSessions}) {
					if chosen() {
						tryHostile(t, p.run, append(append([]string{}, path...), args...), nil)
					}
				}
				for _, kv := range []string{"RKAT_MODEL=", "RKAT_" + hostileArgument + "=", "ANTHROPIC_BASE_URL=",
					"RKAT_SESSION_DIR=", "OPENAI_BASE_URL=http://", "HTTPS_PROXY=", "CONFORM_CONFIG=",
					"RECORDER_CONFIG=", "RECORDER_CASSETTE=", "XDG_CONFIG_HOME=/", "HOME=/",
					"OTEL_EXPORTER_OTLP_ENDPOINT="} {
					tryHostile(t, p.run, append(append([]string{}, path...), "hi"), []string{kv + hostileArgument})
				}
			})
		})
	}
}

func writeHostileFiles(t *testing.T) (names []string) {
	t.Helper()
	for name, content := range hostileFiles {
		name = "file\x1b[2J\u202e\nFORGED." + name
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := os.Mkdir(hostileDirectory, 0o700); err != nil {
		t.Fatal(err)
	}
	return append(names, hostileDirectory)
}

// hostileResults makes what the programs themselves write of hostile files: a cassette,
// a report, a session.
func hostileResults(t *testing.T, files []string) []string {
	t.Helper()
	har := files[slices.IndexFunc(files, func(name string) bool { return strings.HasSuffix(name, ".har") })]
	provider := httptest.NewServer(simulator.New(simulator.Config{Seed: "hostile"}))
	t.Cleanup(provider.Close)
	env := []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=made-up", "ANTHROPIC_BASE_URL=" + provider.URL}
	prompt := strings.ToValidUTF8(hostileText, "")
	cassette, report := "imported\nFORGED.yaml", "report\nFORGED.json"
	for _, c := range []struct {
		run  cli.RunFunc
		want int
		args []string
	}{
		{recorder.Run, 0, []string{"import", har, "--cassette", cassette}},
		{conform.Run, 1, []string{"check", har, "--report", "json=" + report}},
		{rkat.Run, 0, []string{"run", "--session-dir", hostileSessions, "--model", "claude-opus-4-6", "--prompt-file",
			"prompt"}},
	} {
		if err := os.WriteFile("prompt", []byte(prompt), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := c.run(t.Context(), c.args, strings.NewReader(""), &out, &out, env); code != c.want {
			t.Fatalf("%q: %d %s", c.args, code, out.String())
		}
	}
	return []string{cassette, report, hostileSessions}
}

const hostileSessions = "sessions\nFORGED"

const hostileDirectory = "folder\x1b[2J\nFORGED"

// hostileArguments returns command lines of c, one for each place and each text.
func hostileArguments(c *cobra.Command, files []string) (all [][]string) {
	texts := append([]string{hostileArgument}, files...)
	for _, text := range texts {
		all = append(all, []string{text}, []string{text, text}, []string{"--", text}, []string{"--" + text},
			[]string{"--config", text}, []string{"hi", "--config=" + text})
	}
	each := func(f *pflag.Flag) {
		switch f.Name {
		case "help", "raw", "config", "version":
			return
		}
		for _, text := range texts {
			all = append(all, []string{"--" + f.Name + "=" + text, "hi"})
		}
	}
	c.LocalFlags().VisitAll(each)
	c.InheritedFlags().VisitAll(each)
	return all
}

func tryHostile(t *testing.T, run cli.RunFunc, args, env []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var stdout, stderr strings.Builder
	run(ctx, args, strings.NewReader(hostileText), &stdout, &stderr, append([]string{"HOME=" + t.TempDir()}, env...))
	for name, out := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if args[0] == "textconv" {
			out = strings.ReplaceAll(out, "\nFORGED", "\n") // a document of others, line by line
		}
		if at := controls.FindStringIndex(out); at != nil {
			t.Errorf("%q %q: %s has %q", args, env, name, out[max(0, at[0]-200):min(len(out), at[1]+40)])
		}
	}
}
