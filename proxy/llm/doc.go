// Package llm holds everything the proxy knows about the model providers: their
// hosts, what a request asks for, how a reply body is framed, whether a reply is
// complete, and the shape of their errors.
//
// Start with [Provider] and [OperationOf], which classify a request, [Frames],
// which splits a reply body into events, and [IsComplete], which reports whether
// a reply reached its end:
//
//	provider := llm.Provider(host, path)
//	for frame := range llm.Frames(contentType, body) {
//		if llm.IsTerminalEvent(provider, frame.Data) {
//			// the provider finished here
//		}
//	}
//
// Every function is pure and safe for concurrent use. Input is arbitrary bytes:
// malformed input yields a frame that is not Whole or a "no", never an error.
// No function changes the bytes it is given.
package llm
