package config

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Setting is a row of [Table]: one value that flags, variables and files can set.
type Setting struct {
	// Key is the name in files, such as "agent.max_turns". Its variable is RKAT_
	// and the key in capitals: RKAT_AGENT_MAX_TURNS.
	Key string
	// Flag is the name of a flag without dashes, Shorthand its one letter; ""
	// for none. Commands says which commands have the flag.
	Flag, Shorthand string
	Commands        Commands
	// Help is one sentence for the help text and the documentation. A word in
	// backquotes stands for the value.
	Help string
	// Default is the value when nothing sets it; nil: none.
	Default any
	// Variables set it as well, in this order and before RKAT_ and the key.
	Variables []string
	// Repeated says that the flag may be given several times and its values are a
	// list.
	Repeated bool
	// Switch says that the flag alone means true.
	Switch bool

	read   reader            // nil: readText
	field  func(*Config) any // returns a pointer to the field that takes the value; nil: none does
	secret bool              // its value is never shown
	form   string            // of a secret that is more than a text
	inFile bool              // it can be set in files only
	path   bool              // ~/ at its beginning is the user's home
	risk   string            // what an untrusted project could do with it; "": nothing
}

// Commands is the group of commands that have a setting's flag.
type Commands int

// The groups of commands.
const (
	AllCommands     Commands = iota // those that read sessions, too
	RequestCommands                 // those that make a request for a model
	RunCommands                     // those that send it
	ServeCommands                   // those that send it for others, over HTTP
)

// The reasons why a project that is not trusted may not set something.
const (
	riskKeyAddress    = "it decides where an API key goes"
	riskStartsProgram = "it starts programs or speaks to servers"
	riskHoldsKey      = "a key does not belong into a project"
	riskMovesSessions = "it decides where conversations are kept"
	riskAllowsTools   = "it decides which tools may run"
	riskReadsFile     = "it sends a file of this machine to a provider"
	riskSendsData     = "it decides who gets data about runs"
	riskOpensServer   = "it decides by which names a server is reached"
	riskTrustsItself  = "a project cannot vouch for itself"
)

const trustedProjects = "trusted_projects"

var (
	providers = []string{"anthropic", "openai", "gemini"}
	efforts   = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
)

// Table returns all settings in the order in which they are shown.
func Table() []Setting {
	return slices.Concat(agentSettings(), operationSettings(), artifactSettings(), providerSettings(), toolSettings(), storageSettings(), limitSettings(), boundSettings(), telemetrySettings(), []Setting{
		{
			Key: "server.token", secret: true, risk: riskHoldsKey,
			Help: "`token` that clients of rkat mcp-server --listen must send", field: func(c *Config) any { return &c.ServerToken },
		},
		{
			Key: "server.hosts", Flag: "hosts", Commands: ServeCommands, read: readHosts, risk: riskOpensServer,
			Help: "`names` by which clients reach a server that listens on loopback, such as that of a load balancer on this machine", field: func(c *Config) any { return &c.ServerHosts },
		},
		{
			Key: "server.database", Flag: "database", Commands: ServeCommands, Variables: []string{"RKAT_DATABASE_URL"}, read: readDatabase, secret: true, form: "a URL of the form postgres://USER@HOST:PORT/DATABASE", risk: riskMovesSessions,
			Help: "`URL` of the PostgreSQL database that the replicas of rkat serve share; one with a password belongs into RKAT_DATABASE_URL", field: func(c *Config) any { return &c.Database },
		},
		{Key: trustedProjects, Help: "`folders` of projects whose .rkat/config.toml may set anything; only in the user's own file", read: readList, inFile: true, path: true, risk: riskTrustsItself},
	})
}

