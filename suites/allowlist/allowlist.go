// Package allowlist holds the specs of area MOD: which models are asked, and that others are refused before any traffic.
package allowlist

import "github.com/meerkat-go/conformance/suites/program"

// Area is the part of the requirements' ids before the dash.
const Area = "MOD"

// Register adds the area's specs to p.
func Register(p *program.Program) { p.Specs(Area) }
