package rkat

import (
	"github.com/spf13/cobra"
)

// options are the flags of run, resume, compact and render that set no key of
// the configuration; see bind for those that do.
type options struct {
	baseURL          string
	promptFile       string
	images           []string
	mcpFile          string
	schemaFile       string
	lastMessage      string
	metricsFile      string
	traceFile        string
	unary, unlisted  bool
	stream           bool
	conform, demo    bool
	last             bool // not of run
	fresh            bool // render only: a session that does not exist yet
	keyless, compact bool // what the command does, no flags
}

// bind adds the flags that decide what is sent.
func (o *options) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	setting(flags, "model", "m", "agent.model", "`model`; see rkat models")
	setting(flags, "provider", "", "provider.type", "anthropic, openai or gemini (default: that of the model)")
	flags.StringVar(&o.baseURL, "base-url", "", "`address` of the API instead of the provider's own")
	setting(flags, "system", "", keySystem, "system `prompt`; on resume the model is told of a change")
	setting(flags, "system-file", "", keySystemFile, "`file` with the system prompt")
	setting(flags, "effort", "", "agent.effort", "none, minimal, low, medium, high, xhigh or max, as far as the model offers it")
	setting(flags, "temperature", "", "agent.temperature", "`number` from 0 to 2, for models that take one")
	setting(flags, "max-output-tokens", "", "agent.max_tokens_per_turn", "`limit` of each reply (default: the model's)")
	setting(flags, "cache-ttl", "", "agent.cache_ttl", "keep the prompt in the provider's cache for 5m or 1h")
	flags.StringVar(&o.mcpFile, "mcp", "", "`file` of MCP servers, {\"mcpServers\": {…}}, beside those of the configuration")
	setting(flags, "tools-allow", "", "tools.allow", "`patterns` of the tools on offer, such as fs__*,git__log (default: all)")
	setting(flags, "tools-deny", "", "tools.deny", "`patterns` of tools that are not")
	setting(flags, "on-interrupted", "", "agent.on_interrupted", "of tools that ran when a session was killed: ask-model, retry-idempotent or fail")
	flags.BoolVar(&o.unary, "unary", false, "ask for whole replies instead of streams")
	flags.BoolVar(&o.unlisted, "allow-unlisted-model", false, "take a model that is not allowed; the session is marked")
	flags.StringVar(&o.schemaFile, "output-schema", "", "`file` with the JSON Schema that the answer must have")
	flags.BoolVar(&o.demo, "demo", false, "talk to the built-in scripted provider: no key, no network")
	flags.BoolVar(&o.conform, "conform-tools", false, "offer the tools of the conformance scenarios")
	flags.Lookup("conform-tools").Hidden = true
	completeModels(cmd)
}

// bindPrompt adds the flags of commands that take a prompt.
func (o *options) bindPrompt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.promptFile, "prompt-file", "", "`file` with the prompt, instead of an argument")
	cmd.Flags().StringArrayVar(&o.images, "image", nil, "`file` of an image to go with the prompt; may be repeated")
}

// bindRun adds the flags of commands that speak to a model.
func (o *options) bindRun(cmd *cobra.Command, f *format) {
	flags := cmd.Flags()
	setting(flags, "max-tokens", "", "budget.max_tokens", "`budget` of the session in tokens of all kinds, over all its runs")
	setting(flags, "max-duration", "", "budget.max_duration", "budget of the session in `time`, such as 5m")
	setting(flags, "max-tool-calls", "", "budget.max_tool_calls", "budget of the session in `calls` of tools")
	setting(flags, "max-turns", "", "agent.max_turns", "model `calls` of this run (default 50)")
	setting(flags, "max-retries", "", "retry.max_retries", "how `often` a failed model call is made again (default 3)")
	setting(flags, "max-requests-per-minute", "", "agent.requests_per_minute", "how many model `calls` are sent in a minute at most")
	flags.VarP(f, "output", "o", "text, json or json-stream")
	flags.BoolVar(&o.stream, "stream", false, "show on stderr what happens while it happens")
	flags.StringVar(&o.lastMessage, "output-last-message", "", "`file` for the answer alone; empty until there is one")
	flags.StringVar(&o.metricsFile, "metrics-file", "", "`file` for metrics of the run in the text format of Prometheus")
	flags.StringVar(&o.traceFile, "trace-file", "", "`file` for the spans of the run, one JSON object a line (OpenTelemetry)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// bindSession adds --last.
func (o *options) bindSession(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.last, "last", false, "the session that was updated last")
}
