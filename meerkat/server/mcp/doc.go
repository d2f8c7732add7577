// Package mcp offers an agent as tools of the Model Context Protocol, to other agents
// and to programs that speak MCP.
//
//	s := mcp.New(host)
//	err := s.Serve(ctx, os.Stdin, os.Stdout)            // one client, over stdio
//	http.Handle("/mcp", server.Guard(server.GuardOptions{Token: token}, s.Handler())) // many, over streamable HTTP
//
// The tools are meerkat_run and meerkat_resume, which return when the model has
// answered; meerkat_interrupt, which ends such a run; meerkat_sessions, meerkat_read and
// meerkat_history, which only read. Results are structured. While a run goes on, a
// client that asked for progress is told what happens, and the first notification names
// the session.
//
// The package promises that a session is legal whatever a client does: cancelling a
// call, or ending the connection, interrupts the run, and the session can be resumed.
package mcp
