// Package resume holds the specs of area RES: that another process goes on with exactly what was sent before.
package resume

import "github.com/meerkat-go/conformance/suites/program"

// Area is the part of the requirements' ids before the dash.
const Area = "RES"

// Register adds the area's specs to p.
func Register(p *program.Program) { p.Specs(Area) }
