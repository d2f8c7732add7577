package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// DefaultConnections is how many connections one server has at once if nothing else is
// said.
const DefaultConnections = 128

// Listen listens at address, HOST:PORT, for so many connections at once; others wait, and take
// before long the place of those that have shown no token to a [Guard] of [HTTP]. Unless remote is set, the host must be this machine's loopback.
func Listen(ctx context.Context, address string, remote bool, connections int) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; use 127.0.0.1:0", address, err)
	}
	if !remote && !isLoopbackHost(host) {
		return nil, fmt.Errorf("%s: other machines could reach it; use 127.0.0.1:0, or say --allow-remote", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; use another port, or 0 for a free one", err)
	}
	return newBoundedListener(l, connections), nil
}

// endTime is how long answers may take that are being written when a server ends.
const endTime = 500 * time.Millisecond

// HTTP serves handler until ctx ends; the contexts of requests under way end with it, and
// what they still write is sent. A request has 30 seconds to arrive whole, also one that is
// refused: [Guard] lifts that limit once it has.
func HTTP(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx }, ConnContext: withConn,
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = server.Shutdown(within)
		_ = server.Close()
	})
	err := server.Serve(l)
	if !stop() {
		<-closed
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
