// Package jsontok reads and edits JSON as bytes, without ever rewriting what
// it does not understand: bytes stay as they came.
//
// Cursor is a forward scanner. It refuses what it does not expect; what it
// accepts, and where it ends, is what the jsontext tokeniser says (FuzzCursor,
// FuzzFields). Fields and Elements walk a value with it, and turn to the
// tokeniser for nesting too deep for it and for the reason of an error.
//
// Text is kept losslessly where encoding/json would substitute U+FFFD: a lone
// surrogate escape becomes its WTF-8 bytes, and bytes that are not UTF-8 stay
// as they came. Names may repeat; numbers keep their spelling.
package jsontok
