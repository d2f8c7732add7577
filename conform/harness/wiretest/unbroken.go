package wiretest

// The reasons why a requirement cannot be broken by changing a request.
const (
	endOfProcess = "speaks of how a process ends, which is on no wire"
	takesTwo     = "takes two changed requests, and one is changed"
	notSent      = "rkat sends nothing in any case that could break it: "
)

// unbroken are the requirements that no change of a request breaks in a case of rkat, and
// why. A test holds that no other requirement is left out.
var unbroken = map[string]string{
	"CAS-001":  "speaks of cassettes only; here the simulator answers, to a changed request as well",
	"MOD-003":  endOfProcess,
	"STR-008":  endOfProcess,
	"STR-010":  endOfProcess,
	"CAC-001":  takesTwo,
	"CAC-003":  notSent + "a cache mark that a later request must repeat",
	"CAC-004":  notSent + "a cache key",
	"ERR-004":  "no case goes on after the model declined with Anthropic",
	"ERR-005":  takesTwo,
	"MCP-002":  notSent + "a result of a tool server",
	"MCP-003":  notSent + "a list of tools that grows",
	"TOOL-001": notSent + "a result of a tool that does not exist",
	"TOOL-003": notSent + "a result that was cut",
	"TOOL-004": notSent + "a forced tool",
	"WSK-001":  notSent + "a message over a WebSocket",
	"WSK-002":  notSent + "a message over a WebSocket",
	"WSK-003":  notSent + "a message over a WebSocket",
	"WSK-004":  notSent + "a message over a WebSocket",
	"PAR-005":  notSent + "a tool choice",
	"SIG-021":  notSent + "what the provider's own tools returned",
	"TSC-005":  notSent + "a schema with an enum of another type",
	"TSC-006":  notSent + "a strict tool schema",
	"TSC-007":  notSent + "an output format",
}
