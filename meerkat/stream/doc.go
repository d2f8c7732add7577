// Package stream turns the bytes of a provider's reply into ordered blocks.
//
// [SSE] cuts a byte stream into events. A [Dialect] knows what the events of one
// provider mean and drives an [Assembler], which builds the assistant message and
// reports [Event] values while it grows. [NewParser] joins the three:
//
//	parser := anthropic.Codec{}.NewParser(stream.Options{OnEvent: show})
//	_, err := io.Copy(parser, response.Body)
//	reply, err := parser.Close()
//
// The package is pure: bytes in, blocks out. The blocks do not depend on how the
// bytes were cut. A reply without the provider's terminal event is an
// [*IncompleteError], a failure inside the stream a [*ProviderError], and a
// departure from the grammar an [*AnomalyError] unless Options.Lenient is set.
package stream
