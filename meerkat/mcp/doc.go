// Package mcp is a client of Model Context Protocol servers. A Router starts
// or reaches several of them, offers their tools under names that every
// provider takes, and routes the model's calls: it is a tool.Dispatcher.
//
// A server is not trusted with more than its task. It gets the environment it
// was given and nothing else, its output is bounded, what it says on stderr
// goes to the log without its secrets, and whatever it does wrong is one error
// result. It is a process group that Close ends, also against its will.
//
// What was offered when a session began stays on offer (DESIGN §3.5): changes
// of a server's list are told by Router.Changes, for the agent to append.
package mcp
