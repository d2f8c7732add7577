package rkat

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/mcp"
)

// tokenVariable holds the token of a server that listens for HTTP.
const tokenVariable = "RKAT_SERVER_TOKEN"

// serverOptions are the flags of a server.
type serverOptions struct {
	options
	listen    string
	tokenFile string
	remote    bool
	maxRuns   int
}

func (a *app) mcpServerCommand() *cobra.Command {
	var o serverOptions
	cmd := &cobra.Command{
		Use: "mcp-server", Short: "Offer the agent to other programs as MCP tools",
		Example: "  rkat mcp-server\n  RKAT_SERVER_TOKEN=$(openssl rand -hex 32) rkat mcp-server --listen 127.0.0.1:8766",
		Long: `Offer the agent to other programs as tools of the Model Context Protocol:
meerkat_run, meerkat_resume, meerkat_interrupt, meerkat_sessions, meerkat_read and
meerkat_history. Without --listen one client speaks over stdin and stdout; runs under
way end when stdin does. Settings are those of run.

With --listen any number of clients speak over streamable HTTP at /mcp. They send the
token of ` + tokenVariable + ` or --token-file as Authorization: Bearer TOKEN. Only this
machine can connect unless --allow-remote is given; put a proxy that speaks TLS before
a server that others reach.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd, &o) },
	}
	a.bindServerFlags(cmd, &o.options)
	flags := cmd.Flags()
	flags.StringVar(
		&o.listen, "listen", "", "`address` for streamable HTTP, such as 127.0.0.1:8766; port 0 takes a free one",
	)
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` that holds the token of --listen")
	flags.BoolVar(&o.remote, "allow-remote", false, "let --listen name an address that other machines reach")
	flags.IntVar(&o.maxRuns, "max-runs", server.DefaultMaxRuns, "`N` runs at once at most")
	return cmd
}

func (a *app) serveMCP(cmd *cobra.Command, o *serverOptions) error {
	host, err := a.openHost(cmd, &o.options)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	defer func() { _ = host.closeHost(ctx) }()
	token, err := a.serverToken(o, host.base.cfg)
	if err != nil {
		return err
	}
	tools := mcp.New(host.serverHost(), &server.Runs{Max: o.maxRuns})
	if o.listen == "" {
		return tools.Serve(ctx, a.Stdin, a.JSON())
	}
	return a.serveHTTP(ctx, o, "/mcp", server.Guard(
		server.GuardOptions{Token: token, Hosts: host.base.cfg.ServerHosts}, tools.Handler(),
	))
}

// serverToken returns the token of --listen.
func (a *app) serverToken(o *serverOptions, cfg *config.Loaded) (string, error) {
	if o.maxRuns < 1 {
		return "", cli.Usage("--max-runs %d: a server has at least one run", o.maxRuns)
	}
	if o.listen == "" {
		if o.tokenFile != "" || o.remote {
			return "", cli.Usage(
				"%s: only with --listen; without it the client is the program that started this one", flagGiven(o),
			)
		}
		return "", nil
	}
	token, from := cfg.ServerToken, cfg.From("server.token").Where
	if o.tokenFile != "" {
		text, err := readText("--token-file", o.tokenFile)
		if err != nil {
			return "", err
		}
		token, from = strings.TrimSpace(text), "--token-file "+o.tokenFile
	}
	if token == "" && o.tokenFile == "" {
		return "", cli.Usage(
			"--listen: there is no token; set %s, or name a file that holds one with --token-file", tokenVariable,
		)
	}
	if err := server.CheckToken(token); err != nil {
		return "", cli.Usage("%s: %w", from, err)
	}
	return token, nil
}

func flagGiven(o *serverOptions) string {
	if o.tokenFile != "" {
		return "--token-file"
	}
	return "--allow-remote"
}

// serveHTTP serves handler at path until ctx ends, and says where.
func (a *app) serveHTTP(ctx context.Context, o *serverOptions, path string, handler http.Handler) error {
	listener, err := server.Listen(ctx, o.listen, o.remote, server.DefaultConnections)
	if err != nil {
		return cli.Usage("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	fmt.Fprintf(a.Stdout, "http://%s%s\n", listener.Addr(), path)
	return server.HTTP(ctx, listener, mux)
}
