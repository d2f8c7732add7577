package anthropic

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// dialect reads the events of the Messages API.
type dialect struct {
	asm     *stream.Assembler
	extras  map[int]*blockExtra // of open blocks, where deltas bring more than text
	started bool                // message_start was seen
	stopped bool                // message_stop was seen
	opaque  int                 // open blocks of types without a shape of their own
	general bool                // never take the fast path; both are held equal by tests

	said, compacting transcript.Usage // of the reply without compactions, and of these
}

func newDialect(opts stream.Options) *dialect {
	return &dialect{asm: stream.NewAssembler(opts), extras: map[int]*blockExtra{}}
}

// Rules of this dialect, beside those of package stream.
const (
	ruleNoStart        = "missing_message_start"
	ruleRepeatedStart  = "repeated_message_start"
	ruleMalformedBlock = "malformed_block"
)

// wireEvent is one event, its parts still JSON.
type wireEvent struct {
	kind                                []byte
	index                               int
	hasIndex                            bool
	message, block, delta, usage, error []byte
}

func readEvent(name, data []byte) (e wireEvent, err error) {
	err = jsontok.Fields(data, func(field, value []byte) error {
		switch string(field) {
		case "type":
			e.kind = jsontok.Text(value)
		case "index":
			e.index, e.hasIndex = jsontok.Int(value)
		case "message":
			e.message = value
		case "content_block":
			e.block = value
		case "delta":
			e.delta = value
		case "usage":
			e.usage = value
		case "error":
			e.error = value
		}
		return nil
	})
	if len(e.kind) == 0 {
		e.kind = name
	}
	return e, err
}

// Event implements stream.Dialect.
func (d *dialect) Event(name, data []byte) error {
	if !d.general && d.started && !d.stopped {
		if done, err := d.fastEvent(data); done {
			return err
		}
	}
	e, err := readEvent(name, data)
	if err != nil {
		return d.asm.Anomaly(stream.RuleMalformedEvent, "%v", err)
	}
	return d.handleEvent(&e, data)
}

func (d *dialect) handleEvent(e *wireEvent, data []byte) error {
	switch string(e.kind) {
	case "ping":
		return nil
	case "error":
		d.noteFailure(e.error, data)
		return nil
	case "message_start":
		return d.startMessage(e)
	case "content_block_start", "content_block_delta", "content_block_stop":
		if err := d.checkUnderWay(e.kind); err != nil {
			return err
		}
		if !e.hasIndex {
			return d.asm.Anomaly(stream.RuleMalformedEvent, "%s without index", e.kind)
		}
		switch string(e.kind) {
		case "content_block_start":
			return d.blockStart(e.index, e.block)
		case "content_block_delta":
			return d.blockDelta(e)
		}
		return d.blockStop(e.index)
	case "message_delta":
		if err := d.checkUnderWay(e.kind); err != nil {
			return err
		}
		return d.messageDelta(e)
	case "message_stop":
		err := d.checkUnderWay(e.kind)
		d.stopped = true
		return err
	}
	d.asm.Note(stream.RuleUnknownEvent, "event %q", e.kind)
	return nil
}

// checkUnderWay makes sure that the message has begun and has not ended.
func (d *dialect) checkUnderWay(kind []byte) error {
	if d.stopped {
		return d.asm.Anomaly(stream.RuleEventAfterEnd, "%s after message_stop", kind)
	}
	if !d.started {
		d.started = true
		return d.asm.Anomaly(ruleNoStart, "%s before message_start", kind)
	}
	return nil
}

// startMessage reads message_start. Some gateways repeat it before the first block.
// Any other second one is another reply glued to this one, never a success.
func (d *dialect) startMessage(e *wireEvent) error {
	if d.started && !d.stopped && d.asm.Len() == 0 && d.asm.ID() != "" &&
		d.asm.ID() == jsontok.String(jsontok.MemberOf(e.message, "id")) {
		d.asm.Note(ruleRepeatedStart, "message_start came twice")
		return nil
	}
	if d.started {
		return &stream.IncompleteError{Reason: "a second message_start", Pending: d.asm.Pending()}
	}
	d.started = true
	return d.readMessage(e.message)
}

// readMessage reads a message object: the head of a stream, whose content is empty
// except for programmatic tool calling, or a whole reply.
func (d *dialect) readMessage(raw []byte) error {
	var content, stop, usage []byte
	err := jsontok.Fields(raw, func(field, value []byte) error {
		switch string(field) {
		case "id":
			d.asm.SetID(jsontok.Text(value))
		case "model":
			d.asm.SetModel(jsontok.Text(value))
		case "content":
			content = value
		case "stop_reason":
			stop = value
		case "usage":
			usage = value
		}
		return nil
	})
	if err != nil {
		return d.asm.Anomaly(stream.RuleMalformedEvent, "message: %v", err)
	}
	if err := d.addWholeBlocks(content); err != nil {
		return err
	}
	d.readUsage(usage)
	return d.setStopReason(stop)
}

