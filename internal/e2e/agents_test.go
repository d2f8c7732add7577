package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/simulator"
)

// The variables of TestAgents.
const (
	// agentsFolder names the folder in which npm has installed the agents.
	agentsFolder = "MEERKAT_AGENTS"
	// recordingsFolder names a folder that keeps the recordings; without it
	// nothing is kept.
	recordingsFolder = "MEERKAT_AGENT_RECORDINGS"
)

// agentTimeout bounds one run of an agent.
const agentTimeout = 90 * time.Second

// realAgent is an agent as its users start it, at its default model.
type realAgent struct {
	name, program string
	// env is added to the environment, files are written below the agent's home.
	env   []string
	files map[string]string
	// byURL leads the agent to $X_BASE_URL where its own variable does not; it is
	// part of the shell command.
	byURL string
	// ask and resume are shell commands that say $PROMPT, the second one in
	// another process to the session of the first.
	ask, resume string
	// tool is what the prompt calls the tool.
	tool string
	// resumeDefect is a defect of the agent: what the provider says to every
	// resumed session. "" when there is none.
	resumeDefect string
}

// recorderProcess is the recorder's main.
func recorderProcess() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := recorder.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

// toolCommand is an MCP server with the tool conform_echo, for an agent's settings.
func toolCommand(t *testing.T, d *desk) (command string, env map[string]string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe, map[string]string{served: "tools", deskAddress: d.address}
}

func asJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(out)
}

type object = map[string]any