func agentSettings() []Setting {
	return []Setting{
		{
			Key: "agent.model", Flag: "model", Shorthand: "m", Commands: RequestCommands, Variables: []string{"RKAT_MODEL"},
			Help: "`model`; see rkat models", field: func(c *Config) any { return &c.Agent.Model },
		}, {
			Key: "agent.system_prompt", Flag: "system", Commands: RequestCommands,
			Help: "system `prompt`; on resume the model is told of a change", field: func(c *Config) any { return &c.Agent.System },
		}, {
			Key: "agent.system_prompt_file", Flag: "system-file", Commands: RequestCommands, path: true, risk: riskReadsFile,
			Help: "`file` with the system prompt", field: func(c *Config) any { return &c.SystemPromptFile },
		}, {
			Key: "agent.effort", Flag: "effort", Commands: RequestCommands, read: oneOf(efforts...),
			Help: "none, minimal, low, medium, high, xhigh or max, as far as the model offers it", field: func(c *Config) any { return &c.Agent.Effort },
		}, {
			Key: "agent.max_tokens_per_turn", Flag: "max-output-tokens", Commands: RequestCommands, read: readCount, Variables: []string{"RKAT_MAX_OUTPUT_TOKENS"},
			Help: "`limit` of each reply in tokens (default: the model's)", field: func(c *Config) any { return &c.Agent.MaxOutputTokens },
		}, {
			Key: "agent.temperature", Flag: "temperature", Commands: RequestCommands, read: between(0, 2),
			Help: "`number` from 0 to 2, for models that take one", field: func(c *Config) any { return &c.Agent.Temperature },
		}, {
			Key: "agent.stop_sequences", Flag: "stop", Commands: RequestCommands, Repeated: true, read: readTexts,
			Help: "`text` that ends a reply where the model writes it; may be repeated, not with OpenAI", field: func(c *Config) any { return &c.Agent.StopSequences },
		}, {
			Key: "agent.max_prompt_bytes", Flag: "max-prompt-bytes", Commands: RequestCommands, read: countBetween(1, agent.DefaultMaxPromptBytes), Default: agent.DefaultMaxPromptBytes,
			Help: "`limit` of the prompt in bytes", field: func(c *Config) any { return &c.Agent.MaxPromptBytes },
		}, {
			Key: "agent.event_buffer", Flag: "event-buffer", Commands: RunCommands, read: countBetween(0, 1<<20),
			Help: "how many `events` a slow reader may be behind before deltas are dropped (default 4096 for json-stream)", field: func(c *Config) any { return &c.Agent.EventBuffer },
		}, {
			Key: "agent.account", Flag: "account", Commands: RequestCommands, read: readAccount,
			Help: "`name` of the account that the keys belong to (default: that of the API's host and the kind of key)", field: func(c *Config) any { return &c.Agent.Account },
		}, {
			Key: "agent.checkpoint_interval", read: readCount, Default: 5,
			Help: "`turns` between two fsyncs when storage.fsync is interval", field: func(c *Config) any { return &c.Storage.FsyncInterval },
		}, {
			Key: "agent.budget_warning_threshold", read: between(0, 1), Default: 0.8,
			Help: "`share` of a budget at which a warning is sent; 0 sends none", field: func(c *Config) any { return &c.Agent.WarnAt },
		}, {
			Key: "agent.max_turns", Flag: "max-turns", Commands: RunCommands, read: readCount, Variables: []string{"RKAT_MAX_TURNS"},
			Help: "model `calls` of this run (default 50)", field: func(c *Config) any { return &c.Agent.MaxTurns },
		}, {
			Key: "agent.on_interrupted", Flag: "on-interrupted", Commands: RequestCommands, read: oneOf("ask-model", "retry-idempotent", "fail"), Default: "ask-model",
			Help: "of tools that ran when a session was killed: ask-model, retry-idempotent or fail", field: func(c *Config) any { return &c.Agent.OnInterrupted },
		}, {
			Key: "agent.requests_per_minute", Flag: "max-requests-per-minute", Commands: RunCommands, read: readCount,
			Help: "how many model `calls` are sent in a minute at most", field: func(c *Config) any { return &c.RequestsPerMinute },
		}, {
			Key: "agent.websocket", Flag: "websocket", Commands: RunCommands, Switch: true, read: readBool, Default: false,
			Help: "send requests over WebSockets, and of each only what is new, where the provider has them (OpenAI)", field: func(c *Config) any { return &c.WebSocket },
		}, {
			Key: "agent.cache_ttl", Flag: "cache-ttl", Commands: RequestCommands, read: oneOf("5m", "1h"),
			Help: "keep the prompt in the provider's cache for 5m or 1h", field: func(c *Config) any { return &c.Agent.CacheTTL },
		},
	}
}

