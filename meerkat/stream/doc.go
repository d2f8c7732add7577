// Package stream reads provider replies: a server-sent-events reader, the
// normalised events of seed 000 §3.3 and the assembler that turns wire blocks
// into an ordered assistant message (seed 000 §3.4 with DESIGN §3.2 and §3.3).
//
// The package is pure: bytes in, blocks out. Provider grammars live in
// meerkat/provider/…, which drive the assembler.
package stream
