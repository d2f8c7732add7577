package config

import (
	"math"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/config/setting"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// The groups of commands.
const (
	AllCommands     setting.Commands = iota // those that read sessions, too
	RequestCommands                         // those that make a request for a model
	RunCommands                             // those that send it
	ServeCommands                           // those that send it for others, over HTTP
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
func Table() setting.Table { return tableOf(&Config{}) }

// tableOf returns the settings, whose values go to c.
func tableOf(c *Config) setting.Table {
	return slices.Concat(agentSettings(c), operationSettings(c), artifactSettings(c), providerSettings(c),
		toolSettings(c),
		storageSettings(c), limitSettings(c), boundSettings(c), telemetrySettings(c), setting.Table{
			{
				Key: "server.token", Secret: true, Risk: riskHoldsKey,
				Help: "`token` that clients of rkat mcp-server --listen must send", Field: &c.ServerToken,
			},
			{
				Key: "server.hosts", Flag: "hosts", Commands: ServeCommands, Read: readHosts, Risk: riskOpensServer,
				Help: "`names` by which clients reach a server that listens on loopback, such as that of a load balancer on this machine", Field: &c.ServerHosts,
			},
			{
				Key: "server.database", Flag: "database", Commands: ServeCommands,
				Variables: []string{"RKAT_DATABASE_URL"}, Read: readDatabase, Secret: true,
				Form: "a URL of the form postgres://USER@HOST:PORT/DATABASE", Risk: riskMovesSessions,
				Help: "`URL` of the PostgreSQL database that the replicas of rkat serve share; one with a password belongs into RKAT_DATABASE_URL", Field: &c.Database,
			},
			{
				Key:  trustedProjects,
				Help: "`folders` of projects whose .rkat/config.toml may set anything; only in the user's own file",
				Read: readList, FileOnly: true, Path: true, Risk: riskTrustsItself,
			},
		})
}

func agentSettings(c *Config) setting.Table {
	return setting.Table{
		{
			Key: "agent.model", Flag: "model", Shorthand: "m", Commands: RequestCommands,
			Variables: []string{"RKAT_MODEL"},
			Help:      "`model`; see rkat models", Field: &c.Agent.Model,
		}, {
			Key: "agent.system_prompt", Flag: "system", Commands: RequestCommands,
			Help: "system `prompt`; on resume the model is told of a change", Field: &c.Agent.System,
		}, {
			Key: "agent.system_prompt_file", Flag: "system-file", Commands: RequestCommands, Path: true,
			Risk: riskReadsFile,
			Help: "`file` with the system prompt", Field: &c.SystemPromptFile,
		}, {
			Key: "agent.effort", Flag: "effort", Commands: RequestCommands, Choices: efforts,
			Help:  "none, minimal, low, medium, high, xhigh or max, as far as the model offers it",
			Field: &c.Agent.Effort,
		}, {
			Key: "agent.max_tokens_per_turn", Flag: "max-output-tokens", Commands: RequestCommands, Read: readCount,
			Variables: []string{"RKAT_MAX_OUTPUT_TOKENS"},
			Help:      "`limit` of each reply in tokens (default: the model's)", Field: &c.Agent.MaxOutputTokens,
		}, {
			Key: "agent.temperature", Flag: "temperature", Commands: RequestCommands, Read: numberBetween(0, 2),
			Help: "`number` from 0 to 2, for models that take one", Field: &c.Agent.Temperature,
		}, {
			Key: "agent.stop_sequences", Flag: "stop", Commands: RequestCommands, Repeated: true, Read: readTexts,
			Help:  "`text` that ends a reply where the model writes it; may be repeated, not with OpenAI",
			Field: &c.Agent.StopSequences,
		}, {
			Key: "agent.max_prompt_bytes", Flag: "max-prompt-bytes", Commands: RequestCommands,
			Read: countBetween(1, agent.DefaultMaxPromptBytes), Default: agent.DefaultMaxPromptBytes,
			Help: "`limit` of the prompt in bytes", Field: &c.Agent.MaxPromptBytes,
		}, {
			Key: "agent.event_buffer", Flag: "event-buffer", Commands: RunCommands, Read: countBetween(0, 1<<20),
			Help: "how many `events` a slow reader may be behind before deltas are dropped (default 4096 for json-stream)", Field: &c.Agent.EventBuffer,
		}, {
			Key: "agent.account", Flag: "account", Commands: RequestCommands, Read: readAccount,
			Help:  "`name` of the account that the keys belong to (default: that of the API's host and the kind of key)",
			Field: &c.Agent.Account,
		}, {
			Key: "agent.checkpoint_interval", Read: readCount, Default: 5,
			Help: "`turns` between two fsyncs when storage.fsync is interval", Field: &c.Storage.FsyncInterval,
		}, {
			Key: "agent.budget_warning_threshold", Read: numberBetween(0, 1), Default: 0.8,
			Help: "`share` of a budget at which a warning is sent; 0 sends none", Field: &c.Agent.WarnAt,
		}, {
			Key: "agent.max_turns", Flag: "max-turns", Commands: RunCommands, Read: readCount,
			Variables: []string{"RKAT_MAX_TURNS"},
			Help:      "model `calls` of this run (default 50)", Field: &c.Agent.MaxTurns,
		}, {
			Key: "agent.on_interrupted", Flag: "on-interrupted", Commands: RequestCommands,
			Choices: []string{"ask-model", "retry-idempotent", "fail"}, Default: "ask-model",
			Help:  "of tools that ran when a session was killed: ask-model, retry-idempotent or fail",
			Field: &c.Agent.OnInterrupted,
		}, {
			Key: "agent.requests_per_minute", Flag: "max-requests-per-minute", Commands: RunCommands, Read: readCount,
			Help: "how many model `calls` are sent in a minute at most", Field: &c.RequestsPerMinute,
		}, {
			Key: "agent.websocket", Flag: "websocket", Commands: RunCommands, Switch: true, Read: readBool,
			Default: false,
			Help:    "send requests over WebSockets, and of each only what is new, where the provider has them (OpenAI)", Field: &c.WebSocket,
		}, {
			Key: "agent.cache_ttl", Flag: "cache-ttl", Commands: RequestCommands, Choices: []string{"5m", "1h"},
			Help: "keep the prompt in the provider's cache for 5m or 1h", Field: &c.Agent.CacheTTL,
		},
	}
}

// providerSettings hold keys and addresses. No field takes them; see Loaded.Key
// and Loaded.BaseURL.
func providerSettings(c *Config) setting.Table {
	variables := map[string][]string{
		"anthropic": {"ANTHROPIC_API_KEY"}, "openai": {"OPENAI_API_KEY"},
		"gemini": {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	}
	addresses := map[string]string{
		"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL",
	}
	list := setting.Table{
		{
			Key: "provider.type", Flag: "provider", Commands: RequestCommands, Choices: providers,
			Variables: []string{"RKAT_PROVIDER"}, Risk: riskKeyAddress,
			Help: "anthropic, openai or gemini (default: that of the model)", Field: &c.Provider,
		},
		{Key: "provider.api_key", Help: "`key` of the provider of that type", Secret: true, Risk: riskHoldsKey},
		{Key: "provider.base_url", Help: "`address` of the provider of that type", Risk: riskKeyAddress},
	}
	for _, p := range providers {
		list = append(list,
			setting.Row{
				Key: "providers." + p + ".api_key", Help: "`key` of " + p, Variables: variables[p], Secret: true,
				Risk: riskHoldsKey,
			},
			setting.Row{
				Key: "providers." + p + ".base_url", Help: "`address` of " + p + " instead of its own",
				Variables: []string{addresses[p]}, Risk: riskKeyAddress,
			})
	}
	return list
}

func toolSettings(c *Config) setting.Table {
	return setting.Table{
		{
			Key: "tools.mcp_servers", Read: readServers, FileOnly: true, Risk: riskStartsProgram,
			Help: "`tables` of MCP servers", Field: &c.MCPServers,
		}, {
			Key: "tools.default_timeout", Read: readDuration, Default: 10 * time.Minute,
			Help: "`time` that a call of a tool may take", Field: &c.ToolPolicy.Timeout,
		}, {
			Key: "tools.tool_timeouts", Read: readDurations, FileOnly: true,
			Help: "`table` of times by the name of the tool", Field: &c.ToolPolicy.Timeouts,
		}, {
			Key: "tools.max_concurrent", Read: readCount, Default: 10,
			Help: "how many `tools` run at once", Field: &c.Agent.MaxParallel,
		}, {
			Key: "tools.max_progress", Read: countBetween(1, 1<<20), Default: tool.DefaultMaxProgress,
			Help: "how many `reports` of progress of a call are shown", Field: &c.ToolPolicy.MaxProgress,
		}, {
			Key: "tools.allow", Flag: "tools-allow", Commands: RequestCommands, Read: readList, Risk: riskAllowsTools,
			Help: "`patterns` of the tools on offer, such as fs__*,git__log (default: all)", Field: &c.ToolPolicy.Allow,
		}, {
			Key: "tools.deny", Flag: "tools-deny", Commands: RequestCommands, Read: readList, Risk: riskAllowsTools,
			Help: "`patterns` of tools that are not on offer", Field: &c.ToolPolicy.Deny,
		}, {
			Key: "tools.hosted", Flag: "hosted", Commands: RequestCommands, Read: listOf(transcript.HostedTools()...),
			Risk: riskAllowsTools,
			Help: "`tools` that the provider runs itself: web_search, code_execution", Field: &c.HostedTools,
		}, {
			Key: "tools.defer_above", Flag: "tools-defer-above", Commands: RequestCommands, Read: readCount,
			Help: "defer the tools of MCP servers when there are more than `N`, so that the model searches for them; 0: never", Field: &c.DeferAbove,
		}, {
			Key: "tools.bad_schema", Flag: "tools-bad-schema", Commands: RequestCommands,
			Choices: []string{"leave-out", "refuse"}, Default: "leave-out",
			Help: "what happens to a tool that the provider would refuse: leave-out or refuse", Field: &c.BadSchema,
		},
	}
}

func storageSettings(c *Config) setting.Table {
	return setting.Table{
		{
			Key: "session.metadata", Flag: "metadata", Commands: RunCommands, Repeated: true, Read: readMetadata,
			Help: "`NAME=VALUE` to note about the session, never sent to a provider; may be repeated, an empty value removes the name", Field: &c.Agent.Metadata,
		}, {
			Key: "storage.backend", Flag: "store", Choices: []string{"jsonl", "sqlite", "memory"}, Default: "jsonl",
			Risk: riskMovesSessions,
			Help: "how sessions are kept: jsonl, sqlite or memory", Field: &c.Storage.Backend,
		}, {
			Key: "storage.directory", Flag: "session-dir", Path: true, Variables: []string{"RKAT_SESSION_DIR"},
			Risk: riskMovesSessions,
			Help: "`folder` of the sessions (default $RKAT_SESSION_DIR, $XDG_DATA_HOME/rkat/sessions, ~/.local/share/rkat/sessions)", Field: &c.Storage.Directory,
		}, {
			Key: "storage.fsync", Choices: []string{"always", "interval", "never"}, Default: "always",
			Help: "when files of sessions are forced to the disk: always, interval or never", Field: &c.Storage.Fsync,
		},
	}
}

// limitSettings are budgets, repeated calls and compaction. The defaults of
// retries are those of the SDK.
func limitSettings(c *Config) setting.Table {
	retry := provider.DefaultRetry
	return setting.Table{
		{
			Key: "budget.max_tokens", Flag: "max-tokens", Commands: RunCommands, Read: readTokens,
			Variables: []string{"RKAT_MAX_TOKENS"},
			Help:      "`budget` of the session in tokens of all kinds, over all its runs",
			Field:     &c.Agent.Limits.MaxTokens,
		}, {
			Key: "budget.max_duration", Flag: "max-duration", Commands: RunCommands, Read: readDuration,
			Variables: []string{"RKAT_MAX_DURATION"},
			Help:      "budget of the session in `time`, such as 5m", Field: &c.Agent.Limits.MaxDuration,
		}, {
			Key: "budget.max_tool_calls", Flag: "max-tool-calls", Commands: RunCommands, Read: readCount,
			Variables: []string{"RKAT_MAX_TOOL_CALLS"},
			Help:      "budget of the session in `calls` of tools", Field: &c.Agent.Limits.MaxToolCalls,
		}, {
			Key: "budget.max_turns", Read: readCount,
			Help: "budget of the session in model `calls`", Field: &c.Agent.Limits.MaxTurns,
		}, {
			Key: "retry.max_retries", Flag: "max-retries", Commands: RunCommands, Read: readCount,
			Default: retry.MaxRetries,
			Help:    "`number` of times that a failed model call is made again at most (default 3)",
			Field:   &c.Agent.Retry.MaxRetries,
		}, {
			Key: "retry.initial_delay", Read: readDuration, Default: retry.InitialDelay,
			Help: "`time` before the first repetition", Field: &c.Agent.Retry.InitialDelay,
		}, {
			Key: "retry.max_delay", Read: readDuration, Default: retry.MaxDelay,
			Help: "`time` before a repetition at most", Field: &c.Agent.Retry.MaxDelay,
		}, {
			Key: "retry.multiplier", Read: numberBetween(1, 100), Default: retry.Multiplier,
			Help: "`factor` by which each delay is longer than the one before", Field: &c.Agent.Retry.Multiplier,
		}, {
			Key: "compaction.threshold", Read: numberBetween(0, 1), Default: 0.8,
			Help:  "`share` of the context window from which a session is compacted; 0 never does",
			Field: &c.Agent.Compaction.Threshold,
		},
	}
}

// boundSettings limit what providers and tool servers may send.
func boundSettings(c *Config) setting.Table {
	d := provider.DefaultBounds
	return setting.Table{
		{
			Key: "limits.reply_bytes", Read: readBytes, Default: d.ReplyBytes,
			Help: "`size` of a reply at most, such as 64MB", Field: &c.Bounds.ReplyBytes,
		}, {
			Key: "limits.reply_events", Read: countBetween(1, math.MaxInt32), Default: d.ReplyEvents,
			Help: "`events` of a streamed reply at most", Field: &c.Bounds.ReplyEvents,
		}, {
			Key: "limits.event_bytes", Read: readBytes, Default: d.EventBytes,
			Help: "`size` of one event of a reply at most", Field: &c.Bounds.EventBytes,
		}, {
			Key: "limits.header_bytes", Read: readBytes, Default: provider.DefaultHeaderBytes,
			Help: "`size` of the headers of a reply at most", Field: &c.HeaderBytes,
		}, {
			Key: "limits.idle_timeout", Flag: "idle-timeout", Commands: RunCommands, Read: readWait,
			Default: d.IdleTimeout,
			Help:    "`time` without any event after which a streamed reply is given up (default 10m)",
			Field:   &c.Bounds.IdleTimeout,
		}, {
			Key: "limits.ping_timeout", Read: readWait, Default: d.PingTimeout,
			Help:  "`time` with nothing but pings after which a streamed reply is given up",
			Field: &c.Bounds.PingTimeout,
		}, {
			Key: "limits.reply_timeout", Flag: "reply-timeout", Commands: RunCommands, Read: readWait,
			Default: d.ReplyTimeout,
			Help:    "`time` that a whole reply may take (default 2h)", Field: &c.Bounds.ReplyTimeout,
		}, {
			Key: "limits.mcp_message_bytes", Read: readBytes, Default: mcp.DefaultMaxMessage,
			Help: "`size` of one message of an MCP server at most", Field: &c.MCPBytes,
		},
	}
}

// maxOperations bounds the settings that count operations.
const maxOperations = 1 << 12

func operationSettings(c *Config) setting.Table {
	limits := ops.DefaultLimits()
	return setting.Table{
		{
			Key: "agent.sub_agents", Flag: "sub-agents", Commands: RequestCommands, Switch: true, Read: readBool,
			Default: false,
			Help:    "offer the model the tools that start and control sub-agents", Field: &c.SubAgents,
		}, {
			Key: "operations.max_depth", Read: countBetween(1, 16), Default: limits.MaxDepth,
			Help: "how many `levels` of sub-agents there may be", Field: &c.OperationLimits.MaxDepth,
		}, {
			Key: "operations.max_concurrent_ops", Read: countBetween(1, maxOperations),
			Default: limits.MaxConcurrentOps,
			Help:    "how many `operations` of a run may be open at a time", Field: &c.OperationLimits.MaxConcurrentOps,
		}, {
			Key: "operations.max_concurrent_agents", Read: countBetween(1, maxOperations),
			Default: limits.MaxConcurrentAgents,
			Help:    "how many `sub-agents` of a run may be open at a time",
			Field:   &c.OperationLimits.MaxConcurrentAgents,
		}, {
			Key: "operations.max_children_per_agent", Read: countBetween(1, maxOperations),
			Default: limits.MaxChildrenPerAgent,
			Help:    "how many `operations` of one agent may be open at a time",
			Field:   &c.OperationLimits.MaxChildrenPerAgent,
		}, {
			Key: "operations.artifact_threshold", Read: countBetween(1, 1<<26), Default: agent.DefaultArtifactThreshold,
			Help: "results of sub-agents with more `bytes` are kept as artifacts, which the model reads with fetch_result", Field: &c.ArtifactThreshold,
		},
	}
}

// artifactSettings bound what is kept of large results. The defaults are those of package
// artifact.
func artifactSettings(c *Config) setting.Table {
	return setting.Table{
		{
			Key: "artifacts.max_artifact_bytes", Read: readBytes, Default: artifact.DefaultMaxBytes,
			Help:  "`size` of an artifact at most, such as 16MB; the model gets a larger result whole",
			Field: &c.Artifacts.Limits.MaxBytes,
		}, {
			Key: "artifacts.max_artifacts_per_session", Read: countBetween(1, 1<<20),
			Default: artifact.DefaultMaxPerSession,
			Help:    "how many `artifacts` a session has at most", Field: &c.Artifacts.Limits.MaxPerSession,
		}, {
			Key: "artifacts.max_total_artifact_bytes", Read: readLargeBytes, Default: artifact.DefaultMaxTotalBytes,
			Help:  "`size` of the artifacts of all sessions together at most, such as 20GB",
			Field: &c.Artifacts.Limits.MaxTotalBytes,
		}, {
			Key: "artifacts.ttl", Read: readDuration, Default: artifact.DefaultTTL,
			Help: "`time` that an artifact is kept; 0: for ever", Field: &c.Artifacts.TTL,
		}, {
			Key: "artifacts.sweep_interval", Read: readInterval, Default: artifact.DefaultSweepInterval,
			Help:  "`time` after which artifacts that are kept no longer are removed again, a second or more",
			Field: &c.Artifacts.SweepInterval,
		},
	}
}

// telemetrySettings say who gets measurements of runs; by default nobody does.
// The variables are those that OpenTelemetry has for this.
func telemetrySettings(c *Config) setting.Table {
	return setting.Table{
		{
			Key: "telemetry.otlp_endpoint", Flag: "otlp-endpoint", Commands: RunCommands, Read: readAddress,
			Variables: []string{"OTEL_EXPORTER_OTLP_ENDPOINT"}, Risk: riskSendsData,
			Help:  "`address` of an OpenTelemetry collector (OTLP over HTTP), such as http://localhost:4318",
			Field: &c.Telemetry.Endpoint,
		}, {
			Key: "telemetry.otlp_headers", Read: readHeaders, Variables: []string{"OTEL_EXPORTER_OTLP_HEADERS"},
			Secret: true, Form: "of the form NAME=VALUE[,NAME=VALUE…], or a table of texts", Risk: riskHoldsKey,
			Help: "`NAME=VALUE` pairs sent to the collector, with commas between", Field: &c.Telemetry.Headers,
		}, {
			Key: "telemetry.otlp_timeout", Read: readDuration, Default: 2 * time.Second,
			Help: "`time` that the end of a run waits for the collector at most", Field: &c.Telemetry.Timeout,
		}, {
			Key: "telemetry.content", Flag: "telemetry-content", Commands: RunCommands, Read: readBool, Default: false,
			Variables: []string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"}, Risk: riskSendsData,
			Help: "`true` adds prompts, answers, arguments and results to the spans", Field: &c.Telemetry.Content,
		}, {
			Key: "telemetry.metrics_listen", Flag: "metrics-listen", Commands: RunCommands, Read: readListenAddress,
			Risk:  riskSendsData,
			Help:  "`[HOST:]PORT` that serves /metrics for Prometheus while the command runs; without a host, 127.0.0.1",
			Field: &c.Telemetry.MetricsListen,
		},
	}
}
