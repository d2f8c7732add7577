// Package specs holds what is asked of an agent: the catalogue of requirements,
// and the scenarios that put them to the test.
//
// A [Requirement] is one sentence an agent is held to. A [Scenario] is a script
// with two sides: the steps of the agent under test, and the turns of the
// provider. [Scenarios] returns the embedded ones, [ParseScenario] reads one:
//
//	scenarios, err := specs.Scenarios()
//	for _, s := range scenarios {
//		fmt.Println(s.Name, s.Requirements)
//	}
//
// [WireRules] are the rules of the providers, from wire-rules.md, and [Models]
// says which models an agent may ask for.
//
// The package promises: it is formats, parsers and embedded data only, and
// what it returns is shared and read-only. It depends neither on the simulator nor on
// the referee, so both judge by the same files.
package specs
