// Package jsontree reads the JSON of a request once, into a tree that keeps what a
// provider's error messages need: the order of members, repeated names, numbers as
// they were written, and the bytes of every value.
//
// [ParseStrict] and [ParseLenient] return the root [Node]. The methods of Node
// work on the nil pointer, which stands for an absent value, so that a path is
// followed without checks:
//
//	root, err := jsontree.ParseStrict(body, 200)
//	if err != nil {
//		return err
//	}
//	effort := root.Get("reasoning").Get("effort").Text() // "" when anything is missing
//
// While a tree is checked against a schema, [Paths] remembers where each value
// stands; the text of a [Path] is only built when there is something to report.
//
// A tree is never changed after it was parsed, so it may be read by several
// goroutines. It shares one copy of the body.
package jsontree
