package record

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// windowing says how large streams are cut.
type windowing struct {
	least int64 // the length from which a stream is large
	size  int   // how much of it is in memory at once
	// overlap is how much of a stream is redacted together with what stands before it and after it: the
	// longest secret that is found, cut into events of a letter each.
	overlap int
}

// maxPasses is how often a large stream is redacted at most.
const maxPasses = 16

// largeWriter is a Writer that takes a body in windows.
type largeWriter interface {
	AppendLarge(in cassette.Interaction, size int, reply iter.Seq2[[]byte, error]) error
}

// lateRedactor is a Redactor that tells by another number that a secret became known (redact.Redactor.Late).
type lateRedactor interface{ Late() int }

// isLargeStream reports whether the reply is a stream of events that is saved in windows. It is never in
// memory as a whole.
func (rec *Recorder) isLargeStream(x *exchange) bool {
	h := x.in.Response.Header
	_, canAppend := rec.cfg.Writer.(largeWriter)
	_, canTell := rec.cfg.Redactor.(lateRedactor)
	return canAppend && canTell && rec.cfg.Observe == nil && x.unsent == nil &&
		x.response.size > rec.large.least && !x.response.lost && x.length <= x.limit &&
		strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") && len(h["Content-Encoding"]) == 0
}

// saveLarge takes a large stream through the stages of saving, a window at a time: the redacted windows go to
// a spool, and from there to the journal. errNotText says that the reply cannot be saved so. A value that is a
// secret only where it stands, because it is a word elsewhere, is replaced in its own window only.
func (rec *Recorder) saveLarge(x *exchange) error {
	reply, clean := x.response, rec.spools.newSpool()
	clean.required = true
	defer clean.close()
	in, err := rec.buildLarge(x)
	if err != nil {
		return err
	}
	for range maxPasses {
		isLate, err := rec.redactWindows(x, in, reply, clean)
		switch refusal := x.out.refusal; {
		case err != nil:
			return err
		case refusal == nil && isLate: // once more
		case refusal == nil && !rec.cfg.withholds(&x.out.in):
			x.out.in.Timeline = in.Timeline
			return rec.cfg.Writer.(largeWriter).AppendLarge(x.out.in, int(clean.size), clean.windows(rec.large.size))
		case refusal == nil || rec.cfg.Mask == nil || slices.Contains(x.out.masked, refusal.Error()):
			return nil
		default:
			_ = rec.cfg.Mask(refusal)
			x.out.masked = append(x.out.masked, refusal.Error())
		}
		clean.close()
		clean.required = true
	}
	return errors.New("secrets become known each time that it is redacted")
}

// buildLarge returns the interaction, judged by the end of its reply, which is all that it holds of it.
func (rec *Recorder) buildLarge(x *exchange) (in cassette.Interaction, err error) {
	reply := x.response
	defer func() { x.response = reply }()
	end := make([]byte, min(reply.size, int64(rec.large.size)))
	for n := 0; n < len(end); {
		m, err := reply.readAt(end[n:], reply.size-int64(len(end)-n))
		if err != nil {
			return in, err
		}
		n += m
	}
	x.response = rec.spools.newSpool()
	x.response.mem, x.response.size = end, int64(len(end))
	if in, err = x.buildInteraction(rec.cfg.MaxBody); err != nil {
		return in, err
	}
	in.Incomplete, in.Response.Body = cassette.Judge(in), nil
	return in, nil
}

// redactWindows redacts each window of the reply together with what stands around it, asks the gate, and
// writes the window to clean. isLate says that a secret may have become known after a window that holds it.
func (rec *Recorder) redactWindows(x *exchange, in cassette.Interaction, reply, clean *spool) (isLate bool, err error) {
	redactor, known := rec.cfg.Redactor.(lateRedactor), 0
	x.out.refusal = nil
	var text []byte // what was written of it comes first
	written, isFirst := 0, true
	take := func(window []byte, isLast bool) error {
		text = append(text, window...)
		end := len(text)
		if !isLast {
			if end = eventEnd(text[:max(len(text)-rec.large.overlap, 0)], text); end <= written {
				return nil
			}
		}
		part := in
		part.Response.Body, part.Timeline = text, nil
		part = rec.cfg.Redactor.Interaction(part)
		if rec.cfg.Gate != nil {
			x.out.refusal = rec.cfg.Gate(part)
		}
		if isFirst {
			known = redactor.Late()
		}
		body := part.Response.Body
		if !utf8.Valid(body) {
			return errNotText
		}
		_, _ = clean.Write(body[written:end])
		isFirst, part.Response.Body = false, nil
		in.Redacted, x.out.in = part.Redacted, part
		from := eventEnd(text[:max(end-rec.large.overlap, 0)], text)
		text, written = append(text[:0], text[from:]...), end-from
		return nil
	}
	var before []byte // a window before the last one is known not to be the last
	for window, err := range reply.windows(rec.large.size) {
		if err == nil && before != nil {
			err = take(before, false)
		}
		if err != nil || x.out.refusal != nil {
			return false, err
		}
		before = append(before[:0], window...)
	}
	err = take(before, true)
	return redactor.Late() != known, err
}

// errNotText is the error for a stream that is not UTF-8.
var errNotText = errors.New("the reply is not text")

// windows yields the content in windows of about a size, each of which ends with an event. A window is valid
// until the next one.
func (s *spool) windows(size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var text []byte
		for at, wanted := int64(0), size; at < s.size || len(text) > 0; {
			text = slices.Grow(text, wanted)
			for len(text) < wanted && at < s.size {
				n, err := s.readAt(text[len(text):min(wanted, cap(text))], at)
				if err != nil {
					yield(nil, err)
					return
				}
				text, at = text[:len(text)+n], at+int64(n)
			}
			end := len(text)
			if at < s.size {
				end = eventEnd(text, text)
			}
			if end == 0 {
				wanted += size // an event that is longer than a window
				continue
			}
			if !yield(text[:end], nil) {
				return
			}
			text, wanted = append(text[:0], text[end:]...), size
		}
	}
}

// eventEnd returns where the last event ends in the beginning of a text, 0 without one. Neither a blank nor
// a line feed follows it.
func eventEnd(beginning, text []byte) int {
	for end := len(beginning); ; {
		end = bytes.LastIndexByte(beginning[:end], '\n')
		if end < 1 {
			return 0
		}
		isEnd := text[end-1] == '\n' || bytes.HasSuffix(text[:end], []byte("\n\r"))
		if isEnd && end+1 < len(text) && strings.IndexByte(" \t\r\n", text[end+1]) < 0 {
			return end + 1
		}
	}
}
