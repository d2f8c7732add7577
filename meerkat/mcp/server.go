package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// server is one configured server; it may be started several times.
type server struct {
	config   Server
	options  Options
	log      *slog.Logger
	mask     func(string) string
	progress *progressRouter

	connecting chan struct{} // held while connecting or closing

	mu         sync.Mutex
	connection *connection      // nil when there is none
	starts     int              // how often it was dialled
	info       Info             // of the last handshake
	offers     map[string]offer // what it offers, by our names
	reported   map[string]offer // what the agent knows of
	stale      bool             // the list has changed since it was read
	closed     bool
}

func newServer(config Server, options Options, p *progressRouter) *server {
	return &server{
		config: config, options: options, progress: p,
		log:        options.Log.With("mcp_server", config.Name),
		mask:       newMasker(config, options.Environ),
		connecting: make(chan struct{}, 1),
	}
}

// ensureConnection returns the connection and makes one if there is none. It stops
// waiting when ctx ends.
func (s *server) ensureConnection(ctx context.Context) (*connection, error) {
	select {
	case s.connecting <- struct{}{}:
		defer func() { <-s.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Drop a connection that ended between two calls. The next call uses a
	// new connection, and its result does not say that the tool may have run.
	s.mu.Lock()
	l := s.connection
	s.mu.Unlock()
	if l != nil && l.hasEnded(0) {
		s.dropConnection(ctx, l)
	}
	if l, err := s.currentConnection(); l != nil || err != nil {
		return l, err
	}
	list, err := s.connectAndList(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offers, s.stale = indexByName(list.offers), false
	return s.connection, nil
}

// currentConnection returns the connection if there is one, or an error if none may
// be made any more.
func (s *server) currentConnection() (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("the run is over")
	case s.connection != nil:
		return s.connection, nil
	case s.starts > max(s.options.MaxRestarts, 0):
		return nil, fmt.Errorf("it ended %d times and is not started again", s.starts)
	}
	return nil, nil
}

// connectAndList connects and reads the list of tools. The caller holds connecting.
func (s *server) connectAndList(ctx context.Context) (toolList, error) {
	limit := s.config.StartTimeout
	if limit <= 0 {
		limit = defaultStart
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, startTimeoutError(limit))
	defer cancel()
	s.mu.Lock()
	s.starts++
	s.mu.Unlock()
	l, err := connect(ctx, s.config, s.options, handlers{changed: s.markStale, progress: s.progress.reportProgress})
	if err != nil {
		return toolList{}, s.maskError(err)
	}
	list, err := listTools(ctx, s.config, l.session)
	if err != nil {
		err = l.handshakeError(ctx, err)
		l.close(ctx)
		return toolList{}, s.maskError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connection, s.info = l, serverInfo(s.config, l.session.InitializeResult(), len(list.offers))
	return list, nil
}

// maskError keeps the kind of an error and takes the server's secrets out of its text.
func (s *server) maskError(err error) error { return maskedError{s.mask(err.Error()), err} }

type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }

// dropConnection forgets a connection that has ended.
func (s *server) dropConnection(ctx context.Context, l *connection) {
	s.mu.Lock()
	if s.connection == l {
		s.connection = nil
	}
	s.mu.Unlock()
	l.close(context.WithoutCancel(ctx)) // in order, whatever became of the call
}

func (s *server) markStale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

func (s *server) findOffer(name string) (offer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.offers[name]
	return o, ok
}

// callTool answers a call of one of the tools that were on offer at the start.
func (s *server) callTool(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	l, err := s.ensureConnection(ctx)
	if err != nil {
		return errorResult(call, "the server %s cannot be reached: %v; the tool did not run", s.config.Name, err)
	}
	o, ok := s.findOffer(call.Name)
	if !ok {
		return errorResult(call, "the server %s no longer offers the tool %s; it did not run", s.config.Name, call.Name)
	}
	if refused, ok := o.schema.RejectCall(call); ok {
		return refused
	}
	token, done := s.progress.registerCall(ctx)
	defer done()
	res, err := l.session.CallTool(ctx, &sdk.CallToolParams{
		Meta: sdk.Meta{"progressToken": token}, Name: o.name, Arguments: json.RawMessage(call.Args),
	})
	if err != nil {
		return s.failureResult(ctx, call, l, err)
	}
	return convertResult(call, res)
}

// failureResult answers a call that failed, and says whether the tool may have run.
func (s *server) failureResult(ctx context.Context, call transcript.ToolCall, l *connection,
	err error) transcript.ToolResult {
	var refused *jsonrpc.Error
	var access accessError
	switch {
	case ctx.Err() != nil:
		return tool.Interrupted(call.ID)
	case errors.As(err, &access):
		return errorResult(call, "the server %s %v; the tool did not run", s.config.Name, access)
	case errors.Is(err, sdk.ErrSessionMissing):
		s.dropConnection(ctx, l)
		return errorResult(
			call, "the server %s has forgotten the session; the tool did not run: call it again", s.config.Name,
		)
	case errors.As(err, &refused) && refused.Code != codeTransport:
		return errorResult(call, "the server %s refused the call: %s", s.config.Name, s.serverText(refused.Message))
	case l.hasEnded(endDelay):
		why := s.mask(l.endReason())
		s.dropConnection(ctx, l)
		s.log.Warn("mcp server ended", "why", why)
		return errorResult(call,
			"the server %s ended while the tool ran (%s); the tool may have run, check its effects before calling it again",
			s.config.Name, firstNonEmpty(why, "the connection broke"))
	}
	return errorResult(call,
		"the answer of the server %s cannot be read (%s); the tool may have run, check its effects before calling it again",
		s.config.Name, s.serverText(err.Error()))
}

// serverText returns a text of the server without its secrets and of limited length.
func (s *server) serverText(text string) string { return clipText(s.mask(text), maxLogLine) }

// codeTransport is the error code that the SDK reports when HTTP itself fails. It is
// not an answer of the server.
const codeTransport = -32005

// endDelay is how long after a failed call the end of its connection is awaited.
const endDelay = 100 * time.Millisecond

func errorResult(call transcript.ToolCall, format string, args ...any) transcript.ToolResult {
	return transcript.ToolResult{ToolUseID: call.ID, Content: fmt.Sprintf(format, args...), IsError: true}
}

// close ends the server for good, soon after hurry has ended.
func (s *server) close(hurry context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.connecting <- struct{}{} // a connection attempt ends with the router and frees the slot
	defer func() { <-s.connecting }()
	s.mu.Lock()
	l := s.connection
	s.connection = nil
	s.mu.Unlock()
	if l != nil {
		l.close(hurry)
	}
}

func indexByName(offers []offer) map[string]offer {
	m := make(map[string]offer, len(offers))
	for _, o := range offers {
		m[o.def.Name] = o
	}
	return m
}
