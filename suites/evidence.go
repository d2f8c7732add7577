package suites

import (
	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

// GoodEvidence returns the evidence of an agent that does everything right,
// from the committed cassettes: what the referee is tested with. Nothing is run.
func GoodEvidence() ([]evidence.Evidence, error) {
	scenarios, err := specs.Scenarios()
	if err != nil {
		return nil, err
	}
	var all []evidence.Evidence
	for _, p := range scenario.Plays(scenarios) {
		ev, err := play.Recorded(p, cassettes.FS)
		if err != nil {
			return nil, err
		}
		all = append(all, ev)
	}
	return all, nil
}
