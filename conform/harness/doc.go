// Package harness runs an agent through the scenarios of package specs and
// judges what it sent. It is what `conform run` and the Ginkgo suites share: both
// get the same verdicts, because both call this package.
//
// Start with these types:
//
//   - [Subject] is the agent under test. [InProcess] and [Executable] run rkat;
//     any other agent implements the interface.
//   - [Case] is one scenario with one provider, [CaseRun] is what running it
//     brought home: the evidence, and where the run deviated from the scenario.
//   - [Runner] runs one case at a time for a caller that decides when; [Run] runs
//     every case that a filter selects, in parallel, and judges all of them.
//
// A program that runs the whole set against its own agent:
//
//	found, err := harness.Run(ctx, harness.Options{
//		Subject: mySubject,
//		Sources: []evidence.Source{evidence.SourceSimulator},
//		Filter:  "SIG && anthropic",
//	})
//	report.NewRun(report.Run{Set: report.NewSet("mine", found.Requirements), Expected: found.Expected}, found.Results)
//
// The agent runs behind the intercepting proxy with made-up keys and folders of
// its own, so it needs neither a key nor a network. Replies come from a committed
// cassette or from the strict simulator. Results are plain data. An error of the
// harness itself is never blamed on the agent: it is reported as such.
//
// The package imports the proxy and the simulator, but nothing of the agent and
// no test framework.
package harness
