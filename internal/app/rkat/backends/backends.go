// Package backends holds the parts of rkat that bring large dependencies: sessions
// in SQLite and PostgreSQL, the page of a session, the server of the HTTP API, metrics for Prometheus, spans
// and metrics for OpenTelemetry. The command cmd/rkat gives them to package rkat; a
// program that embeds rkat, such as conform, leaves them out and links none of these
// libraries:
//
//	rkat.Backends{
//		Stores:  map[string]rkat.OpenStore{"sqlite": backends.SQLite},
//		Metrics: backends.Metrics,
//		Spans:   backends.Spans,
//		Collector: backends.Collector,
//		Page: backends.Page, REST: backends.REST, Database: backends.Database, ExamineDatabase: backends.ExamineDatabase,
//	}.Run(ctx, args, stdin, stdout, stderr, env)
package backends

import (
	"io"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/page"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
)

// SQLite opens the sessions in one database below folder. The store is an
// io.Closer, which the caller closes.
func SQLite(folder string) (session.Store, error) {
	store, err := sqlstore.OpenSQLite(folder)
	if err != nil {
		return nil, err // and not a nil *sqlstore.SQLite in an interface
	}
	return store, nil
}

// Page writes a session as one HTML page.
func Page(w io.Writer, s *session.Session) error { return page.Write(w, s) }