// providerSettings hold keys and addresses. No field takes them; see Loaded.Key
// and Loaded.BaseURL.
func providerSettings() []Setting {
	variables := map[string][]string{
		"anthropic": {"ANTHROPIC_API_KEY"}, "openai": {"OPENAI_API_KEY"}, "gemini": {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	}
	addresses := map[string]string{"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
	list := []Setting{
		{
			Key: "provider.type", Flag: "provider", Commands: RequestCommands, read: oneOf(providers...), Variables: []string{"RKAT_PROVIDER"}, risk: riskKeyAddress,
			Help: "anthropic, openai or gemini (default: that of the model)", field: func(c *Config) any { return &c.Provider },
		},
		{Key: "provider.api_key", Help: "`key` of the provider of that type", secret: true, risk: riskHoldsKey},
		{Key: "provider.base_url", Help: "`address` of the provider of that type", risk: riskKeyAddress},
	}
	for _, p := range providers {
		list = append(list,
			Setting{Key: "providers." + p + ".api_key", Help: "`key` of " + p, Variables: variables[p], secret: true, risk: riskHoldsKey},
			Setting{Key: "providers." + p + ".base_url", Help: "`address` of " + p + " instead of its own", Variables: []string{addresses[p]}, risk: riskKeyAddress})
	}
	return list
}

func toolSettings() []Setting {
	return []Setting{
		{
			Key: "tools.mcp_servers", read: readServers, inFile: true, risk: riskStartsProgram,
			Help: "`tables` of MCP servers", field: func(c *Config) any { return &c.MCPServers },
		}, {
			Key: "tools.default_timeout", read: readDuration, Default: 10 * time.Minute,
			Help: "`time` that a call of a tool may take", field: func(c *Config) any { return &c.ToolPolicy.Timeout },
		}, {
			Key: "tools.tool_timeouts", read: readDurations, inFile: true,
			Help: "`table` of times by the name of the tool", field: func(c *Config) any { return &c.ToolPolicy.Timeouts },
		}, {
			Key: "tools.max_concurrent", read: readCount, Default: 10,
			Help: "how many `tools` run at once", field: func(c *Config) any { return &c.Agent.MaxParallel },
		}, {
			Key: "tools.max_progress", read: countBetween(1, 1<<20), Default: tool.DefaultMaxProgress,
			Help: "how many `reports` of progress of a call are shown", field: func(c *Config) any { return &c.ToolPolicy.MaxProgress },
		}, {
			Key: "tools.allow", Flag: "tools-allow", Commands: RequestCommands, read: readList, risk: riskAllowsTools,
			Help: "`patterns` of the tools on offer, such as fs__*,git__log (default: all)", field: func(c *Config) any { return &c.ToolPolicy.Allow },
		}, {
			Key: "tools.deny", Flag: "tools-deny", Commands: RequestCommands, read: readList, risk: riskAllowsTools,
			Help: "`patterns` of tools that are not on offer", field: func(c *Config) any { return &c.ToolPolicy.Deny },
		}, {
			Key: "tools.hosted", Flag: "hosted", Commands: RequestCommands, read: listOf(transcript.HostedTools()...), risk: riskAllowsTools,
			Help: "`tools` that the provider runs itself: web_search, code_execution", field: func(c *Config) any { return &c.HostedTools },
		}, {
			Key: "tools.defer_above", Flag: "tools-defer-above", Commands: RequestCommands, read: readCount,
			Help: "defer the tools of MCP servers when there are more than `N`, so that the model searches for them; 0: never", field: func(c *Config) any { return &c.DeferAbove },
		}, {
			Key: "tools.bad_schema", Flag: "tools-bad-schema", Commands: RequestCommands, read: oneOf("leave-out", "refuse"), Default: "leave-out",
			Help: "what happens to a tool that the provider would refuse: leave-out or refuse", field: func(c *Config) any { return &c.BadSchema },
		},
	}
}

func storageSettings() []Setting {
	return []Setting{
		{
			Key: "session.metadata", Flag: "metadata", Commands: RunCommands, Repeated: true, read: readMetadata,
			Help: "`NAME=VALUE` to note about the session, never sent to a provider; may be repeated, an empty value removes the name", field: func(c *Config) any { return &c.Agent.Metadata },
		}, {
			Key: "storage.backend", Flag: "store", read: oneOf("jsonl", "sqlite", "memory"), Default: "jsonl", risk: riskMovesSessions,
			Help: "how sessions are kept: jsonl, sqlite or memory", field: func(c *Config) any { return &c.Storage.Backend },
		}, {
			Key: "storage.directory", Flag: "session-dir", path: true, Variables: []string{"RKAT_SESSION_DIR"}, risk: riskMovesSessions,
			Help: "`folder` of the sessions (default $RKAT_SESSION_DIR, $XDG_DATA_HOME/rkat/sessions, ~/.local/share/rkat/sessions)", field: func(c *Config) any { return &c.Storage.Directory },
		}, {
			Key: "storage.fsync", read: oneOf("always", "interval", "never"), Default: "always",
			Help: "when files of sessions are forced to the disk: always, interval or never", field: func(c *Config) any { return &c.Storage.Fsync },
		},
	}
}

// limitSettings are budgets, repeated calls and compaction. The defaults of
// retries are those of the SDK.
func limitSettings() []Setting {
	retry := provider.DefaultRetry
	return []Setting{
		{
			Key: "budget.max_tokens", Flag: "max-tokens", Commands: RunCommands, read: readTokens, Variables: []string{"RKAT_MAX_TOKENS"},
			Help: "`budget` of the session in tokens of all kinds, over all its runs", field: func(c *Config) any { return &c.Agent.Limits.MaxTokens },
		}, {
			Key: "budget.max_duration", Flag: "max-duration", Commands: RunCommands, read: readDuration, Variables: []string{"RKAT_MAX_DURATION"},
			Help: "budget of the session in `time`, such as 5m", field: func(c *Config) any { return &c.Agent.Limits.MaxDuration },
		}, {
			Key: "budget.max_tool_calls", Flag: "max-tool-calls", Commands: RunCommands, read: readCount, Variables: []string{"RKAT_MAX_TOOL_CALLS"},
			Help: "budget of the session in `calls` of tools", field: func(c *Config) any { return &c.Agent.Limits.MaxToolCalls },
		}, {
			Key: "budget.max_turns", read: readCount,
			Help: "budget of the session in model `calls`", field: func(c *Config) any { return &c.Agent.Limits.MaxTurns },
		}, {
			Key: "retry.max_retries", Flag: "max-retries", Commands: RunCommands, read: readCount, Default: retry.MaxRetries,
			Help: "`number` of times that a failed model call is made again at most (default 3)", field: func(c *Config) any { return &c.Agent.Retry.MaxRetries },
		}, {
			Key: "retry.initial_delay", read: readDuration, Default: retry.InitialDelay,
			Help: "`time` before the first repetition", field: func(c *Config) any { return &c.Agent.Retry.InitialDelay },
		}, {
			Key: "retry.max_delay", read: readDuration, Default: retry.MaxDelay,
			Help: "`time` before a repetition at most", field: func(c *Config) any { return &c.Agent.Retry.MaxDelay },
		}, {
			Key: "retry.multiplier", read: between(1, 100), Default: retry.Multiplier,
			Help: "`factor` by which each delay is longer than the one before", field: func(c *Config) any { return &c.Agent.Retry.Multiplier },
		}, {
			Key: "compaction.threshold", read: between(0, 1), Default: 0.8,
			Help: "`share` of the context window from which a session is compacted; 0 never does", field: func(c *Config) any { return &c.Agent.Compaction.Threshold },
		},
	}
}

// boundSettings limit what providers and tool servers may send.
func boundSettings() []Setting {
	d := provider.DefaultBounds
	return []Setting{
		{
			Key: "limits.reply_bytes", read: readBytes, Default: d.ReplyBytes,
			Help: "`size` of a reply at most, such as 64MB", field: func(c *Config) any { return &c.Bounds.ReplyBytes },
		}, {
			Key: "limits.reply_events", read: countBetween(1, math.MaxInt32), Default: d.ReplyEvents,
			Help: "`events` of a streamed reply at most", field: func(c *Config) any { return &c.Bounds.ReplyEvents },
		}, {
			Key: "limits.event_bytes", read: readBytes, Default: d.EventBytes,
			Help: "`size` of one event of a reply at most", field: func(c *Config) any { return &c.Bounds.EventBytes },
		}, {
			Key: "limits.header_bytes", read: readBytes, Default: provider.DefaultHeaderBytes,
			Help: "`size` of the headers of a reply at most", field: func(c *Config) any { return &c.HeaderBytes },
		}, {
			Key: "limits.idle_timeout", Flag: "idle-timeout", Commands: RunCommands, read: readWait, Default: d.IdleTimeout,
			Help: "`time` without any event after which a streamed reply is given up (default 10m)", field: func(c *Config) any { return &c.Bounds.IdleTimeout },
		}, {
			Key: "limits.ping_timeout", read: readWait, Default: d.PingTimeout,
			Help: "`time` with nothing but pings after which a streamed reply is given up", field: func(c *Config) any { return &c.Bounds.PingTimeout },
		}, {
			Key: "limits.reply_timeout", Flag: "reply-timeout", Commands: RunCommands, read: readWait, Default: d.ReplyTimeout,
			Help: "`time` that a whole reply may take (default 2h)", field: func(c *Config) any { return &c.Bounds.ReplyTimeout },
		}, {
			Key: "limits.mcp_message_bytes", read: readBytes, Default: mcp.DefaultMaxMessage,
			Help: "`size` of one message of an MCP server at most", field: func(c *Config) any { return &c.MCPBytes },
		},
	}
}

// EnvironmentVariables lists the variables that set s. The first that is not
// empty counts.
func (s Setting) EnvironmentVariables() []string {
	return append(slices.Clone(s.Variables), "RKAT_"+strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_")))
}

// secretForm says how a secret is written, for errors that must not repeat it.
func (s Setting) secretForm() string { return "it is not " + cmp.Or(s.form, "a text") }

// findSetting returns the row of a key.
func findSetting(table []Setting, key string) (Setting, bool) {
	if i := slices.IndexFunc(table, func(s Setting) bool { return s.Key == key }); i >= 0 {
		return table[i], true
	}
	return Setting{}, false
}

// isSection reports whether path is the beginning of keys.
func isSection(table []Setting, path string) bool {
	return slices.ContainsFunc(table, func(s Setting) bool { return strings.HasPrefix(s.Key, path+".") })
}

// nearestKeys returns the keys that an unknown one was perhaps meant to be: one
// with the same last word, or those of the same section.
func nearestKeys(table []Setting, key string) string {
	last := key[strings.LastIndex(key, ".")+1:]
	for _, s := range table {
		if s.Key[strings.LastIndex(s.Key, ".")+1:] == last {
			return s.Key
		}
	}
	section, _, _ := strings.Cut(key, ".")
	var near []string
	for _, s := range table {
		if rest, ok := strings.CutPrefix(s.Key, section+"."); ok {
			near = append(near, rest)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return section + "." + strings.Join(near, ", ")
}
