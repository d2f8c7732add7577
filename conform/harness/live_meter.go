package harness

import (
	"bytes"
	"io"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// meter reads a reply and charges the tokens that it reports, each before the bytes
// that report it are passed on.
type meter struct {
	io.ReadCloser
	provider    string
	contentType string
	announced   int64 // length of the reply, -1 when unknown
	asked       int64 // length of the request
	isPaid      bool  // a reply without a report costs tokens, too
	charge      func(u Usage, isReported bool)

	length  int64
	pending []byte // of the frame that has not ended
	counted counted
	charged Usage
	isDone  bool
}

// maxFrame is the longest piece of a reply that is searched for a report, in bytes.
const maxFrame = 16 << 20

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.length += int64(n)
	if len(m.pending)+n <= maxFrame {
		m.pending = append(m.pending, p[:n]...)
	}
	isLast := err != nil || m.length == m.announced
	if isLast || bytes.Contains(tailBytes(m.pending, n), []byte("\n\n")) || bytes.Contains(tailBytes(m.pending, n), []byte("\n\r\n")) {
		m.readFrames(isLast)
	}
	if isLast {
		m.finish()
	}
	return n, err
}

// tailBytes is the last n bytes and those before them in which a blank line can have begun.
func tailBytes(b []byte, n int) []byte { return b[max(0, len(b)-n-2):] }

// readFrames charges what the frames report that have ended.
func (m *meter) readFrames(isLast bool) {
	if !isLast && llm.FramingOf(m.contentType, m.pending) != llm.EventStream {
		return // a document reports in its middle and is used as a whole
	}
	end := 0
	for frame := range llm.Frames(m.contentType, m.pending) {
		if frame.Whole || isLast {
			m.counted.addFrame(m.provider, frame.Data)
			end = frame.End
		}
	}
	m.pending = m.pending[end:]
	if u := m.counted.toUsage(); u != m.charged {
		m.charge(u.minusUsage(m.charged), true)
		m.charged = u
	}
}

// finish charges an estimate for a paid reply that reported nothing.
func (m *meter) finish() {
	if m.isDone {
		return
	}
	m.isDone = true
	if m.isPaid && !m.counted.isReported {
		m.charge(estimateUsage(m.asked, m.length), false)
	}
}

// Close implements io.Closer. A reply that was cut costs what it came to.
func (m *meter) Close() error {
	m.readFrames(true)
	m.finish()
	return m.ReadCloser.Close()
}
