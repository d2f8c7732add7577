// Package ledger knows what became of each tool call, so that nobody has to
// infer it from the conversation (DESIGN §3.6, seed 003). A Ledger is a value
// over an append-only log: proposed when the model asked, running before the
// tool starts, and one of four ends that never change again.
//
// The package is pure; a session folds its records into a Ledger and package
// handoff reads it.
package ledger
