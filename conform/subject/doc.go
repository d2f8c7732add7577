// Package subject runs agents that are programs. What it knows of one is in a
// profile, which is loaded or made from a command line:
//
//	profile, err := profiles.Find("claude-code")
//	profile, err := subject.AdHoc(subject.CommandLine{Run: []string{"my-agent", "--print", "{prompt}"}})
//	agent, err := subject.New(profile, subject.Options{Path: path})
//	found, err := harness.Run(ctx, harness.Options{Config: harness.Config{Subject: agent}})
//
// [Preflight] finds out before the first case whether the agent can be judged at
// all: whether it starts, what its version is, whether a prompt leads to a request
// that arrives here. [Observe] does the same and keeps what was seen, for people
// and for [WriteProfile].
//
// The package decides what is started and explains what happened. The harness
// makes the rooms, and package isolate starts the processes.
package subject
