// Package mcp is a client of Model Context Protocol servers. A [Router] starts or
// reaches several servers, offers their tools under names that every provider
// accepts, and routes the calls of the model to them. It is a tool.Dispatcher.
//
// An agent gets a Router by meerkat.AgentBuilder.WithMCP. Without an agent:
//
//	router, err := mcp.Open(ctx, []mcp.Server{
//		{Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."}},
//		{Name: "git", URL: "https://tools.example.com/mcp"},
//	}, mcp.Options{})
//	…
//	defer router.Close()
//	fmt.Println(router.Defs()) // files__read_file, git__log, …
//
// Start with [Server], which says how a server is reached, and [Open]. The package
// promises:
//
//   - A server gets the environment that it was given and a few harmless
//     variables, nothing else. Its headers go to its own host only.
//   - What a server sends is limited in size. What it prints on stderr goes to the
//     log without the secrets that it was given.
//   - A server that crashes, hangs or breaks the protocol causes one error result
//     for the model; the run goes on.
//   - A command is a process group, and [Router.Close] ends the whole group.
//   - The tools on offer when a session began stay on offer. [Router.Changes]
//     reports what a server changed since then.
package mcp
