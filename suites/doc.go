// Package suites holds the conformance suites of this project's own agent, rkat,
// as Ginkgo specs: one container for each area of requirements, one spec for each
// requirement and case. The cases and verdicts are those of `conform run`,
// because both call conform/harness.
//
//	go test ./suites/...
//	go test ./suites -conform.source=simulator -ginkgo.label-filter='SIG && anthropic'
//	go run github.com/onsi/ginkgo/v2/ginkgo -p ./suites/...
//
// The labels are the area, id and level of the requirement, the provider and the
// name of the scenario. The flag -conform.source says what answers the agent:
// cassette, simulator or both, which is the default, or live:
//
//	ANTHROPIC_API_KEY=… go test ./suites -conform.source=live -conform.max-requests=50
package suites
