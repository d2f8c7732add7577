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

// DatabaseInfo describes a database.
type DatabaseInfo struct {
	Name     string // HOST:PORT/DATABASE
	Sessions int
	Tables   []TableInfo
}

// TableInfo says which version the tables of a part have, and to which this program
// brings them; version 0: there are none yet.
type TableInfo struct {
	Part    string `json:"part"`
	Version int    `json:"version"`
	Newest  int    `json:"newest"`
}
