// Package transcript holds the persisted shapes of a conversation: messages,
// ordered assistant blocks, opaque continuity tokens and usage.
//
// The package is pure data. Its JSON form is the storage format of seed 000
// §3.1 and is lossless: tool arguments, thinking text and signatures survive
// decoding and encoding byte for byte. Nothing here talks to a provider or to
// a disk; providers render these values and sessions store them.
//
// Values are plain structs. Copies share slices; treat a Message that was
// handed to a Session or a Client as read-only.
package transcript