func realAgents(t *testing.T, d *desk) []realAgent {
	t.Helper()
	command, env := toolCommand(t, d)
	server := object{"command": command, "args": []string{}, "env": env}
	trusted := object{"command": command, "args": []string{}, "env": env, "trust": true}
	return []realAgent{
		{
			name: "claude-code", program: "claude", tool: "mcp__scene__conform_echo",
			env:    []string{"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			files:  map[string]string{"mcp.json": asJSON(object{"mcpServers": object{"scene": server}})},
			ask:    `claude --print --mcp-config "$HOME/mcp.json" --strict-mcp-config --allowedTools=mcp__scene__conform_echo "$PROMPT"`,
			resume: `claude --continue --print --mcp-config "$HOME/mcp.json" --strict-mcp-config --allowedTools=mcp__scene__conform_echo "$PROMPT"`,
		},
		{
			name: "codex", program: "codex", tool: "conform_echo",
			files: map[string]string{
				".codex/auth.json": asJSON(object{"OPENAI_API_KEY": "made-up"}),
				".codex/config.toml": fmt.Sprintf("check_for_update_on_startup = false\n[analytics]\nenabled = false\n[mcp_servers.scene]\ncommand = %q\nargs = []\nenv = { %s = %q, %s = %q }\n",
					command, served, "tools", deskAddress, d.address),
			},
			byURL:  `-c openai_base_url="\"$OPENAI_BASE_URL\""`,
			ask:    `codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox $BY_URL "$PROMPT"`,
			resume: `codex exec resume --last --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox $BY_URL "$PROMPT"`,
		},
		{
			name: "gemini-cli", program: "gemini", tool: "conform_echo",
			env: []string{"NO_BROWSER=1"},
			files: map[string]string{".gemini/settings.json": asJSON(object{
				"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "privacy": object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false}, "general": object{"enableAutoUpdate": false}, "mcpServers": object{"scene": trusted},
			})},
			ask:    `gemini --yolo --skip-trust --prompt "$PROMPT"`,
			resume: `gemini --yolo --skip-trust --resume latest --prompt "$PROMPT"`,
			// 0.61 sends every function response twice.
			resumeDefect: "Please ensure that the number of function response parts is equal to the number of function call parts",
		},
		{
			name: "opencode", program: "opencode", tool: "conform_echo",
			env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
			files: map[string]string{".config/opencode/opencode.json": asJSON(object{
				"autoupdate": false, "share": "disabled",
				"mcp": object{"scene": object{"type": "local", "command": []string{command}, "environment": env, "enabled": true}},
			})},
			byURL:  `OPENCODE_CONFIG_CONTENT="{\"provider\":{\"anthropic\":{\"options\":{\"baseURL\":\"$ANTHROPIC_BASE_URL/v1\"}}}}"`,
			ask:    `env $BY_URL opencode run "$PROMPT"`,
			resume: `env $BY_URL opencode run --continue "$PROMPT"`,
		},
		{
			name: "pi", program: "pi", tool: "conform_echo",
			env:    []string{"PI_OFFLINE=1"},
			files:  map[string]string{"echo.ts": piTool},
			byURL:  `mkdir -p "$HOME/.pi/agent"; echo "{\"providers\":{\"anthropic\":{\"baseUrl\":\"$ANTHROPIC_BASE_URL\"}}}" > "$HOME/.pi/agent/models.json";`,
			ask:    `$BY_URL pi --print --provider anthropic --extension "$HOME/echo.ts" "$PROMPT"`,
			resume: `$BY_URL pi --print --provider anthropic --continue --extension "$HOME/echo.ts" "$PROMPT"`,
		},
	}
}

// piTool is the tool as an extension: pi knows no MCP.
const piTool = `import { connect } from "node:net";
export default function (pi: any) {
  pi.registerTool({
    name: "conform_echo", label: "Echo", description: "Returns the text.",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    execute: (_id: string, params: { text: string }) => new Promise((resolve, reject) => {
      const [host, port] = process.env.` + deskAddress + `!.split(":");
      let said = "";
      connect(Number(port), host, function (this: any) { this.write("conform_echo " + params.text + "\n"); })
        .on("data", (d) => { said += d; }).on("error", reject)
        .on("end", () => resolve({ content: [{ type: "text", text: said }], details: {} }));
    }),
  });
}
`

// refusals collects what a provider did not accept.
type refusals struct {
	http.Handler
	mu      sync.Mutex
	asked   int
	refused []string
}

func (h *refusals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.Handler.ServeHTTP(w, r)
		return
	}
	kept := &keptRefusal{ResponseWriter: w}
	h.Handler.ServeHTTP(kept, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if kept.status >= http.StatusBadRequest {
		h.refused = append(h.refused, fmt.Sprintf("%s: %d %s", r.URL.Path, kept.status, kept.body.String()))
	}
}

// keptRefusal keeps the body of a refusal.
type keptRefusal struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *keptRefusal) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *keptRefusal) Write(p []byte) (int, error) {
	if w.status >= http.StatusBadRequest {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *keptRefusal) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestAgents holds that the strictest simulator refuses nothing that the agents
// people use send at their default models, through the intercepting proxy and by
// base URL: a tool loop, and a second prompt in another process.
func TestAgents(t *testing.T) {
	folder := os.Getenv(agentsFolder)
	if folder == "" {
		t.Skip(agentsFolder + " names no folder with agents; make agents installs them")
	}
	d := newDesk(t)
	for _, a := range realAgents(t, d) {
		program := filepath.Join(folder, "node_modules", ".bin", a.program)
		for _, ingress := range []string{"mitm", "base-url"} {
			t.Run(a.name+"-"+ingress, func(t *testing.T) {
				if _, err := os.Stat(program); err != nil {
					t.Skipf("%s is not installed", a.program)
				}
				newAgentRun(t, a, ingress, filepath.Dir(program), d).loopAndResume()
			})
		}
	}
}

// agentRun is one agent at one ingress.
type agentRun struct {
	*testing.T
	realAgent
	ingress, home, project, recordings, bin string
	desk                                    *desk
}

func newAgentRun(t *testing.T, a realAgent, ingress, bin string, d *desk) *agentRun {
	t.Helper()
	// Agents write below their home for a while after they have ended.
	dir, err := os.MkdirTemp("", "agent-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &agentRun{T: t, realAgent: a, ingress: ingress, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), bin: bin, desk: d}
	r.recordings = filepath.Join(dir, "recordings")
	if kept := os.Getenv(recordingsFolder); kept != "" {
		r.recordings = filepath.Join(kept, a.name+"-"+ingress)
	}
	for _, folder := range []string{r.home, r.project, r.recordings} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range a.files {
		path := filepath.Join(r.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *agentRun) loopAndResume() {
	provider := &refusals{Handler: simulator.New(simulator.Config{Seed: r.name})}
	server, err := simulator.Start("", provider)
	if err != nil {
		r.Fatal(err)
	}
	defer server.Close()
	ca := filepath.Join(r.home, "provider.pem")
	if err := os.WriteFile(ca, server.CA, 0o600); err != nil {
		r.Fatal(err)
	}
	word := strings.ReplaceAll(r.Name(), "/", "-")
	r.run(server.URL, ca, "loop", r.ask, fmt.Sprintf("Use the tool %s to echo “%s”.", r.tool, word))
	if ran := r.desk.runs(); !strings.Contains(ran, word) {
		r.Errorf("the tool never ran with %s", word)
	}
	r.failIfRefused(provider.refused)
	asked, refused := provider.asked, len(provider.refused)
	r.run(server.URL, ca, "resume", r.resume, "Say “goodbye”.")
	switch later := provider.refused[refused:]; {
	case provider.asked == asked:
		r.Error("the resumed session asked nothing")
	case r.resumeDefect == "":
		r.failIfRefused(later)
	case len(later) == 0 || !strings.Contains(later[0], r.resumeDefect):
		r.Errorf("refused %q, want the defect that this version has: %s", later, r.resumeDefect)
	}
	r.Logf("%d requests, %d refused", provider.asked, len(provider.refused))
}

func (r *agentRun) failIfRefused(refused []string) {
	r.Helper()
	for _, what := range refused {
		r.Errorf("refused: %s", what)
	}
}

// run records one process of the agent.
func (r *agentRun) run(url, ca, name, command, prompt string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), agentTimeout)
	defer cancel()
	byURL := ""
	if r.ingress == "base-url" {
		byURL = r.byURL
	}
	exe, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	args := []string{"run", "--force", "--cassette", filepath.Join(r.recordings, name+".yaml"), "--ingress", r.ingress, "--upstream-ca", ca}
	for _, provider := range simulator.Providers {
		args = append(args, "--upstream", provider+"="+url)
	}
	cmd := exec.CommandContext(ctx, exe, append(args, "--", "sh", "-c", strings.ReplaceAll(command, "$BY_URL", byURL))...)
	cmd.Dir = r.project
	cmd.Env = append([]string{
		served + "=recorder", deskAddress + "=" + r.desk.address, "PROMPT=" + prompt,
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + filepath.Join(r.home, ".config"), "TMPDIR=" + filepath.Dir(r.home), "TERM=dumb",
		"PATH=" + r.bin + ":" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=made-up", "OPENAI_API_KEY=made-up", "GEMINI_API_KEY=made-up",
	}, r.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		r.Logf("%s: %v\n%s", name, cmp.Or(err, context.Cause(ctx)), strings.Join(slices.Compact(lines[max(0, len(lines)-12):]), "\n"))
	}
	if err != nil && (name != "resume" || r.resumeDefect == "") {
		r.Errorf("%s: %v", name, err)
	}
}
