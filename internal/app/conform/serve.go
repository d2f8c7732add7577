package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

const defaultServeAddress = "127.0.0.1:0"

func (a *app) serveCommand() *cobra.Command {
	address := defaultServeAddress
	cmd := &cobra.Command{
		Use:   "serve REPORT|RECORDING...",
		Short: "Show reports in a browser on this machine",
		Long: `Show reports in a browser on this machine until interrupted: what --report html,
inspector or json wrote, and recordings, which are judged as conform check does. A
recording that is still being written is read again as it grows, and open pages with it.

The server listens on this machine only. The address that it prints holds a secret, and
pages of other sites are refused. It only shows: nothing can be changed through it.`,
		Example: `  conform serve report.html
  conform serve linux.json macos.json
  conform serve cassettes/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("serve: nothing named; give reports, recordings or directories of recordings")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.serveReports(cmd.Context(), address, args) },
	}
	cmd.Flags().StringVar(&address, "addr", defaultServeAddress, "`HOST:PORT` of this machine to listen on; port 0 takes a free one")
	return cmd
}

func (a *app) serveReports(ctx context.Context, address string, paths []string) error {
	var feeds []inspector.NamedFeed
	var followed []*follower
	for _, path := range paths {
		feed, follows, err := a.openFeed(path)
		if err != nil {
			return err
		}
		feeds = append(feeds, inspector.NamedFeed{Name: path, Feed: feed})
		if follows != nil {
			followed = append(followed, follows)
		}
	}
	s, err := startServer(address, feeds)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, s.pages.URL())
	for _, f := range followed {
		go f.followChanges(ctx)
	}
	<-ctx.Done()
	s.stopServing() //nolint:contextcheck // ctx has ended; browsers still read the end
	return nil      // an interruption is how this command ends
}

// pageServer is a server that shows pages.
type pageServer struct {
	pages *inspector.Server
	http  *http.Server
}

// startServer listens on an address of this machine and serves feeds there.
func startServer(address string, feeds []inspector.NamedFeed) (*pageServer, error) {
	listener, err := listenLocally(address)
	if err != nil {
		return nil, err
	}
	pages := inspector.NewServer(listener.Addr().String(), feeds)
	s := &pageServer{pages, &http.Server{
		Handler: pages, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}}
	go func() { _ = s.http.Serve(netutil.LimitListener(listener, maxConnections)) }() // ends with stop
	return s, nil
}

// stopServing lets browsers read the end of what they follow.
func (s *pageServer) stopServing() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // a browser that still reads has had its time
	}
}

// listenLocally listens on address, if that is one of this machine.
func listenLocally(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usage("%s: is not a HOST:PORT, e.g. %s", address, defaultServeAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, cli.Usage("%s: is not an address of this machine alone; use 127.0.0.1:PORT; others must not reach it", address)
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // a listener ends by Close
	if err != nil {
		if cause := (*net.OpError)(nil); errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, cli.Usage("%s: cannot be listened on: %w; name another port, or port 0 for a free one", address, err)
	}
	return listener, nil
}

// maxConnections bounds the connections of browsers; more have to wait.
const maxConnections = 64
