package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// maxSessions bounds the sessions that one client has open.
const maxSessions = 64

// Options say how a server behaves. The zero Options are usable.
type Options struct {
	// Models are those that a client may choose from.
	Models []string
	// Mode is the one in which sessions begin; "": ModeAsk.
	Mode Mode
	// Log gets what goes wrong in the protocol; nil: nothing does.
	Log *slog.Logger
	// Runs bounds the prompts that are answered at once; nil: server.DefaultMaxRuns.
	Runs *server.Runs
}

// Server offers the agents of a host to one client.
type Server struct {
	host    server.Host
	options Options
}

// New returns a server.
func New(host server.Host, options Options) *Server {
	if options.Mode == "" {
		options.Mode = ModeAsk
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Runs == nil {
		options.Runs = &server.Runs{}
	}
	return &Server{host, options}
}

// errUnreadable says that the SDK gave up on a client that still writes: its lines have
// 10 MiB and its queue of notifications is bounded.
var errUnreadable = errors.New("stdin: a message is larger than 10 MiB, or too many notifications wait; send less at once")

// Serve answers the client that writes to in and reads from out, until in ends or ctx
// does; prompts under way end with it. It closes neither. It returns an error if the
// client sends more than can be read.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &connection{Server: s, ctx: ctx, sessions: map[session.ID]*openSession{}}
	ready := make(chan struct{})
	input := &gatedReader{ready: ready, in: in, end: cancel}
	c.client = sdk.NewAgentSideConnection(c, out, input)
	c.client.SetLogger(s.options.Log)
	close(ready)
	select {
	case <-c.client.Done():
	case <-ctx.Done():
	}
	unreadable := ctx.Err() == nil && !input.ended.Load()
	cancel()
	// End all sessions. Their prompts have been told to stop.
	c.mu.Lock()
	c.closed = true
	all := c.sessions
	c.sessions = nil
	c.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	if unreadable {
		return errUnreadable
	}
	return nil
}

// gatedReader holds back what the client sends until the connection can be used, and
// says when the client is gone.
type gatedReader struct {
	ready <-chan struct{}
	in    io.Reader
	end   func()
	ended atomic.Bool
}

// Read implements io.Reader.
func (g *gatedReader) Read(p []byte) (int, error) {
	<-g.ready
	n, err := g.in.Read(p)
	if err != nil {
		g.ended.Store(true)
		g.end()
	}
	return n, err
}

// connection is the agent's side of the protocol. The SDK calls its methods, several at
// once.
type connection struct {
	*Server
	ctx    context.Context //nolint:containedctx // ends with the connection
	client *sdk.AgentSideConnection

	mu       sync.Mutex
	sessions map[session.ID]*openSession
	closed   bool
}

// Initialize implements sdk.Agent.
func (c *connection) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "rkat", Title: new("Meerkat"), Version: c.host.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true},
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
				Close: &sdk.SessionCloseCapabilities{},
			},
		},
	}, nil
}

// Authenticate implements sdk.Agent. Keys are in the agent's own configuration.
func (c *connection) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, sdk.NewInvalidParams(map[string]any{
		"error": "authenticate: there is no method; keys are in the agent's environment or configuration",
	})
}

// Cancel implements sdk.Agent. The SDK has ended the context of the prompt already; this
// also ends one that has only begun.
func (c *connection) Cancel(_ context.Context, p sdk.CancelNotification) error {
	c.options.Runs.Interrupt(session.ID(p.SessionId))
	return nil
}
