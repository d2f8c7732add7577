// Package mutant distorts evidence the way real agents, gateways and recorders
// do, to show that the checks of the referee notice.
//
// A [Mutant] makes one change; [All] lists them. [Selftest] judges good evidence,
// which must pass, and every mutant of it, which must not:
//
//	good, err := mutant.Samples()
//	...
//	table := mutant.Selftest(good, rules)
//	if !table.OK() {
//		fmt.Println(table.Faults)
//	}
//
// A requirement names its mutants in the catalogue of package specs, and the two
// must agree. Mutants never write to the evidence they are given, and make the
// same change each time.
package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// Mutant is one distortion.
type Mutant struct {
	// ID names it in the catalogue, e.g. "drop-thinking".
	ID string
	// Does says in one phrase what it does to the evidence.
	Does string
	// Kills are the requirements whose checks must notice it.
	Kills []string
	// Apply returns distorted evidence, or false where there is nothing to
	// distort. It does not change ev.
	Apply func(ev evidence.Evidence) (evidence.Evidence, bool)
}

// All returns every mutant in order of ID. The slice is the caller's.
func All() []Mutant {
	all := slices.Concat(pairingMutants, replayMutants, formMutants, anthropicMutants, openAIMutants,
		geminiMutants, originMutants, modelMutants, resumeMutants, streamMutants, endingMutants, cassetteMutants, errorMutants, parameterMutants, toolSchemaMutants, opaqueMutants, schemaMutants,
		redactorMutants, hygieneMutants, toolMutants, continuationMutants, cacheMutants,
		mediaMutants, compactionMutants, namespaceMutants, serverToolMutants, betaMutants, recoveryMutants, operationMutants, budgetMutants)
	slices.SortFunc(all, func(a, b Mutant) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// cloneEvidence copies what mutants replace; bodies are replaced whole, never written to.
func cloneEvidence(ev evidence.Evidence) evidence.Evidence {
	ev.Exchanges = slices.Clone(ev.Exchanges)
	for i := range ev.Exchanges {
		ev.Exchanges[i].Response.Header = ev.Exchanges[i].Response.Header.Clone()
	}
	ev.Process = slices.Clone(ev.Process)
	return ev
}
