package conform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

func (a *app) toolsCommand() *cobra.Command {
	address, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Serve the tools that the cases call, over MCP",
		Long: `Serve the tools that the cases call, over MCP: conform_echo, conform_fail,
conform_noargs, conform_slow, conform_large, conform_image and conform_awkward. None
of them changes anything. conform run starts this server for each agent that can be
given one; start it yourself to see how your agent uses it.

Without --http the server speaks over standard input and output. Calls are written
to the file that ` + harness.ToolLogVariable + ` names, one line of JSON each.
With --http, --json prints conform.ready.v1 once the server listens.`,
		Example: "  conform tools\n  conform tools --http 127.0.0.1:8765",
		Args:    noArgument("tools: takes no argument, got %q"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && address == "" {
				return cli.Usage("--json: stdout carries MCP; add --http 127.0.0.1:0")
			}
			return a.serveTools(cmd.Context(), address, asJSON)
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&address, "http", "", "loopback `address` to listen on; port 0 takes a free one")
	return cmd
}

// toolCommand starts this program as the tool server of an agent.
func toolCommand() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the tool server: %w", err)
	}
	return []string{path, "tools"}, nil
}

// serveTools serves over standard input and output or, at an address, over HTTP until ctx is cancelled.
func (a *app) serveTools(ctx context.Context, address string, asJSON bool) error {
	config := toolserver.Config{Version: tool().Version}
	if path := a.Getenv(harness.ToolLogVariable); path != "" {
		log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return cli.Usage("%s: %v", harness.ToolLogVariable, err)
		}
		defer func() { _ = log.Close() }() // each line is written at once
		config.Log = log
	}
	if address == "" {
		return config.Serve(ctx, a.Stdin, a.JSON())
	}
	listener, err := listenLocally(address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: config.Handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	said := ready{URL: fmt.Sprintf("http://%s/mcp", listener.Addr()), Log: a.Getenv(harness.ToolLogVariable)}
	if err := a.sayReady(said, asJSON); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
