// Package signature holds the specs of area SIG: that continuity tokens come back whole, in place and to nobody else.
package signature

import "github.com/meerkat-go/conformance/suites/program"

// Area is the part of the requirements' ids before the dash.
const Area = "SIG"

// Register adds the area's specs to p.
func Register(p *program.Program) { p.Specs(Area) }
