// Package transcript holds the persisted shapes of a conversation: messages,
// ordered assistant blocks, opaque continuity tokens and usage.
//
// The package is pure data. Its JSON form is the storage format of sessions
// and is lossless: tool arguments, thinking text and signatures survive
// decoding and encoding byte for byte. Nothing here talks to a provider or to
// a disk; providers render these values and sessions store them.
//
// A [Ledger] holds what became of each tool call: proposed when the model asked
// for it, running before the tool starts, and one of four final states that never
// change. The state is recorded, never inferred from the conversation.
//
// Values are plain structs. Copies share slices; treat a Message that was
// handed to a Session or a Client as read-only.
package transcript
