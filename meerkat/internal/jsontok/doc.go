// Package jsontok reads and edits JSON as bytes, without ever rewriting what
// it does not understand (DESIGN §3.1, "bytes are sacred").
//
// There are two readers. Fields and Elements walk a value with the jsontext
// tokeniser and take anything that is JSON; they are the general path. Cursor
// is a small forward scanner for the few shapes that make up nearly all of a
// stream; it refuses whatever it does not expect, and its caller then takes the
// general path. Both agree on what is valid (FuzzCursor).
//
// Text is kept losslessly where encoding/json would substitute U+FFFD: a lone
// surrogate escape becomes its WTF-8 bytes, and bytes that are not UTF-8 stay
// as they came. Names may repeat; numbers keep their spelling.
package jsontok
