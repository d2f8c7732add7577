package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
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

// parser is the Parser of every provider. It frames the bytes, counts positions
// and decides how the reply ended. The dialect decides what the events mean.
type parser struct {
	framer  framer
	asm     *Assembler
	dialect Dialect
	lenient bool
	onFrame func() error // nil: none
	err     error        // ended the reply early
	bytes   int64
	events  int
	closed  bool
	reply   Reply
	verdict error
}

// NewParser returns a Parser for server-sent events that feeds d.
func NewParser(opts Options, asm *Assembler, d Dialect) Parser {
	p := &parser{asm: asm, dialect: d, lenient: opts.Lenient, onFrame: opts.OnFrame}
	p.framer = NewSSE(opts.MaxLine, p.handleFrame)
	return p
}

// NewSniffingParser returns a Parser that also takes a JSON array of events, or
// one bare JSON object: the first byte that is not white space decides.
func NewSniffingParser(opts Options, asm *Assembler, d Dialect) Parser {
	p := &parser{asm: asm, dialect: d, lenient: opts.Lenient, onFrame: opts.OnFrame}
	p.framer = newSniffer(opts.MaxLine, p.handleFrame)
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

// doneMarker is what OpenAI-compatible gateways send after the last event. It is
// not JSON and has no meaning: the provider's own terminal event counts.
const doneMarker = "[DONE]"

func (p *parser) handleFrame(f *Frame) error {
	p.events++
	p.asm.At(f.N, f.Offset)
	if p.onFrame != nil {
		if err := p.onFrame(); err != nil {
			return err
		}
	}
	if string(f.Data) == doneMarker {
		return nil
	}
	return p.dialect.Event(f.Name, p.asm.makeValid(f.Data))
}

// Close ends the reply.
func (p *parser) Close() (Reply, error) {
	if !p.closed {
		p.closed = true
		p.verdict = p.finishReply()
		p.reply = p.asm.Reply()
		if p.verdict == nil {
			p.asm.emitEvent(Event{Kind: EventDone, Stop: p.asm.Stop()})
		}
	}
	return p.reply, p.verdict
}

// finishReply decides how the reply ended. A failure that the provider reported
// comes first, then an error that ended the reply early, then what is missing.
func (p *parser) finishReply() error {
	torn := p.handleTail()
	missing, err := p.dialect.End()
	switch {
	case p.asm.Failed():
		return p.asm.failure
	case p.err != nil:
		return p.err
	case missing != "":
		return p.incompleteError(missing, torn)
	case p.asm.Pending() > 0:
		return p.incompleteError("blocks were never ended", torn)
	case err != nil:
		return err
	case torn != nil:
		return torn
	}
	return nil
}

// handleTail deals with an event that no blank line ended. Strict mode returns it as
// an anomaly; lenient mode records it and decodes the event.
func (p *parser) handleTail() (torn *AnomalyError) {
	f, pending := p.framer.Close()
	if p.err != nil || !pending {
		return nil
	}
	p.asm.At(f.N, f.Offset)
	err := p.asm.Anomaly(RuleUnterminated, "the last event has no end (%d bytes of data)", len(f.Data))
	if errors.As(err, &torn) {
		return torn
	}
	if len(f.Data) > 0 {
		p.err = p.handleFrame(&f)
	}
	return nil
}

func (p *parser) incompleteError(missing string, torn *AnomalyError) error {
	e := &IncompleteError{Reason: missing, Pending: p.asm.Pending()}
	switch {
	case torn != nil:
		e.Reason, e.Err = missing+"; "+torn.Anomaly.String(), torn
	case p.events == 0:
		e.Reason = fmt.Sprintf("no event in %d bytes", p.bytes)
	}
	return e
}

// IsVerdict reports whether err is an error of this package that ends a reply,
// as opposed to an error of the JSON walk that met it.
func IsVerdict(err error) bool {
	var (
		anomaly    *AnomalyError
		incomplete *IncompleteError
	)
	return errors.As(err, &anomaly) || errors.As(err, &incomplete)
}

// noFrames is the framer of a reply without frames.
type noFrames struct{}

func (noFrames) Write(p []byte) (int, error) { return len(p), nil }
func (noFrames) Close() (Frame, bool)        { return Frame{}, false }

// ReadWhole runs read over a reply that arrived as one body and gives the
// verdict that Close would give. An error of the JSON walk becomes an anomaly,
// or says that the reply is incomplete when the body just stops.
func ReadWhole(asm *Assembler, d Dialect, body []byte, read func([]byte) error) (Reply, error) {
	p := &parser{framer: noFrames{}, asm: asm, dialect: d, bytes: int64(len(body)), events: 1}
	p.err = read(asm.makeValid(body))
	if p.err != nil && !IsVerdict(p.err) {
		p.err = asm.wholeError(p.err)
	}
	return p.Close()
}

func (a *Assembler) wholeError(err error) error {
	var syntax *jsontok.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || (errors.As(err, &syntax) && syntax.Cut) {
		return &IncompleteError{Reason: "the JSON body is cut short"}
	}
	return a.Anomaly(RuleMalformedEvent, "the body is not the JSON of a reply: %v", err)
}
