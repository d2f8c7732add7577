// Package streaming holds the specs of area STR: the grammar of streams, and what becomes of those that end badly.
package streaming

import "github.com/meerkat-go/conformance/suites/program"

// Area is the part of the requirements' ids before the dash.
const Area = "STR"

// Register adds the area's specs to p.
func Register(p *program.Program) { p.Specs(Area) }
