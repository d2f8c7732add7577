// Package meerkat is the door to the SDK: an AgentBuilder that puts a model, a
// store and tools together, and the Agent that runs prompts with them.
//
//	agent, err := meerkat.NewAgent().
//		WithAnthropic(key).
//		WithSystemPrompt("Be brief.").
//		WithJSONLStore(dir).
//		Build()
//	…
//	result, err := agent.Run(ctx, "What is in this folder?")
//	result, err = agent.Resume(ctx, result.SessionID, "And what is not?")
//
// Nothing here reads the environment of the process.
package meerkat
