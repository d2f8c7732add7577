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

// server is one server over all its lives.
type server struct {
	config   Server
	options  Options
	log      *slog.Logger
	mask     func(string) string
	progress *progress

	turn chan struct{} // held by who dials or closes

	mu     sync.Mutex
	link   *link            // nil when there is none
	starts int              // how often it was dialled
	info   Info             // of the last handshake
	now    map[string]offer // what it offers, by our names
	told   map[string]offer // what the agent knows of
	stale  bool             // the list has changed since it was read
	closed bool
}

func newServer(config Server, options Options, p *progress) *server {
	return &server{
		config: config, options: options, progress: p,
		log:  options.Log.With("mcp_server", config.Name),
		mask: masker(config),
		turn: make(chan struct{}, 1),
	}
}

// connected returns the link, and dials if there is none. The end of ctx ends
// the wait.
func (s *server) connected(ctx context.Context) (*link, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.bury()
	if l, err := s.alive(); l != nil || err != nil {
		return l, err
	}
	list, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.stale = index(list.offers), false
	return s.link, nil
}

// bury drops a link that ended when nobody called: what comes next runs on a
// new one, and is not told that it may have run.
func (s *server) bury() {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil && l.over(0) {
		s.drop(l)
	}
}

// alive returns the link that there is, or why there will be none.
func (s *server) alive() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("the run is over")
	case s.link != nil:
		return s.link, nil
	case s.starts > max(s.options.MaxRestarts, 0):
		return nil, fmt.Errorf("it ended %d times and is not started again", s.starts)
	}
	return nil, nil
}

// dial makes a link and reads the list of tools. Its caller has the turn.
func (s *server) dial(ctx context.Context) (listing, error) {
	limit := s.config.StartTimeout
	if limit <= 0 {
		limit = defaultStart
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStart)
	defer cancel()
	s.mu.Lock()
	s.starts++
	s.mu.Unlock()
	l, err := dial(ctx, s.config, s.options, handlers{changed: s.change, progress: s.progress.pass})
	if err != nil {
		return listing{}, s.masked(err)
	}
	list, err := discover(ctx, s.config, l.session)
	if err != nil {
		err = l.failed(ctx, err)
		l.close()
		return listing{}, s.masked(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.info = l, about(s.config, l.session.InitializeResult(), len(list.offers))
	return list, nil
}

// masked keeps the kind of an error and takes the server's secrets out of its text.
func (s *server) masked(err error) error { return maskedError{s.mask(err.Error()), err} }

type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }

// drop forgets a link that has ended.
func (s *server) drop(l *link) {
	s.mu.Lock()
	if s.link == l {
		s.link = nil
	}
	s.mu.Unlock()
	l.close()
}

func (s *server) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

func (s *server) offer(name string) (offer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.now[name]
	return o, ok
}

// answer answers a call of one of the tools that were on offer at the start.
func (s *server) answer(ctx context.Context, call transcript.ToolCall) transcript.ToolResult {
	l, err := s.connected(ctx)
	if err != nil {
		return refusal(call, "the server %s cannot be reached: %v; the tool did not run", s.config.Name, err)
	}
	o, ok := s.offer(call.Name)
	if !ok {
		return refusal(call, "the server %s no longer offers the tool %s; it did not run", s.config.Name, call.Name)
	}
	if refused, ok := o.schema.Refuse(call); ok {
		return refused
	}
	token, done := s.progress.expect(ctx)
	defer done()
	res, err := l.session.CallTool(ctx, &sdk.CallToolParams{
		Meta: sdk.Meta{"progressToken": token}, Name: o.name, Arguments: json.RawMessage(call.Args),
	})
	if err != nil {
		return s.failure(ctx, call, l, err)
	}
	return result(call, res)
}

// failure says what is known of a call that has no result: whether the tool ran.
func (s *server) failure(ctx context.Context, call transcript.ToolCall, l *link, err error) transcript.ToolResult {
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return tool.Interrupted(call.ID)
	case errors.Is(err, sdk.ErrSessionMissing):
		s.drop(l)
		return refusal(call, "the server %s has forgotten the session; the tool did not run: call it again", s.config.Name)
	case errors.As(err, &refused) && refused.Code != codeTransport:
		return refusal(call, "the server %s refused the call: %s", s.config.Name, s.said(refused.Message))
	case l.over(moment):
		why := s.mask(l.ending())
		s.drop(l)
		s.log.Warn("mcp server ended", "why", why)
		return refusal(call, "the server %s ended while the tool ran (%s); the tool may have run, check its effects before calling it again",
			s.config.Name, first(why, "the connection broke"))
	}
	return refusal(call, "the answer of the server %s cannot be read (%s); the tool may have run, check its effects before calling it again",
		s.config.Name, s.said(err.Error()))
}

// said is a text of the server without its secrets, at a length that is bounded.
func (s *server) said(text string) string { return clip(s.mask(text), maxLogLine) }

// codeTransport is what the SDK reports when HTTP fails on the way: nothing that
// the server said about the call.
const codeTransport = -32005

// moment is how long the end of a connection may come after that of a call.
const moment = 100 * time.Millisecond

func refusal(call transcript.ToolCall, format string, args ...any) transcript.ToolResult {
	return transcript.ToolResult{ToolUseID: call.ID, Content: fmt.Sprintf(format, args...), IsError: true}
}

// close ends the server for good.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.turn <- struct{}{} // whoever dials is given up by the router's end, and leaves
	defer func() { <-s.turn }()
	s.mu.Lock()
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

func index(offers []offer) map[string]offer {
	m := make(map[string]offer, len(offers))
	for _, o := range offers {
		m[o.def.Name] = o
	}
	return m
}
