// Package check holds the referee's checks: pure functions from evidence to
// findings. A check reads bytes with this package's own small decoders and
// shares none with any agent, so that a bug on both sides cannot cancel out.
package check

import "github.com/meerkat-go/conformance/conform/evidence"

// Check judges one aspect of one requirement.
type Check struct {
	// ID is "AREA-NNN/aspect", e.g. "SIG-001/signature-bytes".
	ID string
	// Requirement is the AREA-NNN it belongs to.
	Requirement string
	// Run judges ev without changing it. It is deterministic.
	Run func(ev *evidence.Evidence) Result
}

// Result is what a Check saw. Observed counts the places where the rule could
// have been broken: a result with Observed 0 proves nothing (DESIGN §6).
type Result struct {
	Observed int
	Findings []Finding
}

// Finding is one breach: where it is, which rule it breaks, how to mend it.
type Finding struct {
	Check    string `json:"check"`
	Exchange int    `json:"exchange"`
	// Event is the ordinal of the stream event, Offset the byte offset in the
	// body; both -1 where they do not apply.
	Event  int   `json:"event"`
	Offset int64 `json:"offset"`
	// Path points into the request or reply, e.g. messages[3].content[0].signature.
	Path string `json:"path,omitempty"`
	// Rule cites the provider rule or the requirement's source, e.g. "A-37".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}
