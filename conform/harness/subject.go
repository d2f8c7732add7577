package harness

import (
	"context"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// Subject is an agent under test. Implementations are safe for concurrent use.
type Subject interface {
	// RunStep runs the agent once. session is what the previous step returned,
	// "" for the first. env is the whole environment of the agent. An error
	// means that the agent could not be run at all; an agent that fails returns
	// a process with its exit code.
	RunStep(ctx context.Context, step Step, session string, env []string) (p evidence.Process, next string, err error)
}
