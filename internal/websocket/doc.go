// Package websocket carries OpenAI's Responses API over WebSockets as if it were plain
// HTTP. A client sends response.create messages, whose members are those of a POST
// request, and receives the events of each reply as messages, one reply at a time.
//
// [Serve] is the server's side: it hands each response.create to an http.Handler as a
// POST request and sends the events of the handler's reply as messages. A proxy, a
// replayer or a simulator therefore needs no other code for this transport. [Session] is
// the connection that such a request came by; [Session.Connect] opens the client's side,
// an [Upstream], which is an http.RoundTripper for the same requests.
//
// Messages are text. Compression is declined on both sides, as a recorder has to read
// what it keeps. Every message is bounded by [MaxMessage].
package websocket
