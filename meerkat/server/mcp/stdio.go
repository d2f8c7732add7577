package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// endingReader ends the server when its input ends: the client is gone, and nobody
// reads what a run would still say.
type endingReader struct {
	in  io.Reader
	end func()
	err atomic.Pointer[error]
}

// Read implements io.Reader.
func (r *endingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil {
		r.err.Store(&err)
		r.end()
	}
	return n, err
}

// Close implements io.Closer. The stream is the caller's.
func (r *endingReader) Close() error { return nil }

// readError returns why the input could not be read, nil if it just ended.
func (r *endingReader) readError() error {
	err := r.err.Load()
	if err == nil || errors.Is(*err, io.EOF) || errors.Is(*err, os.ErrClosed) || errors.Is(*err, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("stdin: %w", *err)
}

// keptOpen is a stream that is the caller's to close.
type keptOpen struct{ io.Writer }

// Close implements io.Closer.
func (keptOpen) Close() error { return nil }
