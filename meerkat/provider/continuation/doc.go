// Package continuation sends the requests of OpenAI's Responses API over WebSockets, and of
// each only what the provider does not hold yet.
//
// [Transport] is an http.RoundTripper, so that its client knows nothing of it: a request
// brings the whole conversation and the reply is a stream of events. The transport keeps the
// connections open between requests. Where a request begins with the last one that a
// connection carried, followed by its reply, the rest travels alone, with
// previous_response_id. Everything else goes out whole: the first request of a connection,
// and those after a failure, an edited history or another model.
//
// Source: developers.openai.com/docs/guides/websocket-mode.
package continuation
