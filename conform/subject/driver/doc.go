// Package driver judges agents that are loops of a library: a small program of
// theirs, the driver, reads commands and writes answers, one JSON object a line.
// docs/guides/driver.md describes the protocol, schemas/driver.v1.json its messages.
//
// [New] starts the driver once, asks what it is and returns a [harness.Subject]:
//
//	agent, err := driver.New(ctx, driver.Config{Args: []string{"python3", "agent.py"}})
//	outcome, err := harness.Run(ctx, harness.Options{Config: harness.Config{Subject: agent}})
//
// In a case, each process gets hello, then open or resume, then turns. What the model
// said is the output of a step. A driver that answers unsupported, or exits with code
// 127, has its case left out, unless hello declared the ability.
//
// The package promises: a driver that dies, floods, writes garbage or never answers
// ends the step with an exit code and one sentence, within the time limits.
package driver
