package server

import (
	"context"
	"io"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Database is what the replicas of a server share: sessions, and the runs of clients.
// Its owner drains the Backend before closing it.
type Database interface {
	session.Store
	io.Closer
	// OpenBackend begins to execute the runs that clients submit to any replica. It is
	// called once.
	OpenBackend(ctx context.Context, execute Execute, limits BackendLimits) (Backend, error)
}
