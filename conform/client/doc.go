// Package client talks to a server as an agent does that loses nothing: it asks, runs the tools of
// package toolserver, and sends everything back as it came. It is how servers and gateways are
// judged, so it keeps what passed, byte for byte and with times:
//
//	server := client.Server{Wire: wires.Find("anthropic"), Base: "http://127.0.0.1:8080", Key: key}
//	talk := client.Conversation{Server: server, Question: wire.Question{Model: "claude-opus-4-5", Stream: true}}
//	answers := talk.Say(ctx, "Echo the word heron.")
//
// It never retries and follows no redirect: what a server does is to be seen. Replies are bounded in
// size and time.
package client
