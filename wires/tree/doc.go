// Package tree reads JSON and server-sent events for everything that judges
// traffic or stands in for a provider. It keeps what a judge and a provider's
// error message need: exact bytes and their offsets, the order of members,
// repeated names, numbers as they were written.
//
// One parser has three ways to treat strings that are not valid Unicode.
// [Parse] keeps invalid UTF-8 and lone surrogates, so that two strings that
// differ on the wire never compare equal. [ParseStrict] refuses such strings, and
// [ParseLenient] replaces the invalid parts by U+FFFD, each as some providers do.
// All three return the root [Node]. The methods of Node work on the nil pointer,
// which stands for an absent value, so that a path is followed without checks:
//
//	root, err := tree.Parse(body)
//	if err != nil {
//		return err
//	}
//	effort := root.Get("reasoning").Get("effort").Text() // "" when anything is missing
//
// While a tree is checked against a schema, [Paths] remembers where each value
// stands; the text of a [Path] is only built when there is something to report.
// [ReadSSE] splits a stream into events.
//
// A tree is never changed after it was parsed, so it may be read by several
// goroutines. Only an editor, which owns its tree, calls [Node.SetItems] and
// [Node.SetMembers].
//
// No agent may use this package: a bug on both sides would stay unseen.
package tree
