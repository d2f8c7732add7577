package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxOtherOutput bounds what a server may print between two messages.
const maxOtherOutput = 32 << 20

// messageReader reads a server's stdout and passes only JSON-RPC messages on. Many
// servers print a greeting or log lines there, and one such line would end the
// connection.
type messageReader struct {
	in          *bufio.Reader
	limit       int
	onOtherLine func(line []byte) // called with each line that is not a message, cut to 4 KiB

	pending []byte
	skipped int

	mu    sync.Mutex
	cause error         // why there are no more messages, if it is the server's fault
	ended chan struct{} // closed when there are no more
}

func newMessageReader(in io.Reader, limit int, noise func([]byte)) *messageReader {
	return &messageReader{
		in: bufio.NewReaderSize(in, 64<<10), limit: limit, onOtherLine: noise, ended: make(chan struct{}),
	}
}

// Read implements io.Reader; it never returns part of a message before it has
// seen the whole.
func (m *messageReader) Read(p []byte) (int, error) {
	for len(m.pending) == 0 {
		line, err := readLine(m.in, m.limit)
		if err != nil {
			return 0, m.recordEnd(err)
		}
		if isMessage(line) {
			m.pending, m.skipped = append(keepExactValues(line), '\n'), 0
			break
		}
		if isBrokenMessage(line) {
			return 0, m.recordEnd(errors.New("it sent a message that is not JSON-RPC 2.0"))
		}
		m.onOtherLine(line[:min(len(line), maxLogLine)])
		if m.skipped += len(line) + 1; m.skipped > maxOtherOutput {
			return 0, m.recordEnd(fmt.Errorf("it printed %d bytes that are not messages", m.skipped))
		}
	}
	n := copy(p, m.pending)
	m.pending = m.pending[n:]
	return n, nil
}

// readLine returns one line without its end. The last may lack one.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > limit:
			return nil, messageSizeError(limit)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

func (m *messageReader) recordEnd(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.ended: // the first reason is the true one
		return err
	default:
		close(m.ended)
	}
	if !errors.Is(err, io.EOF) {
		m.cause = err
	}
	return err
}

// failureCause returns what the server did wrong; nil when it just ended.
func (m *messageReader) failureCause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cause
}

// isBrokenMessage reports whether a line was meant to be a message: the call that waits
// for it would otherwise wait until its time is up.
func isBrokenMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	if bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return true
	}
	var answer struct {
		ID            json.RawMessage
		Result, Error json.RawMessage
	}
	return json.Unmarshal(line, &answer) == nil && answer.ID != nil && (answer.Result != nil || answer.Error != nil)
}

func isMessage(line []byte) bool {
	var head struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(line, &head) == nil && head.Version == "2.0"
}
