package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/meerkat-go/conformance/specs"
)

// agent is a program that holds the conversation.
type agent struct {
	name, vendor string
	note         string
	program      string
	call         specs.Block // how the script calls its tool
	// env is added for a provider at url; files are written under dir first.
	env   func(a *agent, url string) []string
	files func(a *agent, url string) map[string]string
	args  func(a *agent) []string

	dir      string
	version  string
	requests int64 // of the last run
}

// command runs the program with args. The environment holds nothing of ours, and
// an address that is not loopback is answered by a closed port; the network is
// out of reach all the same.
func (a *agent) command(ctx context.Context, url string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.program, args...)
	cmd.Dir = a.project()
	cmd.Env = append([]string{
		"HOME=" + a.home(), "PATH=" + filepath.Dir(a.program) + ":" + os.Getenv("PATH"), "TERM=dumb", "TMPDIR=" + a.dir,
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}, a.env(a, url)...)
	return cmd
}

const key = "made-up"

// echo is the tool as most agents offer it: under the name of its server.
var echo = specs.Block{Role: "echo"}

func agents(o options) []*agent {
	all := []*agent{rkat(o, "anthropic"), rkat(o, "openai"), rkat(o, "gemini")}
	for _, a := range []*agent{claudeCode(), pi(), opencode(), codex(), geminiCLI()} {
		a.program = filepath.Join(o.tools, "node_modules", ".bin", a.program)
		if _, err := os.Stat(a.program); o.tools == "" || err != nil {
			fmt.Fprintf(os.Stderr, "peers: %s: not installed, left out\n", a.name)
			continue
		}
		all = append(all, a)
	}
	return all
}

// text is v as JSON.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(out)
}

type object = map[string]any

// self is this program as a tool server.
func selfServer() (string, []string) {
	exe, err := os.Executable()
	if err != nil {
		panic(err) // it runs
	}
	return exe, []string{"-serve", "tools"}
}

// mcpServers is the form that most agents keep their servers in.
func mcpServers(name string, more object) object {
	exe, args := selfServer()
	server := object{"command": exe, "args": args}
	for k, v := range more {
		server[k] = v
	}
	return object{name: server}
}

func rkat(o options, provider string) *agent {
	return &agent{
		name: "rkat-" + provider, vendor: provider, program: o.rkat, call: echo, note: "strict",
		env: func(_ *agent, url string) []string {
			return []string{
				"ANTHROPIC_API_KEY=" + key, "OPENAI_API_KEY=" + key, "GEMINI_API_KEY=" + key,
				"ANTHROPIC_BASE_URL=" + url + "/anthropic", "OPENAI_BASE_URL=" + url + "/openai/v1",
				"GOOGLE_GEMINI_BASE_URL=" + url + "/gemini",
			}
		},
		files: func(*agent, string) map[string]string {
			return map[string]string{"mcp.json": text(object{"mcpServers": mcpServers("bench", nil)})}
		},
		args: func(a *agent) []string {
			return []string{"run", "--model", modelOf(provider), "--mcp", filepath.Join(a.dir, "mcp.json"), question}
		},
	}
}

