// Package agent runs the loop of seed 000 Appendix A: call the model, run the
// tools it asks for, call it again, until it is done.
//
// The loop is a pure function, step, from a state and an input to the next
// state and a list of effects; Run, Resume and Compact are a thin driver that
// performs them. What a session must never forget is an effect of its own and
// stands in front of whatever depends on it: a checkpoint is on disk before the
// tools run, the start of a tool before the tool, the results before the next
// call (seed 000 §4.2, DESIGN §3.6).
//
//	begin ─▶ call ─▶ replied ─▶ dispatch ─▶ starting, settled … answered ─▶ call …
//	            ╰▶ failed ─▶ wait ─▶ waited ─▶ call      (DESIGN §3.11)
//
// A run can be cancelled anywhere: what is complete is kept, calls that are open
// are closed with what is known of them, and the session can be resumed.
package agent
