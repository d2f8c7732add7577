package rkat

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
)

// options are the flags of run, resume, compact and render that are not settings; see
// bindSettings for the others.
type options struct {
	baseURL            string
	promptFile         string
	attached           []string // of --attach: paths and addresses
	toolChoice         string
	mcpFile            string
	schemaFile         string
	lastMessage        string
	metricsFile        string
	traceFile          string
	unary, unlisted    bool
	stream             bool
	conformTools, demo bool
	conformExtra       []string // roles of tools beside those of conformTools
	last               bool     // not of run
	newSession         bool     // render only: a session that does not exist yet
	keyless, compact   bool     // set by the command, not by a flag
	shared             bool     // the same: sessions may be in the database of a setting
}

// bindRequestFlags adds the flags that decide what is sent.
func (a *app) bindRequestFlags(cmd *cobra.Command, o *options) {
	flags := cmd.Flags()
	cli.BindSettings(cmd, flags, a.settings, config.RequestCommands)
	flags.StringVar(&o.baseURL, "base-url", "", "`address` of the API instead of the provider's own")
	flags.StringVar(
		&o.mcpFile, "mcp", "", "`file` of MCP servers, {\"mcpServers\": {…}}, beside those of the configuration",
	)
	flags.BoolVar(&o.unary, "unary", false, "ask for whole replies instead of streams")
	flags.BoolVar(&o.unlisted, "allow-unlisted-model", false, "take a model that is not allowed; the session is marked")
	flags.StringVar(&o.schemaFile, "output-schema", "", "`file` with the JSON Schema that the answer must have")
	flags.BoolVar(&o.demo, "demo", false, "talk to the built-in scripted provider: no key, no network")
	flags.BoolVar(&o.conformTools, "conform-tools", false, "offer the tools of the conformance scenarios")
	flags.StringSliceVar(&o.conformExtra, "conform-extra", nil, "offer more of them: image, slow, large, awkward")
	flags.Lookup("conform-tools").Hidden, flags.Lookup("conform-extra").Hidden = true, true

	// The catalogue is read when a shell asks, and not for each command.
	_ = cmd.RegisterFlagCompletionFunc("model",
		func(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, e := range catalog.Models() {
				names = append(names, e.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		})
}

// bindPromptFlags adds the flags of commands that take a prompt.
func (o *options) bindPromptFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.promptFile, "prompt-file", "", "`file` with the prompt, instead of an argument")
	cmd.Flags().StringArrayVar(
		&o.attached, "attach", nil,
		"`file` of an image or PDF to go with the prompt, or the https:// address of one; may be repeated",
	)
	cmd.Flags().StringVar(
		&o.toolChoice, "tool-choice", "",
		"`name` of the tool that the model must call first, any for one that it chooses, or none",
	)
}

// promptFlag returns a flag that was given and needs a prompt, "" if there is none.
func (o *options) promptFlag() string {
	switch {
	case len(o.attached) > 0:
		return "--attach"
	case o.toolChoice != "":
		return "--tool-choice"
	}
	return ""
}

// bindRunFlags adds the flags of commands that speak to a model.
func (a *app) bindRunFlags(cmd *cobra.Command, o *options) {
	flags := cmd.Flags()
	cli.BindSettings(cmd, flags, a.settings, config.RunCommands)
	flags.VarP(&a.format, "output", "o", "text, json or json-stream")
	flags.BoolFunc(
		"json", "print the result as JSON, as --output json does",
		func(string) error { a.format = formatJSON; return nil },
	)
	flags.BoolVar(&o.stream, "stream", false, "show on stderr what happens while it happens")
	flags.StringVar(&o.lastMessage, "output-last-message", "", "`file` for the answer alone; empty until there is one")
	flags.StringVar(
		&o.metricsFile, "metrics-file", "", "`file` for metrics of the run in the text format of Prometheus",
	)
	flags.StringVar(
		&o.traceFile, "trace-file", "", "`file` for the spans of the run, one JSON object a line (OpenTelemetry)",
	)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// bindLastFlag adds --last.
func (o *options) bindLastFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.last, "last", false, "the session that was updated last")
}
