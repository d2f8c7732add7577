// Package config reads what rkat is told to do (seed 001 §11): flags before
// environment, before the project's .rkat/config.toml, before the user's
// config.toml, before the defaults.
//
// Nothing is read from the process: environment and folders are arguments. A
// project's file comes with somebody's repository, so what could give a key
// away or start a program counts in it only if the project is trusted.
package config

import (
	"fmt"
	"time"
)

// Config is what all layers add up to. The zero value of a limit is no limit.
// It holds secrets, and prints without its values; see Loaded.Settings.
type Config struct {
	Agent      Agent              `mapstructure:"agent"`
	Provider   Provider           `mapstructure:"provider"`
	Providers  map[string]Account `mapstructure:"providers"` // by provider name
	Tools      Tools              `mapstructure:"tools"`
	Storage    Storage            `mapstructure:"storage"`
	Budget     Budget             `mapstructure:"budget"`
	Retry      Retry              `mapstructure:"retry"`
	Compaction Compaction         `mapstructure:"compaction"`
	// TrustedProjects are folders whose .rkat/config.toml may set anything. It
	// cannot be set by a project.
	TrustedProjects []string `mapstructure:"trusted_projects"`
}

// Format prints nothing of c, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "(configuration, not shown)") }

// Agent says how the agent behaves.
type Agent struct {
	Model            string `mapstructure:"model"` // "": the provider's default (X4)
	SystemPrompt     string `mapstructure:"system_prompt"`
	SystemPromptFile string `mapstructure:"system_prompt_file"`
	Effort           string `mapstructure:"effort"`
	// MaxTokensPerTurn bounds one reply; 0 is the model's default. The budget of
	// a session is Budget.MaxTokens (E15).
	MaxTokensPerTurn int      `mapstructure:"max_tokens_per_turn"`
	Temperature      *float64 `mapstructure:"temperature"`
	// CheckpointInterval is how many turns may pass between two fsyncs when
	// Storage.Fsync is "interval"; checkpoints are always written (X3).
	CheckpointInterval     int     `mapstructure:"checkpoint_interval"`
	BudgetWarningThreshold float64 `mapstructure:"budget_warning_threshold"` // 0 to 1
	MaxTurns               int     `mapstructure:"max_turns"`                // of one run
	OnInterrupted          string  `mapstructure:"on_interrupted"`           // ask-model, retry-idempotent or fail
	CacheTTL               string  `mapstructure:"cache_ttl"`                // "", 5m or 1h
	// RequestsPerMinute spreads the model calls of this process; 0 does not.
	RequestsPerMinute int `mapstructure:"requests_per_minute"`
}

// Provider says whom to speak to when no model decides it, and how.
type Provider struct {
	Type    string `mapstructure:"type"`
	APIKey  string `mapstructure:"api_key" json:"-"`
	BaseURL string `mapstructure:"base_url"`
}

// Account is how one provider is reached.
type Account struct {
	APIKey  string `mapstructure:"api_key" json:"-"`
	BaseURL string `mapstructure:"base_url"`
}

// Tools says which tools there are and how they run.
type Tools struct {
	MCPServers     []MCPServer              `mapstructure:"mcp_servers"`
	DefaultTimeout time.Duration            `mapstructure:"default_timeout"`
	ToolTimeouts   map[string]time.Duration `mapstructure:"tool_timeouts"` // by tool name
	MaxConcurrent  int                      `mapstructure:"max_concurrent"`
	Allow          []string                 `mapstructure:"allow"` // empty: all
	Deny           []string                 `mapstructure:"deny"`
}

// MCPServer is a server of tools: a Command that is started and spoken to over
// its standard streams, or the URL of one that runs.
type MCPServer struct {
	Name    string            `mapstructure:"name"`
	Command string            `mapstructure:"command"`
	Args    []string          `mapstructure:"args"`
	Env     map[string]string `mapstructure:"env" json:"-"`
	Dir     string            `mapstructure:"dir"`
	URL     string            `mapstructure:"url"`
	Headers map[string]string `mapstructure:"headers" json:"-"`
	Timeout time.Duration     `mapstructure:"timeout"` // of a call; 0: Tools.DefaultTimeout
	// StartTimeout bounds the handshake; 0: a default.
	StartTimeout time.Duration `mapstructure:"start_timeout"`
	Allow        []string      `mapstructure:"allow"` // by the server's own names
	Deny         []string      `mapstructure:"deny"`
	// Optional lets a run go on without the server; Protocol is the version of
	// MCP to begin with, "" for the newest.
	Optional bool   `mapstructure:"optional"`
	Protocol string `mapstructure:"protocol"`
}

// Storage says where sessions are.
type Storage struct {
	Backend   string `mapstructure:"backend"` // jsonl, sqlite or memory
	Directory string `mapstructure:"directory"`
	// Fsync is always, interval (see Agent.CheckpointInterval) or never.
	Fsync string `mapstructure:"fsync"`
}

// Budget bounds a session over all its runs (seed 001 §10).
type Budget struct {
	MaxTokens    uint64        `mapstructure:"max_tokens"` // all kinds
	MaxDuration  time.Duration `mapstructure:"max_duration"`
	MaxToolCalls int           `mapstructure:"max_tool_calls"`
	MaxTurns     int           `mapstructure:"max_turns"`
}

// Retry says how failed calls are repeated (seed 001 §7).
type Retry struct {
	MaxRetries   int           `mapstructure:"max_retries"`
	InitialDelay time.Duration `mapstructure:"initial_delay"`
	MaxDelay     time.Duration `mapstructure:"max_delay"`
	Multiplier   float64       `mapstructure:"multiplier"`
}

// Compaction says when a long conversation is summarised (seed 000 §5).
type Compaction struct {
	// Threshold is the part of the context window, 0 to 1, that starts it; 0
	// never does.
	Threshold float64 `mapstructure:"threshold"`
}
