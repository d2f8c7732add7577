package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// place is a home with a project in it.
type place struct {
	env     map[string]string
	project string
}

func newPlace(t *testing.T, user, project string) place {
	t.Helper()
	home := t.TempDir()
	p := place{env: map[string]string{"HOME": home}, project: filepath.Join(home, "work", "project")}
	write(t, filepath.Join(home, ".config", "meerkat", "config.toml"), user)
	write(t, filepath.Join(p.project, ".rkat", "config.toml"), project)
	if err := os.MkdirAll(filepath.Join(p.project, "deep", "down"), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if content == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p place) load(t *testing.T, change func(*config.Options)) (*config.Loaded, error) {
	t.Helper()
	o := config.Options{Env: p.env, Dir: filepath.Join(p.project, "deep", "down")}
	if change != nil {
		change(&o)
	}
	return config.Load(o)
}

// TestPrecedence takes the layers away one by one, the strongest first.
func TestPrecedence(t *testing.T) {
	p := newPlace(t, "[agent]\nmodel = 'of-user'\n", "[agent]\nmodel = 'of-project'\n")
	p.env["RKAT_MODEL"] = "of-environment"
	flags := func(o *config.Options) {
		o.Flags = map[string]any{"agent.model": "of-flag"}
		o.Names = map[string]string{"agent.model": "--model"}
	}
	check := func(change func(*config.Options), want, where string, layer config.Layer) {
		t.Helper()
		l, err := p.load(t, change)
		if err != nil {
			t.Fatal(err)
		}
		from := l.From("agent.model")
		if l.Agent.Model != want || from.Layer != layer || !strings.HasSuffix(from.Where, where) {
			t.Errorf("model %q from %+v; want %q from %s %s", l.Agent.Model, from, want, layer, where)
		}
	}
	check(flags, "of-flag", "--model", config.Flag)
	check(nil, "of-environment", "RKAT_MODEL", config.Environment)
	delete(p.env, "RKAT_MODEL")
	check(nil, "of-project", "project/.rkat/config.toml", config.Project)
	check(func(o *config.Options) { o.Dir = "" }, "of-user", "meerkat/config.toml", config.User)
	delete(p.env, "HOME")
	check(func(o *config.Options) { o.Dir = "" }, "", "", "")
}

// samples are four values of a key, one for each layer from the user's file on,
// as TOML has them; what is not listed here is a text.
var samples = map[string][4]string{
	"agent.effort":              {"'low'", "'high'", "'max'", "'none'"},
	"agent.on_interrupted":      {"'fail'", "'ask-model'", "'retry-idempotent'", "'fail'"},
	"tools.max_progress":        {"1", "2", "3", "4"},
	"agent.requests_per_minute": {"1", "2", "3", "4"}, "agent.max_prompt_bytes": {"1", "2", "3", "4"},
	"agent.event_buffer":             {"1", "2", "3", "4"},
	"agent.stop_sequences":           {"['u']", "['p']", "'e'", "'f'"},
	"session.metadata":               {"{a = 'u'}", "{a = 'p'}", "'a=e'", "'a=f'"},
	"telemetry.otlp_endpoint":        {"'http://u'", "'http://p'", "'http://e'", "'http://f'"},
	"telemetry.otlp_headers":         {"{a = 'u'}", "{a = 'p'}", "'a=e'", "'a=f'"},
	"telemetry.otlp_timeout":         {"'1s'", "'2s'", "'3s'", "'4s'"},
	"telemetry.content":              {"true", "false", "true", "false"},
	"server.hosts":                   {"['u']", "['p']", "'e'", "'f'"},
	"server.database":                {"'postgres://u'", "'postgres://p'", "'postgres://e'", "'postgres://f'"},
	"telemetry.metrics_listen":       {"'127.0.0.1:1'", "'127.0.0.1:2'", "'127.0.0.1:3'", "'127.0.0.1:4'"},
	"agent.cache_ttl":                {"'5m'", "'1h'", "'5m'", "'1h'"},
	"provider.type":                  {"'openai'", "'gemini'", "'anthropic'", "'openai'"},
	"storage.backend":                {"'sqlite'", "'memory'", "'jsonl'", "'sqlite'"},
	"storage.fsync":                  {"'never'", "'interval'", "'always'", "'never'"},
	"agent.temperature":              {"0.1", "0.2", "0.3", "0.4"},
	"agent.budget_warning_threshold": {"0.1", "0.2", "0.3", "0.4"},
	"compaction.threshold":           {"0.1", "0.2", "0.3", "0.4"},
	"agent.max_tokens_per_turn":      {"1", "2", "3", "4"}, "agent.checkpoint_interval": {"1", "2", "3", "4"},
	"agent.max_turns":      {"1", "2", "3", "4"},
	"tools.max_concurrent": {"1", "2", "3", "4"}, "budget.max_tokens": {"1", "2", "3", "4"},
	"budget.max_tool_calls": {"1", "2", "3", "4"},
	"budget.max_turns":      {"1", "2", "3", "4"}, "retry.max_retries": {"1", "2", "3", "4"},
	"retry.multiplier":      {"1.5", "2", "3", "4"},
	"tools.default_timeout": {"'1s'", "'2s'", "'3s'", "'4s'"}, "budget.max_duration": {"'1s'", "'2s'", "'3s'", "'4s'"},
	"retry.initial_delay": {"'1s'", "'2s'", "'3s'", "'4s'"}, "retry.max_delay": {"'1s'", "'2s'", "'3s'", "'4s'"},
	"limits.reply_bytes": {"1", "2", "3", "4"}, "limits.reply_events": {"1", "2", "3", "4"},
	"limits.event_bytes":  {"1", "2", "3", "4"},
	"limits.header_bytes": {"1", "2", "3", "4"}, "limits.mcp_message_bytes": {"1", "2", "3", "4"},
	"limits.idle_timeout": {"'1s'", "'2s'", "'3s'", "'4s'"}, "limits.ping_timeout": {"'1s'", "'2s'", "'3s'", "'4s'"},
	"limits.reply_timeout": {"'1s'", "'2s'", "'3s'", "'4s'"},
	"agent.sub_agents":     {"true", "false", "true", "false"}, "operations.max_depth": {"1", "2", "3", "4"},
	"operations.max_concurrent_ops":    {"1", "2", "3", "4"},
	"operations.max_concurrent_agents": {"1", "2", "3", "4"}, "operations.max_children_per_agent": {"1", "2", "3", "4"},
	"operations.artifact_threshold": {"1", "2", "3", "4"},
	"artifacts.max_artifact_bytes":  {"1", "2", "3", "4"}, "artifacts.max_artifacts_per_session": {"1", "2", "3", "4"},
	"artifacts.max_total_artifact_bytes": {"1", "2", "3", "4"},
	"artifacts.ttl":                      {"'1s'", "'2s'", "'3s'", "'4s'"},
	"artifacts.sweep_interval":           {"'1s'", "'2s'", "'3s'", "'4s'"},
	"tools.defer_above":                  {"1", "2", "3", "4"}, "agent.websocket": {"true", "false", "true", "false"},
	"tools.hosted":     {"['web_search']", "['code_execution']", "'web_search'", "'code_execution'"},
	"tools.bad_schema": {"'refuse'", "'leave-out'", "'refuse'", "'leave-out'"},
	"tools.allow":      {"['u']", "['p']", "'e'", "'f'"}, "tools.deny": {"['u']", "['p']", "'e'", "'f'"},
}

// TestEveryKeyInEveryLayer: each key can be set in each layer, under each of its
// names, and the stronger layer wins.
func TestEveryKeyInEveryLayer(t *testing.T) {
	variables := map[string][]string{}
	for variable, key := range map[string]string{
		"RKAT_MODEL": "agent.model", "RKAT_MAX_OUTPUT_TOKENS": "agent.max_tokens_per_turn",
		"RKAT_MAX_TURNS": "agent.max_turns",
		"RKAT_PROVIDER":  "provider.type", "RKAT_SESSION_DIR": "storage.directory",
		"RKAT_MAX_TOKENS":   "budget.max_tokens",
		"RKAT_MAX_DURATION": "budget.max_duration", "RKAT_MAX_TOOL_CALLS": "budget.max_tool_calls",
		"ANTHROPIC_API_KEY": "providers.anthropic.api_key", "ANTHROPIC_BASE_URL": "providers.anthropic.base_url",
		"OPENAI_API_KEY": "providers.openai.api_key", "OPENAI_BASE_URL": "providers.openai.base_url",
		"GEMINI_API_KEY": "providers.gemini.api_key", "GOOGLE_API_KEY": "providers.gemini.api_key",
		"GOOGLE_GEMINI_BASE_URL": "providers.gemini.base_url",
	} {
		variables[key] = append(variables[key], variable)
	}
	all, err := config.Load(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Settings() {
		switch s.Key {
		case "tools.mcp_servers", "tools.tool_timeouts", "trusted_projects": // in files only
			continue
		}
		for _, variable := range append(
			variables[s.Key], "RKAT_"+strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_")),
		) {
			everyLayer(t, s.Key, variable)
		}
	}
}

func everyLayer(t *testing.T, key, variable string) {
	t.Helper()
	values, ok := samples[key]
	if !ok {
		values = [4]string{"'u'", "'p'", "'e'", "'f'"}
	}
	plain := func(layer int) string {
		return strings.NewReplacer("'", "", "[", "", "]", "", "{", "", "}", "", " ", "").Replace(values[layer])
	}
	p := newPlace(t, key+" = "+values[0], key+" = "+values[1])
	p.env[variable] = plain(2)
	for layer, want := range []config.Layer{config.User, config.Project, config.Environment, config.Flag} {
		l, err := p.load(t, func(o *config.Options) {
			o.Trust = true
			if layer == 3 {
				o.Flags = map[string]any{key: plain(3)}
			}
			if layer < 2 {
				o.Env = map[string]string{"HOME": p.env["HOME"]}
			}
			if layer < 1 {
				o.Dir = ""
			}
		})
		if err != nil {
			t.Fatalf("%s in %s: %v", key, want, err)
		}
		for _, s := range l.Settings() {
			if s.Key == key && (s.Source.Layer != want || s.Value != plain(layer) &&
				!strings.HasSuffix(key, "api_key") && !strings.HasSuffix(key, "headers") && key != "server.token" &&
				key != "server.database") {
				t.Errorf("%s (%s): %+v; want %s from %s", key, variable, s, plain(layer), want)
			}
		}
	}
}

func TestFileInsteadOfTheOthers(t *testing.T) {
	p := newPlace(t, "[agent]\nmodel = 'of-user'\n", "[agent]\nmax_turns = 7\n")
	path := filepath.Join(t.TempDir(), "own.toml")
	write(t, path, "[agent]\neffort = 'high'\n")
	l, err := p.load(t, func(o *config.Options) { o.File = path })
	if err != nil || l.Agent.Model != "" || l.Agent.MaxTurns != 0 || l.Agent.Effort != "high" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := p.load(t, func(o *config.Options) { o.File = path + "x" }); err == nil {
		t.Error("a file that is asked for must be there")
	}
}

// TestEveryKey reads the example of the specification with all keys, and checks that
// each one arrives (a key whose value gets lost would show as its default).
func TestEveryKey(t *testing.T) {
	p := newPlace(t, everyKey, "")
	p.env["OPENAI"] = "sk-1"
	l, err := p.load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	half := 0.5
	want := config.Config{
		Agent: agent.Config{
			Model: "m", System: "s", Effort: "low", MaxOutputTokens: 1, Temperature: &half, WarnAt: 0.7, MaxTurns: 3,
			OnInterrupted: agent.Fail, CacheTTL: "1h", MaxParallel: 4, Account: "work",
			StopSequences: []string{"END", "a, b"}, MaxPromptBytes: 1000, EventBuffer: 7,
			Metadata: map[string]string{"ticket": "42"},
			Limits:   session.Limits{MaxTokens: 100000, MaxDuration: 10 * time.Minute, MaxToolCalls: 50, MaxTurns: 9},
			Retry: provider.RetryPolicy{
				MaxRetries: 4, InitialDelay: time.Second, MaxDelay: 31 * time.Second, Multiplier: 3,
				Jitter: provider.DefaultRetry.Jitter,
			},
			Compaction: agent.Compaction{Threshold: 0.5},
		},
		SystemPromptFile: "f", RequestsPerMinute: 60, Provider: "anthropic",
		ToolPolicy: tool.Policy{
			MaxProgress: 12, Timeout: 30 * time.Second, Allow: []string{"a"}, Deny: []string{"b"},
			Timeouts: map[string]time.Duration{"Read_File": 5 * time.Second},
		},
		BadSchema: "refuse", WebSocket: true,
		SubAgents: true,
		OperationLimits: ops.ConcurrencyLimits{
			MaxDepth: 2, MaxConcurrentOps: 20, MaxConcurrentAgents: 10, MaxChildrenPerAgent: 4,
		}, ArtifactThreshold: 1000,
		Artifacts: config.Artifacts{
			Limits: artifact.Limits{MaxBytes: 2 << 20, MaxPerSession: 7, MaxTotalBytes: 5 << 30}, TTL: time.Hour,
			SweepInterval: 5 * time.Minute,
		},
		MCPServers: []mcp.Server{
			{
				Name: "filesystem", Command: "npx", Args: []string{"-y", "server", "${HOME}"},
				Env: map[string]string{"GITHUB_TOKEN": "sk-1"}, Dir: "/", Timeout: 9 * time.Second,
				StartTimeout: 8 * time.Second, Optional: true, Protocol: "2025-11-25", Allow: []string{"x"},
				Deny: []string{"y"},
			},
			{Name: "remote", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer sk-1"}},
		},
		Telemetry: config.Telemetry{
			Endpoint: "http://c:4318", Headers: map[string]string{"X": "sk-1"}, Timeout: time.Second, Content: true,
			MetricsListen: "127.0.0.1:9464",
		},
		Bounds: provider.Bounds{
			ReplyBytes: 2 << 20, ReplyEvents: 10, EventBytes: 1000, IdleTimeout: time.Minute,
			PingTimeout: 2 * time.Minute, ReplyTimeout: 3 * time.Minute,
		},
		HeaderBytes: 4 << 10, MCPBytes: 5000, ServerToken: "sk-1", ServerHosts: []string{"rkat.example.com", "b"},
		Database: "postgres://u:sk-1@h/d",
		Storage:  config.Storage{Backend: "sqlite", Directory: "d", Fsync: "interval", FsyncInterval: 2},
	}
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Error(diff)
	}
	if l.Key("anthropic") != "k" || l.Key("openai") != "sk-1" || l.Key("gemini") != "" ||
		l.BaseURL("anthropic") != "http://b" || l.BaseURL("openai") != "http://o" {
		t.Error("keys or addresses went astray")
	}
}

const everyKey = `
trusted_projects = ["/p"]
[operations]
max_depth = 2
max_concurrent_ops = 20
max_concurrent_agents = 10
max_children_per_agent = 4
artifact_threshold = 1000
[artifacts]
max_artifact_bytes = "2MB"
max_artifacts_per_session = 7
max_total_artifact_bytes = "5GB"
ttl = "1h"
sweep_interval = "5m"
[agent]
sub_agents = true
model = "m"
system_prompt = "s"
system_prompt_file = "f"
effort = "low"
account = "work"
max_tokens_per_turn = 1
temperature = 0.5
checkpoint_interval = 2
budget_warning_threshold = 0.7
max_turns = 3
on_interrupted = "fail"
cache_ttl = "1h"
websocket = true
stop_sequences = ["END", "a, b"]
max_prompt_bytes = 1000
event_buffer = 7
requests_per_minute = 60
[provider]
type = "anthropic"
api_key = "k"
base_url = "http://b"
[providers.openai]
api_key = "${OPENAI}"
base_url = "http://o"
[tools]
default_timeout = "30s"
max_progress = 12
max_concurrent = 4
allow = ["a"]
deny = ["b"]
bad_schema = "refuse"
[tools.tool_timeouts]
Read_File = "5s"
[[tools.mcp_servers]]
name = "filesystem"
command = "npx"
args = ["-y", "server", "$${HOME}"]
env = { GITHUB_TOKEN = "${OPENAI}" }
dir = "/"
timeout = "9s"
start_timeout = "8s"
optional = true
protocol = "2025-11-25"
allow = ["x"]
deny = ["y"]
[[tools.mcp_servers]]
name = "remote"
url = "https://h/mcp"
headers = { Authorization = "Bearer ${OPENAI}" }
[session.metadata]
ticket = "42"
[limits]
reply_bytes = "2MB"
reply_events = 10
event_bytes = 1000
header_bytes = "4 KiB"
idle_timeout = "1m"
ping_timeout = "2m"
reply_timeout = "3m"
mcp_message_bytes = 5000

[server]
token = "${OPENAI}"
hosts = ["rkat.example.com", "b"]
database = "postgres://u:${OPENAI}@h/d"

[telemetry]
otlp_endpoint = "http://c:4318"
otlp_headers = { X = "${OPENAI}" }
otlp_timeout = "1s"
content = true
metrics_listen = 9464
[storage]
backend = "sqlite"
directory = "d"
fsync = "interval"
[budget]
max_tokens = 100000
max_duration = "10m"
max_tool_calls = 50
max_turns = 9
[retry]
max_retries = 4
initial_delay = "1s"
max_delay = "31s"
multiplier = 3
[compaction]
threshold = 0.5
`

func TestEnvironment(t *testing.T) {
	l, err := config.Load(config.Options{Env: map[string]string{
		"GEMINI_API_KEY": "g", "GOOGLE_API_KEY": "other", "RKAT_MAX_TOKENS": "5", "RKAT_BUDGET_MAX_DURATION": "3s",
		"RKAT_TOOLS_DENY": "a,b", "RKAT_RETRY_MULTIPLIER": "1.5", "RKAT_SESSION_DIR": "/s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if l.Key("gemini") != "g" || l.Agent.Limits.MaxTokens != 5 || l.Agent.Limits.MaxDuration != 3*time.Second ||
		l.Agent.Retry.Multiplier != 1.5 || l.Storage.Directory != "/s" || len(l.ToolPolicy.Deny) != 2 {
		t.Errorf("%+v", l.Config)
	}
	if l.Agent.Retry.MaxRetries != 3 || l.ToolPolicy.Timeout != 10*time.Minute || l.Storage.Backend != "jsonl" ||
		l.Agent.WarnAt != 0.8 {
		t.Errorf("defaults: %+v", l.Config)
	}
}

// TestRefused names the file and the key, and never shows a secret.
func TestRefused(t *testing.T) {
	for content, want := range map[string]string{
		"[agent]\nmodl = 'x'":                                     "agent.modl: unknown key; did you mean agent.model?",
		"[agnet]\nmodel = 'x'":                                    "agnet: unknown key; did you mean agent?",
		"[budget]\nmodel = 'x'":                                   "budget.model: unknown key; perhaps one of agent.model",
		"model = 'x'":                                             "model: unknown key; perhaps one of agent.model",
		"[agent\n":                                                "line 1",
		"[agent]\nmax_turns = -1":                                 "agent.max_turns: -1 is not a whole number",
		"[agent]\nmax_turns = 1.5":                                "agent.max_turns: 1.5 is not a whole number",
		"[agent]\nmodel = 4":                                      "agent.model: 4 is not a text",
		"[agent]\neffort = 'huge'":                                "agent.effort: huge is none of none, minimal, low",
		"[agent]\neffort = 'hgih'":                                "max; did you mean high?",
		"[storage]\nbackend = 'sqlit'":                            "memory; did you mean sqlite?",
		"[agent]\nbudget_warning_threshold = 2":                   "is not a number from 0 to 1",
		"[agent]\ntemperature = nan":                              "is not a number from 0 to 2",
		"[budget]\nmax_duration = '10'":                           "budget.max_duration: 10 is not a duration",
		"[budget]\nmax_tokens = 'many'":                           "is not a whole number of tokens",
		"[tools]\nallow = [1]":                                    "1 in the list is not a text",
		"[tools.tool_timeouts]\na = 1":                            "tools.tool_timeouts: a: 1 is not a duration",
		"[[tools.mcp_servers]]\ncommand = 'x'":                    "server 1 has no name",
		"[[tools.mcp_servers]]\nname = 'x'":                       `server "x" needs a command or a url`,
		"[[tools.mcp_servers]]\nname = 'x'\ncommand='c'\ntoken=1": "token",
		"[[tools.mcp_servers]]\nname = 'x'\ncommand='c'\n[[tools.mcp_servers]]\nname = 'x'\ncommand='c'": "two servers are named",
		"[provider]\napi_key = 12345":        "provider.api_key: it is not a text",
		"[provider]\napi_key = '${NOT_SET}'": "the variable NOT_SET is not set",
		"[agent]\nmodel = '${}'":             "is not the name of a variable",
	} {
		p := newPlace(t, content, "")
		_, err := p.load(t, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.toml") ||
			strings.Contains(err.Error(), "12345") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", content, err, want)
		}
	}
	_, err := config.Load(config.Options{Env: map[string]string{"RKAT_MAX_TOKENS": "x"}})
	if err == nil || !strings.HasPrefix(err.Error(), "RKAT_MAX_TOKENS: budget.max_tokens: x is not") {
		t.Error(err)
	}
	_, err = config.Load(config.Options{
		Flags: map[string]any{"agent.max_turns": "x"}, Names: map[string]string{"agent.max_turns": "--max-turns"},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "--max-turns: agent.max_turns: x is not") {
		t.Error(err)
	}
}

// TestHome: the shell does not see what stands in a file.
func TestHome(t *testing.T) {
	p := newPlace(
		t,
		"\uFEFF[storage]\ndirectory = '~/sessions'\n[agent]\nsystem_prompt = '~/ is home'\nsystem_prompt_file = '~/p.md'",
		"",
	)
	l, err := p.load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if home := p.env["HOME"]; l.Storage.Directory != home+"/sessions" || l.SystemPromptFile != home+"/p.md" ||
		l.Agent.System != "~/ is home" {
		t.Errorf("%+v", l.Config)
	}
}

// TestErrorsHideSecrets puts a secret wherever somebody may misplace one.
func TestErrorsHideSecrets(t *testing.T) {
	server := "[[tools.mcp_servers]]\nname = 'x'\ncommand = 'c'\n"
	for _, content := range []string{
		"[provider]\napi_key = canary-1", "[provider]\napi_key = 'canary-1", `provider.api_key = "canary-1\q"`,
		"[provider]\napi_key = ['canary-1']", "[provider]\napi_key = 'a' canary-1",
		"[provider]\napi_key = '${canary-1}'",
		"[provider]\napi_key = 1\napi_key = 'canary-1'",
		server + "env = 'canary-1'", server + "env = { T = ['canary-1'] }", server + "env = { T = '${canary-1}' }",
		server + "headers = ['canary-1']", server + "timeout = 'canary-1'", "[tools]\nmcp_servers = 'canary-1'",
		"[tools]\nmcp_servers = ['canary-1']",
	} {
		_, err := newPlace(t, content, "").load(t, nil)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestSettingsHideSecrets(t *testing.T) {
	p := newPlace(t, `
[provider]
type = "openai"
api_key = "sk-canary-1"
base_url = "https://user:sk-canary-2@2-sk-canary@host/v1"
[providers.anthropic]
base_url = "https://host/v1?key=sk-canary-9#sk-canary-9"
[[tools.mcp_servers]]
name = "a"
command = "c"
args = ["--token", "sk-canary-3"]
env = { T = "sk-canary-4" }
[[tools.mcp_servers]]
name = "b"
url = "https://u:sk-canary-5@h/p?key=sk-canary-6"
headers = { A = "sk-canary-7" }
`, "")
	p.env["ANTHROPIC_API_KEY"] = "sk-canary-8"
	l, err := p.load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range l.Settings() {
		shown[s.Key] = s.Value
		if strings.Contains(s.Value, "canary") {
			t.Errorf("%s shows %q", s.Key, s.Value)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb+verb, l, l.Config); strings.Contains(text, "canary") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	for key, want := range map[string]string{
		"provider.api_key": "(set, not shown)", "provider.base_url": "https://host/v1",
		"providers.anthropic.base_url": "https://host/v1", "tools.mcp_servers": "a (c) b (https://h/p)",
		"providers.anthropic.api_key": "(set, not shown)", "providers.gemini.api_key": "", "retry.max_delay": "1m0s",
	} {
		if shown[key] != want {
			t.Errorf("%s shows %q, want %q", key, shown[key], want)
		}
	}
}