// addWholeBlocks adds blocks that arrived complete.
func (d *dialect) addWholeBlocks(raw []byte) error {
	if jsontok.IsNull(raw) {
		return nil
	}
	err := jsontok.Elements(raw, func(value []byte) error {
		b, _, err := d.readBlock(value)
		if err != nil {
			return err
		}
		b.Raw = bytes.Clone(value)
		d.asm.Whole(b)
		return nil
	})
	return d.walkAnomaly(err, "content")
}

// walkAnomaly turns an error of the JSON walk into an anomaly and passes on others.
func (d *dialect) walkAnomaly(err error, where string) error {
	if err == nil || stream.IsVerdict(err) {
		return err
	}
	return d.asm.Anomaly(stream.RuleMalformedEvent, "%s: %v", where, err)
}

func (d *dialect) messageDelta(e *wireEvent) error {
	d.readUsage(e.usage)
	if jsontok.IsNull(e.delta) {
		return nil
	}
	var stop []byte
	err := jsontok.Fields(e.delta, func(field, value []byte) error {
		if string(field) == "stop_reason" {
			stop = value
		}
		return nil
	})
	if err != nil {
		return d.walkAnomaly(err, "message_delta")
	}
	return d.setStopReason(stop)
}

// stopReasons maps stop_reason to ours.
var stopReasons = map[string]transcript.StopReason{
	"end_turn": transcript.StopEndTurn, "tool_use": transcript.StopToolUse, "max_tokens": transcript.StopMaxTokens,
	"stop_sequence": transcript.StopStopSequence, "pause_turn": transcript.StopPauseTurn,
	"refusal":                       transcript.StopRefusal,
	"model_context_window_exceeded": transcript.StopContextWindow, "compaction": transcript.StopCompaction,
}

// setStopReason notes the stop reason. An unknown one is an error, never a silent
// end_turn; lenient mode keeps its name.
func (d *dialect) setStopReason(value []byte) error {
	if jsontok.IsNull(value) {
		return nil
	}
	name := jsontok.Text(value)
	if s, ok := stopReasons[string(name)]; ok {
		d.asm.SetStop(s)
		return nil
	}
	d.asm.SetStop(transcript.StopReason(name))
	return d.asm.Anomaly(stream.RuleUnknownStop, "stop_reason %s", value)
}

// readUsage overwrites what value names; message_delta of older servers repeats
// only output_tokens.
func (d *dialect) readUsage(value []byte) {
	if jsontok.IsNull(value) {
		return
	}
	said, compacting, found := d.said, d.compacting, false
	err := jsontok.Fields(value, func(field, value []byte) error {
		if string(field) == "iterations" {
			compacting = compactionUsage(value)
			return nil
		}
		found = setUsage(&said, field, value) || found
		return nil
	})
	if err != nil || !found {
		return
	}
	d.said, d.compacting = said, compacting
	said.Add(compacting)
	d.asm.SetUsage(said)
}

// setUsage sets the member of u that a field of the usage object names.
func setUsage(u *transcript.Usage, field, value []byte) bool {
	n, ok := jsontok.Uint(value)
	if !ok {
		return false
	}
	switch string(field) {
	case "input_tokens":
		u.InputTokens = n
	case "output_tokens":
		u.OutputTokens = n
	case "cache_creation_input_tokens":
		u.CacheCreationTokens = &n
	case "cache_read_input_tokens":
		u.CacheReadTokens = &n
	default:
		return false
	}
	return true
}

// compactionUsage adds up what compactions used: the totals of the reply leave them out.
func compactionUsage(iterations []byte) (all transcript.Usage) {
	if jsontok.IsNull(iterations) {
		return all
	}
	_ = jsontok.Elements(iterations, func(iteration []byte) error { // an unreadable list adds what was read of it
		if jsontok.String(jsontok.MemberOf(iteration, "type")) != "compaction" {
			return nil
		}
		var u transcript.Usage
		if err := jsontok.Fields(iteration, func(field, value []byte) error {
			setUsage(&u, field, value)
			return nil
		}); err != nil {
			return err
		}
		all.Add(u)
		return nil
	})
	return all
}

// noteFailure notes the error object of an error event or error reply.
func (d *dialect) noteFailure(value, raw []byte) {
	e := stream.ProviderError{Raw: bytes.Clone(raw)}
	_ = jsontok.Fields(value, func(field, value []byte) error { // an unreadable object is still in Raw
		switch string(field) {
		case "type":
			e.Type = jsontok.String(value)
		case "message":
			e.Message = jsontok.String(value)
		}
		return nil
	})
	d.asm.Fail(e)
}

// readWholeReply reads a reply that arrived as one JSON body.
func (d *dialect) readWholeReply(body []byte) error {
	var isError bool
	var value []byte
	err := jsontok.Fields(body, func(field, v []byte) error {
		isError = isError || (string(field) == "type" && jsontok.String(v) == "error")
		if string(field) == "error" {
			value = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isError {
		d.noteFailure(value, body)
		return nil
	}
	d.started, d.stopped = true, true
	return d.readMessage(body)
}

// End implements stream.Dialect.
func (d *dialect) End() (string, error) {
	switch {
	case !d.started:
		return "no message_start", nil
	case !d.stopped:
		return "no message_stop", nil
	case d.asm.Stop() == "":
		return "no stop_reason", nil
	}
	return "", nil
}
