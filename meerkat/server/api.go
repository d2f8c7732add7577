package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// The defaults of APIOptions.
const (
	DefaultHeartbeat = 15 * time.Second
	DefaultStreams   = 1000
)

// API answers requests over HTTP from a Host and a Backend. Package rest implements it; a
// program that takes it as an argument does not link the libraries of that package. It is
// safe for concurrent use.
type API interface {
	// Handler answers all requests. It asks for the token itself.
	Handler() http.Handler
	// Streams returns how many event streams are open.
	Streams() int
	// Drain ends the work of the server: the backend drains within ctx, and event streams
	// end when they have sent what there is. Other requests are still answered.
	Drain(ctx context.Context) error
}

// APIOptions are what an API needs beside host and backend. Token must be set.
type APIOptions struct {
	// Token is what clients send as Authorization: Bearer TOKEN.
	Token string
	// Hosts are more names of the server; see GuardOptions.
	Hosts []string
	// Heartbeat is how often an event stream says that it is alive; 0: DefaultHeartbeat.
	Heartbeat time.Duration
	// Streams is how many event streams may be open; 0: DefaultStreams.
	Streams int
	// Metrics answers /metrics behind the token; nil: there is no such path.
	Metrics http.Handler
	// Log gets a line for each request, without what is in it; nil: none.
	Log *slog.Logger
	// CheckModel returns why a model cannot be used; nil: catalog.Lookup.
	CheckModel func(model string) error
}
