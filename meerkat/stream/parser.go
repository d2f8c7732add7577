package stream

import (
	"errors"
	"fmt"
)

var errClosed = errors.New("stream: the parser is closed; use a new one for each reply")

// Dialect reads the events of one provider and drives an Assembler.
type Dialect interface {
	// Event reads one event. data is valid only during the call. Errors end
	// the reply.
	Event(name, data []byte) error
	// End is called once, when the bytes have ended. It completes what the
	// provider leaves implicit and returns what the reply still lacks, "" when
	// the provider's terminal event was seen.
	End() (missing string, err error)
}

// framer cuts bytes into frames.
type framer interface {
	Write(p []byte) (int, error)
	Close() (Frame, bool)
}

// parser is the Parser of every provider: framing, positions and the verdict
// at the end. What the events mean is the dialect's.
type parser struct {
	framer  framer
	asm     *Assembler
	dialect Dialect
	lenient bool
	err     error // ended the reply early
	bytes   int64
	events  int
	closed  bool
	reply   Reply
	verdict error
}

// NewParser returns a Parser for server-sent events that feeds d.
func NewParser(opts Options, asm *Assembler, d Dialect) Parser {
	p := &parser{asm: asm, dialect: d, lenient: opts.Lenient}
	p.framer = NewSSE(opts.MaxLine, p.event)
	return p
}

// NewSniffingParser returns a Parser that also takes a JSON array of events, or
// one bare JSON object: the first byte that is not white space decides.
func NewSniffingParser(opts Options, asm *Assembler, d Dialect) Parser {
	p := &parser{asm: asm, dialect: d, lenient: opts.Lenient}
	sse := NewSSE(opts.MaxLine, p.event)
	p.framer = &sniffer{emit: p.event, max: sse.max, sse: sse}
	return p
}

// Write takes the next bytes of the reply. It returns an error only when the
// rest of the reply cannot matter any more; Close returns the same one.
func (p *parser) Write(b []byte) (int, error) {
	if p.closed {
		return 0, errClosed
	}
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.framer.Write(b)
	p.bytes += int64(n)
	p.err = err
	return n, err
}

// done is what OpenAI-compatible gateways send after the last event. It is no
// JSON and means nothing: the provider's own terminal event counts
// (reference §1.4).
const done = "[DONE]"

func (p *parser) event(f Frame) error {
	p.events++
	p.asm.At(f.N, f.Offset)
	if string(f.Data) == done {
		return nil
	}
	return p.dialect.Event(f.Name, f.Data)
}

// Close ends the reply.
func (p *parser) Close() (Reply, error) {
	if !p.closed {
		p.closed = true
		p.verdict = p.finish()
		p.reply = p.asm.Reply()
		if p.verdict == nil {
			p.asm.emit(Event{Kind: EventDone, Stop: p.asm.Stop()})
		}
	}
	return p.reply, p.verdict
}

// finish decides how the reply ended. What ended it early comes first, then
// what the provider said, then what is missing.
func (p *parser) finish() error {
	torn := p.tail()
	if p.err != nil && !p.asm.Failed() {
		return p.err
	}
	missing, err := p.dialect.End()
	switch {
	case p.asm.Failed():
		return p.asm.failure
	case missing != "":
		return p.incomplete(missing, torn)
	case p.asm.Pending() > 0:
		return p.incomplete("blocks were never ended", torn)
	case err != nil:
		return err
	}
	return torn
}

// tail deals with an event that no blank line ended. The returned error is nil
// in lenient mode, which decodes it.
func (p *parser) tail() error {
	f, pending := p.framer.Close()
	if p.err != nil || !pending {
		return nil
	}
	p.asm.At(f.N, f.Offset)
	if err := p.asm.Anomaly(RuleUnterminated, "the last event has no end (%d bytes of data)", len(f.Data)); err != nil {
		return err
	}
	if len(f.Data) > 0 {
		p.err = p.event(f)
	}
	return nil
}

func (p *parser) incomplete(missing string, cause error) error {
	if p.events == 0 {
		missing = fmt.Sprintf("no event in %d bytes", p.bytes)
	}
	return &IncompleteError{Reason: missing, Pending: p.asm.Pending(), Err: cause}
}
