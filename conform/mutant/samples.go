package mutant

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/internal/sample"
)

// Samples returns good evidence that shows every requirement: what Selftest
// judges and distorts when no other is at hand. It depends on no agent.
func Samples() ([]evidence.Evidence, error) { return sample.All() }
