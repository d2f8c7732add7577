// Package acp offers an agent to editors and other clients of the Agent Client Protocol.
//
//	err := acp.New(host, acp.Options{Models: models}).Serve(ctx, os.Stdin, os.Stdout)
//
// A client opens sessions, new ones or stored ones, with MCP servers of its own. While a
// prompt is answered it gets the text, the thinking, each tool call with its result, and
// the plan of the model. Calls of tools that may change something wait for the client's
// permission, unless the mode of the session says otherwise. The model of a session can
// be changed between prompts, also to that of another provider.
//
// The package promises that a session is legal whatever a client does, and that each
// update of a prompt is sent before its answer.
package acp
