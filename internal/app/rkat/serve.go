package rkat

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	serverOptions
	drain   time.Duration
	streams int
}

func (a *app) serveCommand() *cobra.Command {
	o := serveOptions{serverOptions: serverOptions{options: options{shared: true}}}
	cmd := &cobra.Command{
		Use: "serve", Short: "Offer the agent over HTTP",
		Example: "  RKAT_SERVER_TOKEN=$(openssl rand -hex 32) rkat serve\n  rkat serve --listen 127.0.0.1:8080 --token-file token --max-runs 64\n  RKAT_DATABASE_URL=postgres://rkat@db/rkat rkat serve --token-file token",
		Long: `Offer the agent over HTTP: POST /sessions starts a session with a run, and other
addresses read it, follow its events, go on with it, steer, interrupt and fork it, and
list its sub-agents and their large results. The document of the API, OpenAPI 3.1, is at
/openapi.json. Settings are those of run.

Clients send the token of ` + tokenVariable + ` or --token-file as Authorization: Bearer TOKEN;
only /healthz answers without it. Only this machine can connect unless --allow-remote is
given; put a proxy that speaks TLS before a server that others reach. Web pages of other
origins are refused.

With --database, or RKAT_DATABASE_URL, any number of these servers share sessions and runs
in one PostgreSQL database, behind a load balancer. Another server goes on with the runs of
one that has died; --max-runs bounds those of all of them.

After SIGTERM or the first SIGINT no run is accepted any more, those under way have
--drain to end, and then they are interrupted; their sessions can be resumed. A second
signal ends the process at once.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveREST(cmd, &o) },
	}
	a.bindServerFlags(cmd, &o.options)
	flags := cmd.Flags()
	cli.BindSettings(cmd, flags, a.settings, config.ServeCommands)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8767", "`address` to listen at; port 0 takes a free one")
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` that holds the token")
	flags.BoolVar(&o.remote, "allow-remote", false, "let --listen name an address that other machines reach")
	flags.IntVar(&o.maxRuns, "max-runs", server.DefaultMaxRuns, "`N` runs at once at most")
	flags.IntVar(&o.streams, "max-streams", server.DefaultStreams, "`N` event streams at once at most")
	flags.DurationVar(&o.drain, "drain", 30*time.Second, "how long runs may go on after SIGTERM")
	return cmd
}

func (a *app) serveREST(cmd *cobra.Command, o *serveOptions) error {
	if a.backends.REST == nil {
		return cli.Usage("serve: this program is built without it; use the rkat command")
	}
	if o.streams < 1 || o.drain < 0 {
		return cli.Usage(
			"--max-streams %d, --drain %s: want at least one stream, and no negative time", o.streams, o.drain,
		)
	}
	host, err := a.openHost(cmd, &o.options)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	defer func() { _ = host.closeHost(ctx) }()
	token, err := a.serverToken(&o.serverOptions, host.base.cfg)
	if err != nil {
		return err
	}
	// A run may hold a connection as long as it waits, and every stream has one.
	listener, err := server.Listen(ctx, o.listen, o.remote, server.DefaultConnections+o.streams)
	if err != nil {
		return cli.Usage("--listen: %w", err)
	}
	api, err := a.newRESTServer(ctx, host, o, token)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "http://%s\n", listener.Addr())
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.HTTP(serving, listener, api.Handler()) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	a.noteLine("serve: no more runs are accepted; those under way have %s; a second signal ends them", o.drain)
	within, cancel := context.WithTimeout(serving, o.drain)
	defer cancel()
	err = api.Drain(within)
	stop()
	<-served
	return err
}

// newRESTServer returns the server of the API, whose runs are executed in this process or,
// with a database, in any replica.
func (a *app) newRESTServer(ctx context.Context, h *agentHost, o *serveOptions, token string) (server.API, error) {
	host := h.serverHost()
	options := server.APIOptions{
		Token: token, Hosts: h.base.cfg.ServerHosts, Streams: o.streams,
		CheckModel: func(model string) error { _, err := lookupModel(model, o.unlisted); return err },
	}
	if a.Verbose {
		options.Log = a.Log()
	}
	var api server.API
	var backend server.Backend
	if a.backends.Metrics != nil {
		metrics, err := a.backends.Metrics()
		if err != nil {
			return nil, err
		}
		metrics.AddGauge(observe.Gauge{Name: "rkat_server_runs", Help: "Runs that have not ended.",
			Value: func() float64 {
				runs, err := backend.Active(context.Background())
				if err != nil {
					return -1
				}
				return float64(len(runs))
			}})
		metrics.AddGauge(observe.Gauge{
			Name: "rkat_server_event_streams", Help: "Event streams that are open.",
			Value: func() float64 { return float64(api.Streams()) },
		})
		options.Metrics = metrics.Handler()
		h.base.exporters = append(h.base.exporters, exporter{
			flag: "/metrics", listen: metrics.Listen, finish: func(context.Context) error { return nil },
		})
	}
	// From here on runs may be executed, those of other replicas as well.
	var err error
	if backend, err = openBackend(ctx, host, server.BackendLimits{Runs: o.maxRuns}); err != nil {
		return nil, session.WrapStorage(err)
	}
	api = a.backends.REST(host, backend, options)
	return api, nil
}
