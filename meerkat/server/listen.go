package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/netutil"
)

// maxConnections bounds the connections of one server.
const maxConnections = 128

// Listen listens at address, HOST:PORT. Unless remote is set, the host must be this
// machine's loopback.
func Listen(ctx context.Context, address string, remote bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; use 127.0.0.1:0", address, err)
	}
	if ip := net.ParseIP(host); !remote && !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s: other machines could reach it; use 127.0.0.1:0, or say --allow-remote", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; use another port, or 0 for a free one", err)
	}
	return netutil.LimitListener(l, maxConnections), nil
}

// HTTP serves handler until ctx ends; requests under way end with it.
func HTTP(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
