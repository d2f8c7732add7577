// Package tool runs the tools that a model calls: a registry of Go functions
// that checks arguments against their JSON Schema, and a dispatcher that runs
// the calls of one turn side by side.
//
// Whatever goes wrong in a tool is an answer to the model, not an error of the
// run (seed 001 §13): every call gets exactly one result, so that no tool_use
// is ever left without its pair.
package tool

import (
	"context"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Func is a tool. args is a valid JSON object that fits the tool's schema, byte
// for byte as the model wrote it; the Func must not change it. The result needs
// no ToolUseID. An error becomes an error result with the error's text.
type Func func(ctx context.Context, args []byte) (transcript.ToolResult, error)

// Tool is a Func and how it is offered to the model.
type Tool struct {
	Def  transcript.ToolDef
	Func Func
	// Timeout bounds one call; zero: what the Policy says, else no bound.
	Timeout time.Duration
	// Idempotent says that the tool may run again when nobody knows whether it
	// ran before an interruption.
	Idempotent bool
	// ReadOnly says that the tool changes nothing.
	ReadOnly bool
}

// Dispatcher offers tools and answers calls. It is safe for concurrent use.
type Dispatcher interface {
	// Defs returns the tools on offer, always in the same order.
	Defs() []transcript.ToolDef
	// Dispatch answers one call. It always returns a result for call.ID; what
	// goes wrong is an error result.
	Dispatch(ctx context.Context, call transcript.ToolCall) transcript.ToolResult
}

// Traits says what is known of a tool besides its definition. The zero Traits
// are those of a tool of which nothing is known.
type Traits struct {
	Timeout    time.Duration // of one call; zero: no bound
	Idempotent bool          // see Tool.Idempotent
	ReadOnly   bool          // see Tool.ReadOnly
	// MaxText and MaxData bound a result in bytes: its text, and all its parts
	// together. Zero means defaultMaxText and defaultMaxData.
	MaxText, MaxData int
}

// Describer is what a Dispatcher may implement besides. DispatchAll asks it for
// the bounds of each call.
type Describer interface {
	// Traits describes the tool of that name, whether or not it exists.
	Traits(name string) Traits
}

// TraitsOf describes a tool of d as far as d does.
func TraitsOf(d Dispatcher, name string) Traits {
	if t, ok := d.(Describer); ok {
		return t.Traits(name)
	}
	return Traits{}
}

// Status is what became of a call. Every status has exactly one truth about
// side effects (DESIGN §3.6).
type Status string

// The ways in which a call ends.
const (
	StatusComplete    Status = "complete"    // the tool answered
	StatusError       Status = "error"       // the tool, or who guards it, answered with an error
	StatusTimedOut    Status = "timed_out"   // its time was up; it may have had effects
	StatusCancelled   Status = "cancelled"   // the run ended before the tool started
	StatusInterrupted Status = "interrupted" // the run ended while the tool ran; nobody knows
)
