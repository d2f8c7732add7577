package wiretest

// The reasons why a requirement cannot be broken by changing a request.
const (
	endOfProcess = "speaks of how a process ends, which is on no wire"
	notSent      = "rkat sends nothing in any case that could break it: "
)

// unbroken are the requirements that no change of a request breaks in a case of rkat, and
// why. A test holds that no other requirement is left out.
var unbroken = map[string]string{
	"CAS-001": "speaks of cassettes only; here the simulator answers, to a changed request as well",
	"MOD-003": endOfProcess,
	"STR-008": endOfProcess,
	"STR-010": endOfProcess,
	"PAR-005": notSent + "a tool choice",
	"SIG-021": notSent + "what the provider's own tools returned",
	"TSC-005": notSent + "a schema with an enum of another type",
	"TSC-006": notSent + "a strict tool schema",
	"TSC-007": notSent + "an output format",
}
