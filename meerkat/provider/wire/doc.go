// Package wire is what the three renderers share: a JSON writer that keeps
// bytes, the pairing of calls with results, tool-call ids, and the question
// who made a block. All of it is pure.
package wire
