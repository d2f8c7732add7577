package acp

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/meerkat-go/conformance/internal/isolate"
)

// Limits of what one agent process may write.
const (
	maxTotalBytes = 256 << 20
	maxMessages   = 200_000
	// maxUnhandled is how many messages may wait for their handler. It is below the
	// length of the SDK's queue, which ends the connection when it is full.
	maxUnhandled = 512
)

// messageReader hands the messages that an agent writes to the SDK, one line at a time
// and within the limits.
type messageReader struct {
	*isolate.Messages
	closed chan struct{}
	slots  chan struct{} // one for each message that waits for its handler
	rest   []byte        // of the line that is being handed over

	messages int
	isCall   bool // the last message waits for a handler

	mu    sync.Mutex
	fault error // why nothing more is read
}

func newMessageReader(in io.Reader) *messageReader {
	r := &messageReader{closed: make(chan struct{}), slots: make(chan struct{}, maxUnhandled)}
	r.Messages = (&isolate.Messages{Unit: "message", Plural: "JSON-RPC messages", Most: maxTotalBytes,
		IsMessage: func(line []byte) bool {
			var message struct {
				Method        *string
				Result, Error json.RawMessage
			}
			err := json.Unmarshal(line, &message)
			r.isCall = message.Method != nil
			return err == nil && (r.isCall || message.Result != nil || message.Error != nil)
		}}).Open(in)
	return r
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.readMessage(); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if faulty := (*isolate.OverflowError)(nil); errors.As(err, &faulty) {
				r.fault = err
			}
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// readMessage keeps the next message in rest.
func (r *messageReader) readMessage() error {
	line, err := r.Next()
	if err != nil {
		return err
	}
	if r.messages++; r.messages > maxMessages {
		return isolate.Overflow("wrote more than %d messages", maxMessages)
	}
	if r.isCall {
		select {
		case r.slots <- struct{}{}:
		case <-r.closed:
			return io.EOF
		}
	}
	r.rest = append(line, '\n')
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
