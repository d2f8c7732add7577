// Package agent runs a conversation with a model: it calls the model, runs the
// tools that the reply asks for, and calls it again until the reply is complete.
//
// A [Config] says what the agent is made of. [Run] starts a session, [Resume]
// goes on with a stored one, and [Compact] summarises one; each returns a
// [Result] and reports what happens as [Event] values. Most programs build an
// agent with package meerkat instead, which fills in a Config.
//
//	result, err := agent.Run(ctx, agent.Config{
//		Client: client, // a provider.Client
//		Store:  session.NewMemoryStore(),
//		Model:  "claude-opus-4-5",
//	}, "What is in this folder?")
//
// Inside, the loop is a pure function, step, from a state and an input to the
// next state and a list of effects (step.go). A thin driver performs the effects (driver.go):
//
//	begin ─▶ call ─▶ reply ─▶ run tools ─▶ tools done ─▶ call …
//	            ╰▶ failure ─▶ wait ─▶ call
//
// The files in testdata/steps show it, topic by topic. Each kind of input has a handler, which
// changes the state and adds records of package session:
//
//	beginInput       begin.go       answers calls that an interruption left open, stores the prompt
//	replyInput       turn.go        judges a reply (judge.go), stores it, asks for its tools
//	failureInput     failed.go      calls again, or ends the run; refusal.go leaves out what was refused
//	toolStartInput,
//	toolResultInput  tools.go       stores that a tool starts, and its result
//	newsInput        operations.go  puts results of sub-agents into the conversation
//
// Before each call buildRequest (turn.go) makes a request of the session: handoff.Build decides what
// of the conversation the provider gets. The driver gives the request to Config.Client, which is a
// provider.Client that parses the reply by package stream, runs tools by tool.DispatchAll, and saves
// the records by the session.Writer of Config.Store. compact.go summarises a conversation that has
// become too long.
//
// The package promises: a checkpoint is on disk before the tools run, the start
// of a tool before the tool, and the results before the next call. A run can be
// cancelled at any point: what is complete is kept, open tool calls are closed
// with what is known of them, and the session can be resumed. No tool runs twice
// unless its author allows it, see [Policy].
package agent
