// Package server holds what the servers of an agent share: the runs that are under way,
// and what protects a server that listens for HTTP. Package server/mcp offers an agent
// as MCP tools, package server/acp to editors, package server/rest over HTTP.
//
// A server gets a [Host], which builds an agent for each request. [Runs] bounds how
// many run at once, and can interrupt each by the id of its session. [Guard] stands
// before an HTTP handler: it refuses web pages, clients without the token, bodies that
// are too large or too slow, and readers that stop reading. A [Backend] holds what the
// replicas of one server share: queued runs, their outcomes, and the events of sessions. [Local] is
// the Backend of a server that is alone, package server/replicated has that of several in PostgreSQL.
package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Request says which agent is needed. Empty fields mean what the configuration says,
// or, in a session that exists, what it had before.
type Request struct {
	// Session is the one to go on with; "" starts another.
	Session session.ID
	// NewSession is the id that another one gets; "": a fresh one.
	NewSession session.ID
	Model      string
	Effort     string
	System     string
	// Limits bound the session over all its runs; zero fields: as configured.
	Limits session.Limits
	// Metadata changes what is noted about the session.
	Metadata map[string]string
	// RunID is the id of the next run; "": a fresh one.
	RunID string
	// TraceParent and TraceState are the W3C trace context that the run belongs to.
	TraceParent, TraceState string
	// Attached goes with the prompt.
	Attached []transcript.Part
	// Servers are MCP servers beside those of the configuration.
	Servers []mcp.Server
	// Tools are the server's own.
	Tools []tool.Tool
	// Approve is asked before each call of a tool; nil allows all.
	Approve tool.Approve
	// Steering returns what clients said to the run since it was asked last; see
	// agent.Config. It may be nil.
	Steering func() []ops.Directive
	// Listen receives the events of the runs; it may be nil.
	Listen func(meerkat.Event)
}

// Host is where sessions are, and what builds agents.
type Host struct {
	Store session.Store
	// Artifacts are large results of sub-agents; nil: there are none.
	Artifacts artifact.Store
	// Version is what the server calls itself.
	Version string
	// Now is where times come from; nil: time.Now.
	Now func() time.Time
	// Patience is how long a run that is to begin waits for a store that is away, or for
	// somebody else to give its session back; 0: it fails at once.
	Patience time.Duration
	// Sleep waits between two tries; nil: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Open builds the agent of one request; the caller calls release when its runs
	// have ended. It refuses models that are not allowed.
	Open func(ctx context.Context, r Request) (a *meerkat.Agent, release func(), err error)
}

// IDs returns the source of ids for the agent of a request that starts a session: first
// that of the session, then fresh ones for its sub-agents. Nil: there is no such id.
func (r Request) IDs() func() (session.ID, error) {
	if r.NewSession == "" {
		return nil
	}
	var used atomic.Bool
	return func() (session.ID, error) {
		if used.CompareAndSwap(false, true) {
			return r.NewSession, nil
		}
		return session.NewID()
	}
}
