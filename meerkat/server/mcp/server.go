package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// sessionTimeout is how long an MCP session over HTTP may be idle.
const sessionTimeout = 30 * time.Minute

// MaxClients bounds the MCP sessions that clients have over HTTP at once. Each takes about
// 15 KiB until it has been idle for half an hour.
const MaxClients = 1000

// instructions are for the model of the client.
const instructions = `Meerkat runs an agent of its own: a model, its tools, and a session that is kept.
meerkat_run starts a session and returns the answer and the session's id; meerkat_resume
goes on with it. Calls take as long as the agent works; ask for progress to follow them.`

// Server offers the agents of a host. It is safe for concurrent use.
type Server struct {
	host server.Host
	runs *server.Runs
	mcp  *sdk.Server
}

// New returns a server that lets runs bound what goes on at once.
func New(host server.Host, runs *server.Runs) *Server {
	s := &Server{host: host, runs: runs}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "meerkat", Title: "Meerkat", Version: host.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		})
	s.addRunTools()
	s.addSessionTools()
	return s
}

// Serve answers one client that writes to in and reads from out, a JSON-RPC message a
// line, until in ends or ctx does; runs under way end with it. It closes neither.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return ServeStdio(ctx, s.mcp, in, out)
}

// Handler answers any number of clients over streamable HTTP. It asks for no
// credentials: put server.Guard before it.
func (s *Server) Handler() http.Handler { return NewHandler(s.mcp) }

// ServeStdio serves any MCP server as [Server.Serve] does.
func ServeStdio(ctx context.Context, protocol *sdk.Server, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := &lineWriter{out: out}
	input := &lineReader{in: bufio.NewReader(in), out: lines, end: cancel}
	err := protocol.Run(ctx, &lineTransport{sdk.IOTransport{Reader: input, Writer: lines, MaxLineLength: -1}, lines})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		err := input.err.Load()
		if err == nil || errors.Is(*err, io.EOF) || errors.Is(*err, os.ErrClosed) || errors.Is(*err, io.ErrClosedPipe) {
			return nil
		}
		return fmt.Errorf("stdin: %w", *err)
	}
	return err
}

// NewHandler serves any MCP server as [Server.Handler] does, to MaxClients at once.
func NewHandler(protocol *sdk.Server) http.Handler {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return protocol },
		&sdk.StreamableHTTPOptions{
			MaxRequestBodyBytes: server.MaxMessage, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // server.Guard refuses other hosts, and knows more names
			SessionTimeout:             sessionTimeout, EventStore: sdk.NewMemoryEventStore(nil),
		})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" && countClients(protocol) >= MaxClients {
			w.Header().Set("Retry-After", "60")
			http.Error(
				w,
				fmt.Sprintf("sessions: %d clients have one and no more are accepted; end one with DELETE", MaxClients),
				http.StatusServiceUnavailable,
			)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// countClients returns how many sessions clients have open.
func countClients(protocol *sdk.Server) (n int) {
	for range protocol.Sessions() {
		n++
	}
	return n
}
