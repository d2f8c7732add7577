// Package meerkat is the door to the SDK: an AgentBuilder that puts a model, a
// store and tools together, and the Agent that runs prompts with them.
//
//	agent, err := meerkat.NewAgent().
//		WithEnv(os.Environ()).
//		WithSystemPrompt("Be brief.").
//		WithMCPServer("files", "npx", "-y", "@modelcontextprotocol/server-filesystem", ".").
//		WithJSONLStore(dir).
//		Build()
//	…
//	defer agent.Close()
//	result, err := agent.Run(ctx, "What is in this folder?")
//	result, err = agent.Resume(ctx, result.SessionID, "And what is not?")
//
// Client, Store and Dispatcher are interfaces of one's own making where ours do
// not fit; the examples have one of each. Nothing here reads the environment of
// the process.
package meerkat
