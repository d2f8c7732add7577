// Package tool runs the tools that a model calls. A [Tool] is a Go function with a
// JSON Schema; a [Registry] offers several of them and checks the arguments; a
// [Policy] restricts which ones are on offer; [DispatchAll] runs the calls of one
// turn in parallel.
//
//	registry, err := tool.New(tool.Tool{
//		Def: transcript.ToolDef{
//			Name: "shout", Description: "Returns a text in capitals.",
//			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}}}`),
//		},
//		Func: func(ctx context.Context, args []byte) (transcript.ToolResult, error) { … },
//	})
//
// An agent takes tools by meerkat.AgentBuilder.WithTool, and anything else that
// implements [Dispatcher] by WithDispatcher.
//
// The package promises that every call gets exactly one result. What goes wrong in
// a tool, even a panic, is an error result for the model and not an error of the
// run: a conversation with a call that has no result would be refused by every
// provider.
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

// Tool is a Func and its definition for the model.
type Tool struct {
	Def  transcript.ToolDef
	Func Func
	// Timeout limits one call. Zero: the Policy's limit, or none.
	Timeout time.Duration
	// Idempotent says that the tool may run a second time when it is unknown
	// whether it ran before an interruption.
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

// Traits are the properties of a tool that its definition does not tell. The zero
// Traits are those of an unknown tool.
type Traits struct {
	Timeout    time.Duration // of one call; zero: no bound
	Idempotent bool          // see Tool.Idempotent
	ReadOnly   bool          // see Tool.ReadOnly
	// MaxText and MaxData bound a result in bytes: its text, and all its parts
	// together. Zero means defaultMaxText and defaultMaxData.
	MaxText, MaxData int
	// MaxProgress bounds how often a call may report progress; zero means
	// DefaultMaxProgress.
	MaxProgress int
}

// describer is an optional interface of a Dispatcher. DispatchAll asks it for the
// limits of each call.
type describer interface {
	// Traits describes the tool of that name, whether or not it exists.
	Traits(name string) Traits
}

// TraitsOf returns the Traits of a tool of d, the zero Traits if d is not a Describer.
func TraitsOf(d Dispatcher, name string) Traits {
	if t, ok := d.(describer); ok {
		return t.Traits(name)
	}
	return Traits{}
}

// Status says how a call ended. Each status makes one statement about side effects.
type Status string

// The ways in which a call ends.
const (
	StatusComplete    Status = "complete"    // the tool answered
	StatusError       Status = "error"       // the tool or its checks answered with an error
	StatusTimedOut    Status = "timed_out"   // its time was up; it may have had effects
	StatusCancelled   Status = "cancelled"   // the run ended before the tool started; no effects
	StatusInterrupted Status = "interrupted" // the run ended while the tool ran; it may have had effects
)