func claudeCode() *agent {
	return &agent{
		name: "claude-code", vendor: "anthropic", program: "claude", call: echo, note: "strict",
		env: func(a *agent, url string) []string {
			return []string{
				"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + url + "/anthropic",
				"CLAUDE_CONFIG_DIR=" + filepath.Join(a.dir, "config"),
				"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}
		},
		files: func(*agent, string) map[string]string {
			return map[string]string{"mcp.json": text(object{"mcpServers": mcpServers("bench", nil)})}
		},
		args: func(a *agent) []string {
			return []string{"--print", question, "--model", modelOf("anthropic"), "--mcp-config",
				filepath.Join(a.dir, "mcp.json"),
				"--strict-mcp-config", "--allowedTools", "mcp__bench__conform_echo"}
		},
	}
}

// piTool is the tool as an extension: pi knows no MCP.
const piTool = `export default function (pi: any) {
  pi.registerTool({
    name: "conform_echo", label: "Echo", description: "Returns the text.",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    async execute(_id: string, params: { text: string }) {
      return { content: [{ type: "text", text: params.text }], details: {} };
    },
  });
}
`

func pi() *agent {
	return &agent{
		name: "pi", vendor: "anthropic", program: "pi", call: echo,
		note: "strict; the tool in its own process, it has no MCP",
		env: func(a *agent, _ string) []string {
			return []string{"ANTHROPIC_API_KEY=" + key, "PI_OFFLINE=1",
				"PI_CODING_AGENT_DIR=" + filepath.Join(a.dir, "pi")}
		},
		files: func(_ *agent, url string) map[string]string {
			return map[string]string{
				"echo.ts":        piTool,
				"pi/models.json": text(object{"providers": object{"anthropic": object{"baseUrl": url + "/anthropic"}}}),
			}
		},
		args: func(a *agent) []string {
			return []string{"--print", "--provider", "anthropic", "--model", modelOf("anthropic"),
				"--thinking", "medium",
				"--no-builtin-tools", "--extension", filepath.Join(a.dir, "echo.ts"), question}
		},
	}
}

func opencode() *agent {
	return &agent{
		name: "opencode", vendor: "anthropic", program: "opencode", call: echo, note: "strict",
		env: func(*agent, string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
		files: func(_ *agent, url string) map[string]string {
			exe, args := selfServer()
			model := "anthropic/" + modelOf("anthropic")
			return map[string]string{"project/opencode.json": text(object{
				"autoupdate": false, "share": "disabled", "model": model, "small_model": model,
				"provider": object{"anthropic": object{"options": object{"baseURL": url + "/anthropic/v1",
					"apiKey": key}}},
				"mcp": object{"bench": object{"type": "local", "command": append([]string{exe}, args...),
					"enabled": true}},
			})}
		},
		args: func(*agent) []string { return []string{"run", question} },
	}
}

// codex keeps a server's tools in a namespace, which scripts do not reach: it
// lists the server's resources instead, over the same connection.
func codex() *agent {
	return &agent{
		name: "codex", vendor: "openai", program: "codex", note: "calls its own tool for the server's resources",
		call: specs.Block{Role: "any", Args: []byte(`{"server":"bench"}`)},
		env: func(a *agent, _ string) []string {
			return []string{"OPENAI_API_KEY=" + key, "CODEX_HOME=" + filepath.Join(a.dir, "codex")}
		},
		files: func(_ *agent, url string) map[string]string {
			exe, args := selfServer()
			return map[string]string{"codex/config.toml": fmt.Sprintf(`model = %q
model_provider = "bench"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.bench]
name = "bench"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.bench]
command = %q
args = %s
`, modelOf("openai"), url+"/openai/v1", exe, text(args))}
		},
		args: func(*agent) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", question}
		},
	}
}

func geminiCLI() *agent {
	return &agent{
		name: "gemini-cli", vendor: "gemini", program: "gemini", call: echo, note: "strict",
		env: func(_ *agent, url string) []string {
			return []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + url + "/gemini", "NO_BROWSER=1"}
		},
		files: func(*agent, string) map[string]string {
			return map[string]string{"home/.gemini/settings.json": text(object{
				"security":   object{"auth": object{"selectedType": "gemini-api-key"}},
				"privacy":    object{"usageStatisticsEnabled": false},
				"telemetry":  object{"enabled": false},
				"general":    object{"enableAutoUpdate": false},
				"mcpServers": mcpServers("bench", object{"trust": true}),
			})}
		},
		args: func(*agent) []string {
			return []string{"--prompt", question, "--model", modelOf("gemini"), "--yolo", "--skip-trust"}
		},
	}
}
