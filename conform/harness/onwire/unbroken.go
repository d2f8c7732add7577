package onwire

// The reasons why a requirement is not broken by changing one request.
const (
	endOfProcess = "speaks of how a process ends, which is on no wire"
	takesTwo     = "takes two changed requests, and one is changed"
	// severalAgents is the reason where several conversations run on one wire.
	severalAgents = "speaks of several agents, and its mutants change more than one request"
	// notSent is the reason where there is nothing to change.
	notSent = "rkat sends no request in these cases that its mutants can change"
)

// unbroken are the requirements that no change of a single request breaks, and why.
var unbroken = map[string]string{
	"CAS-001": "speaks of cassettes only; here the simulator answers, to a changed request as well",
	"MOD-003": endOfProcess,
	"STR-008": endOfProcess,
	"STR-010": endOfProcess,
	"STR-011": endOfProcess,
	"CAC-001": takesTwo,
	"CAC-003": "takes a request before it that wrote its prompt into the cache, and the first one that can be changed follows none",
	"ERR-005": takesTwo,
	"OPS-002": severalAgents,
	"OPS-003": severalAgents,
	"OPS-004": severalAgents,
	"BUD-001": "counts requests, and one more cannot be made of another",
	"BUD-002": takesTwo,
	"MED-001": "takes a request of more than 32 MB",
}
