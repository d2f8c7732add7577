// Package config reads the settings of rkat. A setting comes from a flag, else
// from an environment variable, else from the project's .rkat/config.toml, else
// from the user's config.toml, else from its default:
//
//	cfg, err := config.Load(config.Options{Env: config.ParseEnvironment(os.Environ()), Dir: "."})
//	…
//	store, err := cfg.OpenStore(nil)
//	…
//	builder, err := cfg.NewAgent(store)
//	…
//	agent, err := builder.WithMaxTurns(10).Build()
//
// The command rkat does the same. Options.Values are the values that a program sets
// itself.
//
// [Table] is the one list of all settings. Their flags, variables, keys of files,
// help and documentation come from its rows, and their values arrive in the types
// that use them: a row says which field of [Config] it sets. To add a setting, add
// a row.
//
// Nothing is read from the process: environment and folders are arguments. A
// project's file may come with somebody else's repository. Settings that could
// give a key away or start a program count in it only if the user trusts the
// project; see [TrustError]. Secrets are in no error and in no output.
package config

import (
	"fmt"
	"time"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// Config is the result of all layers. It holds secrets and prints without its
// values; see [Loaded.Settings].
type Config struct {
	// Agent has the fields that settings can set; Client, Store and everything
	// else that is not data are left to the caller.
	Agent agent.Config
	// SystemPromptFile names a file whose content is the system prompt, instead of
	// Agent.System.
	SystemPromptFile string
	// RequestsPerMinute limits the model calls of this process; 0 does not.
	RequestsPerMinute int
	// Provider is the one to use when no model decides it; "": the first that has
	// a key.
	Provider   string
	ToolPolicy tool.Policy
	// HostedTools are the tools that the provider runs itself, see tool.Hosted.
	HostedTools []string
	// BadSchema says what happens to a tool that the provider would refuse:
	// "leave-out" or "refuse".
	BadSchema  string
	MCPServers []mcp.Server
	// Bounds limit each reply of a provider, HeaderBytes its headers and MCPBytes
	// one message of an MCP server; in bytes.
	Bounds      provider.Bounds
	HeaderBytes int
	MCPBytes    int
	// WebSocket sends requests over WebSockets, where the provider has them.
	WebSocket bool
	// DeferAbove is from how many tools of MCP servers on they are deferred, see
	// mcp.Options; 0: never.
	DeferAbove int
	// SubAgents offers the model the tools for sub-agents, within OperationLimits. What
	// they answer is kept apart when it has more bytes than ArtifactThreshold.
	SubAgents         bool
	OperationLimits   ops.ConcurrencyLimits
	ArtifactThreshold int
	Artifacts         Artifacts
	Storage           Storage
	Telemetry         Telemetry
	// ServerToken is what clients of a server that listens must send.
	ServerToken string
	// ServerHosts are names of a server that listens on loopback, beside localhost.
	ServerHosts []string
	// Database is the URL of the database that the replicas of a server share; "":
	// the server is alone. It may hold a password.
	Database string
}

// Storage says where sessions are kept, and how safely.
type Storage struct {
	Backend   string // "jsonl", "sqlite" or "memory"
	Directory string // "": the caller's default
	// Fsync is "always", "interval" or "never". With "interval", at most
	// FsyncInterval turns pass between two fsyncs.
	Fsync         string
	FsyncInterval int
}

// Artifacts say what is kept of large results, and for how long.
type Artifacts struct {
	Limits artifact.Limits
	// TTL is artifact.Permanent where the setting is 0.
	TTL           time.Duration
	SweepInterval time.Duration
}

// Telemetry says where measurements of runs go. The zero value sends and serves
// nothing.
type Telemetry struct {
	// Endpoint is the address of a collector that takes OTLP over HTTP, such as
	// http://localhost:4318; "" exports nothing.
	Endpoint string
	Headers  map[string]string // of each request to the collector
	Timeout  time.Duration     // how long the end of a run waits for the collector
	// Content adds prompts, answers, arguments and results to the spans.
	Content bool
	// MetricsListen is the HOST:PORT that serves metrics for Prometheus; "" serves
	// none.
	MetricsListen string
}

// Format prints nothing of c, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "(configuration, not shown)") }

// convertSpecialValues turns values that mean something else in a file than in the type that
// uses them.
func (c *Config) convertSpecialValues() {
	if c.Agent.WarnAt == 0 {
		c.Agent.WarnAt = -1 // 0 never warns; in agent.Config it is the default
	}
	if c.Artifacts.TTL == 0 {
		c.Artifacts.TTL = artifact.Permanent
	}
}
