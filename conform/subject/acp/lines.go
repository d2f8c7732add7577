package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Limits of what one agent process may write.
const (
	maxMessageBytes = 8 << 20
	maxTotalBytes   = 256 << 20
	maxMessages     = 200_000
	// maxOtherLines is how many lines may be something else than messages of the protocol. Many agents
	// write a banner or a warning first.
	maxOtherLines = 1000
	// maxUnhandled is how many messages may wait for their handler. It is below the
	// length of the SDK's queue, which ends the connection when it is full.
	maxUnhandled = 512
)

// messageReader hands the messages that an agent writes to the SDK, one line at a time
// and within the limits. It leaves out the lines that are not messages.
type messageReader struct {
	in     *bufio.Reader
	closed chan struct{}
	slots  chan struct{} // one for each message that waits for its handler
	rest   []byte        // of the line that is being handed over

	messages, otherLines int
	bytes                int64

	mu    sync.Mutex
	fault error  // why nothing more is read
	other string // the first line that is not a message
}

// overflow is a limit that the agent went beyond.
type overflow struct{ text string }

// Error says which limit it is.
func (o *overflow) Error() string { return o.text }

func overflowErrorf(format string, args ...any) error { return &overflow{fmt.Sprintf(format, args...)} }

func newMessageReader(in io.Reader) *messageReader {
	return &messageReader{in: bufio.NewReaderSize(in, 64<<10), closed: make(chan struct{}), slots: make(chan struct{}, maxUnhandled)}
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.readMessage(); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if faulty := (*overflow)(nil); errors.As(err, &faulty) {
				r.fault = err
			}
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// readMessage reads up to the next message and keeps it in rest.
func (r *messageReader) readMessage() error {
	line, err := r.readLine()
	if len(bytes.TrimSpace(line)) == 0 {
		return err
	}
	var message struct {
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &message) != nil || message.Method == nil && message.Result == nil && message.Error == nil {
		return r.skipLine(line)
	}
	if r.messages++; r.messages > maxMessages {
		return overflowErrorf("wrote more than %d messages", maxMessages)
	}
	if message.Method != nil {
		select {
		case r.slots <- struct{}{}:
		case <-r.closed:
			return io.EOF
		}
	}
	line = append(line, '\n')
	r.rest = line
	return nil
}

// readLine reads one line without its end. The last line may have none.
func (r *messageReader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		switch {
		case len(line)+len(part) > maxMessageBytes:
			return nil, overflowErrorf("wrote a message of more than %d MiB", maxMessageBytes>>20)
		case r.bytes > maxTotalBytes:
			return nil, overflowErrorf("wrote more than %d MiB", maxTotalBytes>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(bytes.TrimSpace(line)) > 0 {
				err = nil // the end of the input comes with the next call
			}
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

func (r *messageReader) skipLine(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.otherLines == 0 {
		r.other = quoteBeginning(string(line))
	}
	if r.otherLines++; r.otherLines > maxOtherLines {
		return overflowErrorf("wrote more than %d lines that are not JSON-RPC messages, the first was %s", maxOtherLines, r.other)
	}
	return nil
}

// releaseSlot is called when the handler of a message is done.
func (r *messageReader) releaseSlot() {
	select {
	case <-r.slots:
	default:
	}
}

// brokenReason says why nothing more is read, "" while all is well.
func (r *messageReader) brokenReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		return ""
	}
	return r.fault.Error()
}

// noiseReason says that the agent wrote what is not a message, "" when it did not.
func (r *messageReader) noiseReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.other == "" {
		return ""
	}
	return "; it wrote lines that are not JSON-RPC messages, the first was " + r.other
}

// quoteBeginning is the beginning of a text, quoted, in one line.
func quoteBeginning(text string) string {
	const most = 120
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%q", text)
}
