// Package toolserver is an MCP server with the tools that scenarios call by role, so
// that any agent that speaks MCP can use them: conform_echo, conform_fail,
// conform_noargs, conform_slow, conform_large, conform_image and conform_awkward.
//
//	err := toolserver.Config{Version: version, Log: file}.Serve(ctx, os.Stdin, os.Stdout)
//	http.Handle("/mcp", toolserver.Config{}.Handler())
//
// No tool changes anything, and all say so, so that agents need no approval. The
// names are legal for all providers. Each call is noted in Config.Log before it is
// carried out: what arrives there is compared with the calls on the wire.
package toolserver
