package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// lineReader passes on the lines of a client that are JSON. Other lines are refused, and the
// client may go on: the SDK would end the connection. When the input ends, it ends the
// server: the client is gone, and nobody reads what a run would still say.
type lineReader struct {
	in   *bufio.Reader
	out  *lineWriter
	end  func()
	rest []byte // of the line that is passed on
	err  atomic.Pointer[error]
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.err.Load(); err != nil {
			r.end()
			return 0, *err
		}

		// Of a line that is larger than server.MaxMessage a little more than that is kept.
		var line []byte
		var err error
		for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
			var part []byte
			if part, err = r.in.ReadSlice('\n'); len(line) <= server.MaxMessage {
				line = append(line, part...)
			}
		}
		if err != nil {
			r.err.Store(&err) // the last line may have no newline
		}
		switch {
		case len(line) > server.MaxMessage:
			r.out.refuseLine(jsonrpc.CodeParseError, "the line is larger than 16 MiB; send less")
		case json.Valid(line):
			r.rest = line
		case len(bytes.TrimSpace(line)) > 0:
			r.out.refuseLine(jsonrpc.CodeParseError, "the line is not JSON; send JSON-RPC messages, one a line")
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer. The stream is the caller's.
func (r *lineReader) Close() error { return nil }

// lineWriter writes a line at a time to a stream that is the caller's to close.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// Close implements io.Closer.
func (*lineWriter) Close() error { return nil }

// refuseLine answers a line of which no id is known. A client that does not read is noticed when
// its messages are answered.
func (w *lineWriter) refuseLine(code int, why string) {
	answer, _ := json.Marshal(why) // text
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code, answer)
}

// lineTransport is an sdk.IOTransport whose connection goes on after a line of JSON that is
// no message.
type lineTransport struct {
	sdk.IOTransport
	out *lineWriter
}

// Connect implements sdk.Transport.
func (t *lineTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	return lineConnection{c, t.out}, err
}

type lineConnection struct {
	sdk.Connection
	out *lineWriter
}

// Read implements sdk.Connection.
func (c lineConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) {
			return m, err
		}
		c.out.refuseLine(jsonrpc.CodeInvalidRequest, fmt.Sprintf("%.200s; send JSON-RPC messages, one a line", err))
	}
}
