// Rkat runs an agent: a model, tools, and a session that can be resumed.
package main

import (
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/app/rkat/backends"
)

func main() {
	cli.MainWithin(rkat.Patience, rkat.Backends{
		Stores:    map[string]rkat.OpenStore{"sqlite": backends.SQLite},
		Metrics:   backends.Metrics,
		Spans:     backends.Spans,
		Collector: backends.Collector,
		Page:      backends.Page, REST: backends.REST, Database: backends.Database,
		ExamineDatabase: backends.ExamineDatabase,
	}.Run)
}
