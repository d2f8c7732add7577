package script

// StandIn and RoleTool are for the tests that need the wires, which import this package.
var (
	StandIn  = (*Script).standIn
	RoleTool = roleTool
)
