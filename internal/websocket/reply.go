package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	coder "github.com/coder/websocket"
)

// replyWriter sends a handler's reply as messages.
type replyWriter struct {
	ctx      context.Context //nolint:containedctx // it is the request's, and lives as long
	conn     *coder.Conn
	header   http.Header
	status   int
	isStream bool
	events   eventScanner
	document []byte // the body of a reply that is not a stream
	terminal []byte // the terminal event, which is sent when the handler is done
	err      error
}

var errTooLong = errors.New("the message is longer than a message may be")

// Header returns the header of the reply. The content type decides how the body is sent; the
// rest is used in an error message only.
func (w *replyWriter) Header() http.Header { return w.header }

// WriteHeader decides what the reply is.
func (w *replyWriter) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	media, _, _ := mime.ParseMediaType(w.header.Get("Content-Type"))
	w.status, w.isStream = status, media == "text/event-stream" && status < 300
}

// Flush does nothing: events are sent when they are complete.
func (w *replyWriter) Flush() {}

// Write sends the events that p completes.
func (w *replyWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.err == nil {
		w.err = w.ctx.Err() // the client is gone
	}
	if w.err != nil {
		return 0, w.err
	}
	if !w.isStream {
		if w.document = append(w.document, p...); len(w.document) > MaxMessage {
			w.err = errTooLong
		}
		return len(p), w.err
	}
	w.err = w.events.scanEvents(p, w.sendEvent)
	return len(p), w.err
}

func (w *replyWriter) sendEvent(event []byte) error {
	if string(event) == "[DONE]" { // ends streams of another API
		return nil
	}
	if err := w.sendTerminal(); err != nil { // it was not the last one after all
		return err
	}
	if terminalTypes[envelopeOf(event).Type] {
		w.terminal = bytes.Clone(event)
		return nil
	}
	return w.conn.Write(w.ctx, coder.MessageText, event)
}

// sendTerminal sends the terminal event, if it has come. It is sent when the handler is done,
// because a client may leave as soon as it has it: a recorder has saved the reply by then.
func (w *replyWriter) sendTerminal() error {
	event := w.terminal
	if event == nil {
		return nil
	}
	w.terminal = nil
	return w.conn.Write(w.ctx, coder.MessageText, event)
}

// finishReply sends what is left and reports whether the reply is whole.
func (w *replyWriter) finishReply() bool {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil, w.ctx.Err() != nil: // a connection that is cut gets no message about it
		return false
	case w.isStream:
		return w.terminal != nil && w.sendTerminal() == nil
	case w.status < 400:
		return w.conn.Write(w.ctx, coder.MessageText, w.document) == nil
	}
	return w.conn.Write(w.ctx, coder.MessageText, errorMessage(w.status, w.header, w.document)) == nil
}

// maxQuoted limits how many bytes of an error body that is not JSON are quoted.
const maxQuoted = 1 << 10

// errorMessage returns the message for a reply with an error status: the body itself where that
// is such a message already. The headers of the reply are a member of it, as OpenAI sends them.
func errorMessage(status int, header http.Header, body []byte) []byte {
	body = bytes.TrimSpace(body)
	e := envelopeOf(body)
	if e.Type == "error" {
		return body
	}
	if len(e.Error) == 0 || e.Error[0] != '{' {
		kind := "invalid_request_error"
		if status >= 500 {
			kind = "server_error"
		}
		text := bytes.ToValidUTF8(body[:min(len(body), maxQuoted)], []byte("\uFFFD"))
		e.Error, _ = json.Marshal(map[string]any{"type": kind, "code": nil, "message": string(text),
			"param": nil}) // strings cannot fail
	}
	headers := map[string]string{}
	for name, values := range dropHandshake(header) {
		if name != "Content-Type" && len(values) > 0 {
			headers[strings.ToLower(name)] = values[0]
		}
	}
	message, _ := json.Marshal(struct {
		Type    string            `json:"type"`
		Status  int               `json:"status"`
		Error   json.RawMessage   `json:"error"`
		Headers map[string]string `json:"headers,omitempty"`
	}{"error", status, e.Error, headers})
	return message
}

// eventScanner finds the data of server-sent events in a stream that comes in pieces.
type eventScanner struct {
	line    []byte
	data    []byte
	hasData bool
	afterCR bool
}

// scanEvents calls send with the data of each event that p completes.
func (s *eventScanner) scanEvents(p []byte, send func([]byte) error) error {
	for len(p) > 0 {
		if s.afterCR && p[0] == '\n' {
			p = p[1:]
		}
		s.afterCR = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			end = len(p)
		}
		if s.line = append(s.line, p[:end]...); len(s.line)+len(s.data) > MaxMessage {
			return errTooLong
		}
		if end == len(p) {
			return nil
		}
		s.afterCR = p[end] == '\r'
		p = p[end+1:]
		if err := s.endLine(send); err != nil {
			return err
		}
	}
	return nil
}

// endLine handles a complete line. A blank one ends an event.
func (s *eventScanner) endLine(send func([]byte) error) error {
	line := s.line
	s.line = s.line[:0]
	if len(line) > 0 {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if s.hasData {
				s.data = append(s.data, '\n')
			}
			s.data, s.hasData = append(s.data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		return nil
	}
	if !s.hasData {
		return nil
	}
	data := s.data
	s.data, s.hasData = s.data[:0], false
	return send(data)
}
