package rkat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/server/acp"
)

func (a *app) acpCommand() *cobra.Command {
	var o options
	var mode string
	cmd := &cobra.Command{
		Use: "acp", Short: "Offer the agent to editors over the Agent Client Protocol",
		Example: "  rkat acp\n  rkat acp --model gpt-5.2 --permission-mode auto",
		Long: `Offer the agent to an editor, or to any client of the Agent Client Protocol, over stdin
and stdout. The client opens sessions, new ones and those of rkat run, with tool servers
of its own; prompts under way end when stdin does. Settings are those of run.

Before a tool runs that does not say that it only reads, the client is asked. Its user
can change that for a session, and --permission-mode decides how sessions begin: ask,
auto (never ask) or read-only (refuse).`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveACP(cmd, &o, acp.Mode(mode)) },
	}
	a.bindServerFlags(cmd, &o)
	cmd.Flags().StringVar(&mode, "permission-mode", string(acp.ModeAsk), "how sessions begin: "+modeNames())
	_ = cmd.RegisterFlagCompletionFunc(
		"permission-mode",
		cobra.FixedCompletions(strings.Split(modeNames(), ", "), cobra.ShellCompDirectiveNoFileComp),
	)
	return cmd
}

func modeNames() string {
	var names []string
	for _, m := range acp.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

func (a *app) serveACP(cmd *cobra.Command, o *options, mode acp.Mode) error {
	if !slices.Contains(acp.Modes(), mode) {
		return cli.Usage("--permission-mode %s: it is none of %s", cmp.Or(string(mode), `""`), modeNames())
	}
	host, err := a.openHost(cmd, o)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	defer func() { _ = host.closeHost(ctx) }()
	options := acp.Options{Mode: mode, Models: modelsWithKey(host.base.cfg, o.demo)}
	if a.Verbose {
		options.Log = a.Log()
	}
	return acp.New(host.serverHost(), options).Serve(ctx, a.Stdin, a.JSON())
}

// modelsWithKey lists the models of the providers that have a key, or of all.
func modelsWithKey(cfg *config.Loaded, all bool) (names []string) {
	for _, e := range catalog.Models() {
		if all || cfg.Key(e.Provider) != "" {
			names = append(names, e.Name)
		}
	}
	return names
}
