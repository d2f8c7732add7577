// Package handoff builds what goes to a provider from what happened: a pure
// function of the conversation, the ledger and the target, with one
// Degradation for each thing that the target cannot be given (hand-off rules
// H1 to H20, seed 003). Renderers write what it decided; they refuse what is
// still broken and mend nothing.
//
// Principles: no token goes to anybody but its origin; what is replayed is
// replayed unaltered; pairs move together; leaving out is better than
// imitating; the same input gives the same output; every loss is told.
package handoff
