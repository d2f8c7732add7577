// Package acp judges agents that speak the Agent Client Protocol, as editors start
// them: JSON-RPC over stdin and stdout, protocol version 1.
//
// [New] starts the agent once, asks it what it can do and returns a
// [harness.Subject]:
//
//	agent, err := acp.New(ctx, acp.Config{Args: []string{"opencode", "acp"}})
//	outcome, err := harness.Run(ctx, harness.Options{Subject: agent})
//
// In a case, each step is a session/prompt. A step that resumes starts another process
// and loads the session there; a step that goes on asks the same process; a step that
// is interrupted sends session/cancel. The agent gets our MCP server and may read and
// write files in the work folder of the case. Permissions are answered by a
// [Permissions] policy. What the agent says is the output of the step.
//
// The package promises: an agent that dies, floods, writes garbage or never answers
// ends the step with an exit code and one sentence, within the time limits.
package acp
