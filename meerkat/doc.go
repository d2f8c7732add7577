// Package meerkat is the SDK: it runs agents on the Anthropic, OpenAI and Gemini
// APIs. An agent is a model, tools, and sessions that can be resumed, also by
// another process and with a model of another provider.
//
// Start with [NewAgent], which returns an [AgentBuilder], and the [Agent] that it
// builds:
//
//	agent, err := meerkat.NewAgent().
//		WithEnv(os.Environ()). // ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY
//		WithSystemPrompt("Be brief.").
//		WithMCPServer("files", "npx", "-y", "@modelcontextprotocol/server-filesystem", ".").
//		WithJSONLStore("sessions").
//		Build()
//	…
//	defer agent.Close()
//	result, err := agent.Run(ctx, "What is in this folder?")
//	result, err = agent.Resume(ctx, result.SessionID, "And what is missing?")
//
// The command rkat builds its agents in the same way. What the package does not
// have can be replaced: a provider by [AgentBuilder.WithClient], a store by
// [AgentBuilder.WithStore], a source of tools by [AgentBuilder.WithDispatcher];
// there is an example of each.
//
// The package promises:
//
//   - A session is written before its effects happen, and can be resumed after a
//     crash at any point.
//   - What was sent to a provider once never changes: thinking, signatures and
//     calls of tools go back byte for byte, or not at all.
//   - Each call of a tool gets exactly one result.
//   - Keys are in no session, log, event or error.
//   - Nothing is read from the process: environment, proxy and certificates are
//     what the caller gives.
package meerkat
