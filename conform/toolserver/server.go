package toolserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is how the server introduces itself.
const Name = "conform"

// Config says how the server runs. The zero value is useful.
type Config struct {
	// Version is the one the server reports.
	Version string
	// Log gets a [Call] as a line of JSON before each call, and another one after it.
	// Nil: none. It is written to by one call at a time.
	Log io.Writer
}

// Call is a line of the log.
type Call struct {
	Time time.Time `json:"time"`
	Tool string    `json:"tool"`
	// Arguments are the bytes that arrived, nil for a call without.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// End is "" before the call, [EndedWell] or [EndedBadly] after it.
	End string `json:"end,omitempty"`
}

// How calls end.
const (
	EndedWell  = "ok"
	EndedBadly = "error" // the tool failed, or the caller called it off
)

// Names are those of the tools. The slice is the caller's.
func Names() (names []string) {
	for _, t := range toolList() {
		names = append(names, t.name)
	}
	return names
}

// maxMessage bounds one message of a client in bytes.
const maxMessage = 16 << 20

// Serve answers one client that writes to in and reads from out, a JSON-RPC message a
// line, until in ends or ctx is cancelled. It closes neither.
func (c Config) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	pipe := &pipe{in: in, out: out, answered: make(chan struct{}, 1)}
	err := c.newServer().Run(ctx, &sdk.IOTransport{Reader: pipeReader{pipe}, Writer: pipeWriter{pipe},
		MaxLineLength: maxMessage})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being cancelled is how it ends
	}
	return err
}

// Handler answers any number of clients over streamable HTTP. Serve it on loopback:
// it refuses other hosts and asks for no credential.
func (c Config) Handler() http.Handler {
	server := c.newServer()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true,
	})
}

func (c Config) newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: Name, Version: c.Version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	log := callLog{out: c.Log}
	for _, t := range toolList() {
		server.AddTool(t.mcpDefinition(), log.noteCalls(t))
	}
	return server
}

// callLog writes calls to out, one at a time.
type callLog struct {
	mu  sync.Mutex
	out io.Writer
}

// noteCalls notes each call of a tool before it is carried out, and how it ended.
func (l *callLog) noteCalls(t tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		call := Call{Time: time.Now().UTC(), Tool: r.Params.Name, Arguments: r.Params.Arguments}
		if err := l.writeCall(call); err != nil {
			return nil, fmt.Errorf("the log of calls: %w", err)
		}
		content, err := t.run(r.Params.Arguments)
		if t.name == slow {
			err = cmp.Or(err, wait(ctx, secondsOf(r.Params.Arguments)))
		}
		call.Time, call.End = time.Now().UTC(), EndedWell
		if err != nil || ctx.Err() != nil {
			call.End = EndedBadly
		}
		if err := l.writeCall(call); err != nil {
			return nil, fmt.Errorf("the log of calls: %w", err)
		}
		if err != nil {
			return &sdk.CallToolResult{IsError: true,
					Content: []sdk.Content{&sdk.TextContent{Text: r.Params.Name + ": " + err.Error()}}},
				nil //nolint:nilerr // the result tells of it
		}
		return &sdk.CallToolResult{Content: []sdk.Content{content}}, nil
	}
}

// wait waits for some seconds, or until ctx ends: the error is that of ctx.
func wait(ctx context.Context, seconds int) error {
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *callLog) writeCall(c Call) error {
	if l.out == nil {
		return nil
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}
