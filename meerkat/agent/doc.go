// Package agent runs the loop of seed 000 Appendix A: call the model, run the
// tools it asks for, call it again, until it is done.
//
// The loop is a pure function, step, from a state and an input to the next
// state and a list of effects; Run and Resume are a thin driver that performs
// them. What a session must never forget is an effect of its own and stands in
// front of whatever depends on it: a checkpoint is on disk before the tools
// run, the results are on disk before the next call (seed 000 §4.2).
package agent
