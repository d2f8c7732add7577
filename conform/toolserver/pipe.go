package toolserver

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// pipe is the connection to one client. The server drops what it has not answered when
// its input ends, so the pipe keeps the end back until every request has its answer:
// a client may write its requests, close its end and read.
type pipe struct {
	in  io.Reader
	out io.Writer

	mu       sync.Mutex
	open     int           // requests without an answer
	answered chan struct{} // has room for one, gets one for each answer
	asked    lineSplitter
	written  lineSplitter
}

// maxDrain bounds how long the end of the input is kept back.
const maxDrain = (maxSeconds + 1) * time.Second

type pipeReader struct{ *pipe }

type pipeWriter struct{ *pipe }

// Close implements io.Closer. The streams are the caller's.
func (pipeReader) Close() error { return nil }

// Close implements io.Closer. The streams are the caller's.
func (pipeWriter) Close() error { return nil }

// Read implements io.Reader.
func (p pipeReader) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.countOpen(&p.asked, b[:n], 1)
	if err != nil {
		p.waitForAnswers()
	}
	return n, err
}

// Write implements io.Writer.
func (p pipeWriter) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.countOpen(&p.written, b, -1) // what cannot be written is not waited for either
	select {
	case p.answered <- struct{}{}:
	default:
	}
	return n, err
}

// countOpen adds change to the open requests for each message with an id: a request of the
// client on one way, an answer on the other. The server asks nothing itself. A request
// that the client calls off is open no more.
func (p *pipe) countOpen(lines *lineSplitter, b []byte, change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range lines.addBytes(b) {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		switch err := json.Unmarshal(line, &message); {
		case err == nil && len(message.ID) > 0:
			p.open += change
		case message.Method == "notifications/cancelled":
			p.open--
		}
	}
}

func (p *pipe) openRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *pipe) waitForAnswers() {
	timer := time.NewTimer(maxDrain)
	defer timer.Stop()
	for p.openRequests() > 0 {
		select {
		case <-p.answered:
		case <-timer.C:
			return
		}
	}
}

// lineSplitter gives whole lines. One that is longer than maxMessage is lost.
type lineSplitter struct{ rest []byte }

func (l *lineSplitter) addBytes(b []byte) (lines [][]byte) {
	for {
		line, rest, found := bytes.Cut(b, []byte("\n"))
		if len(l.rest)+len(line) <= maxMessage {
			l.rest = append(l.rest, line...)
		}
		if !found {
			return lines
		}
		lines, l.rest, b = append(lines, l.rest), nil, rest
	}
}
