// Package ordering holds the specs of area ORD: what stands where in a conversation, and that every call is answered.
package ordering

import "github.com/meerkat-go/conformance/suites/program"

// Area is the part of the requirements' ids before the dash.
const Area = "ORD"

// Register adds the area's specs to p.
func Register(p *program.Program) { p.Specs(Area) }
