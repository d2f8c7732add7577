package openai

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// dialect reads the events of the Responses API.
type dialect struct {
	asm     *stream.Assembler
	items   []itemRef   // in start order, as the assembler's blocks
	places  map[int]int // output_index → place in items
	created bool
	ended   bool
	status  string // of the last response object seen
	refused bool   // a refusal part was seen
	called  bool   // a call that the client must answer was seen
	general bool   // never take the fast path; both are held equal by tests
}

// itemRef remembers which wire item a block is.
type itemRef struct {
	index    int // output_index
	id, kind string
	done     bool
}

func newDialect(opts stream.Options) *dialect {
	return &dialect{asm: stream.NewAssembler(opts), places: map[int]int{}}
}

// ruleMalformedItem is this dialect's own, beside those of package stream.
const ruleMalformedItem = "malformed_item"

// wireEvent is one event, its parts still JSON.
type wireEvent struct {
	kind                         []byte
	index, part                  int
	hasIndex                     bool
	item, delta, response, error []byte
}

func readEvent(name, data []byte) (e wireEvent, err error) {
	err = jsontok.Fields(data, func(field, value []byte) error {
		switch string(field) {
		case "type":
			e.kind = jsontok.Text(value)
		case "output_index":
			e.index, e.hasIndex = jsontok.Int(value)
		case "summary_index":
			e.part, _ = jsontok.Int(value)
		case "item":
			e.item = value
		case "delta":
			e.delta = value
		case "response":
			e.response = value
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
	if !d.general && !d.ended {
		if done, err := d.fastDelta(data); done {
			return err
		}
	}
	e, err := readEvent(name, data)
	if err != nil {
		return d.asm.Anomaly(stream.RuleMalformedEvent, "%v", err)
	}
	if string(e.kind) == "error" {
		d.noteFailure(e.error, data)
		return nil
	}
	if !bytes.HasPrefix(e.kind, []byte("response.")) {
		d.noteUnknown(e.kind)
		return nil
	}
	if d.ended {
		return d.asm.Anomaly(stream.RuleEventAfterEnd, "%s after the end of the response", e.kind)
	}
	return d.handleEvent(&e)
}

func (d *dialect) handleEvent(e *wireEvent) error {
	switch string(e.kind) {
	case "response.created":
		// A second one is another reply glued to this one.
		if d.created {
			return &stream.IncompleteError{Reason: "a second response.created", Pending: d.asm.Pending()}
		}
		d.created = true
		return d.walkAnomaly(d.readResponse(e.response, false), e.kind)
	case "response.queued", "response.in_progress":
		return d.walkAnomaly(d.readResponse(e.response, false), e.kind)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.ended = true
		return d.walkAnomaly(d.readResponse(e.response, true), e.kind)
	}
	if kind := deltaKinds[string(e.kind)]; kind != 0 {
		lit, ok := jsontok.Literal(e.delta)
		if !e.hasIndex || !ok {
			return d.asm.Anomaly(stream.RuleMalformedEvent, "%s without output_index or text", e.kind)
		}
		return d.asm.Append(e.index, kind, lit)
	}
	return d.itemEvent(e)
}

func (d *dialect) itemEvent(e *wireEvent) error {
	switch string(e.kind) {
	case "response.output_item.added", "response.output_item.done":
		if !e.hasIndex {
			return d.asm.Anomaly(stream.RuleMalformedEvent, "%s without output_index", e.kind)
		}
		return d.walkAnomaly(d.readItem(e), e.kind)
	case "response.reasoning_summary_part.added":
		// Summary parts are kept one by one in the block's meta; its text joins
		// them with a line feed, and so do the deltas.
		if e.hasIndex && e.part > 0 {
			return d.asm.Append(e.index, stream.EventReasoningDelta, []byte(`\n`))
		}
		return nil
	}
	d.noteUnknown(e.kind)
	return nil
}

// deltaKinds are the deltas that become text, reasoning or arguments. All
// others belong to items whose output_item.done says everything.
var deltaKinds = map[string]stream.EventKind{
	"response.output_text.delta":             stream.EventTextDelta,
	"response.refusal.delta":                 stream.EventTextDelta,
	"response.reasoning_summary_text.delta":  stream.EventReasoningDelta,
	"response.reasoning_text.delta":          stream.EventReasoningDelta,
	"response.function_call_arguments.delta": stream.EventToolCallDelta,
}

// redundantEvents are the beginnings of events that only repeat, early and in part,
// what output_item.done or the terminal event says.
var redundantEvents = []string{
	"keepalive", "response.content_part.", "response.output_text.", "response.refusal.", "response.reasoning_",
	"response.function_call_arguments.", "response.custom_tool_call_input.", "response.mcp_",
	"response.web_search_call.",
	"response.file_search_call.", "response.code_interpreter_call", "response.image_generation_call.",
	"response.shell_call",
	"response.local_shell_call", "response.apply_patch_call", "response.compaction.", "response.audio.",
	"response.tool_search_call",
}

func (d *dialect) noteUnknown(kind []byte) {
	for _, known := range redundantEvents {
		if len(kind) >= len(known) && string(kind[:len(known)]) == known {
			return
		}
	}
	d.asm.Note(stream.RuleUnknownEvent, "event %q", kind)
}

// walkAnomaly turns an error of the JSON walk into an anomaly and passes on others.
func (d *dialect) walkAnomaly(err error, where []byte) error {
	if err == nil || stream.IsVerdict(err) {
		return err
	}
	return d.asm.Anomaly(stream.RuleMalformedEvent, "%s: %v", where, err)
}

// noteFailure notes an error: the nested form that the API sends, or the flat one that
// its schema documents.
func (d *dialect) noteFailure(nested, data []byte) {
	e := stream.ProviderError{Raw: bytes.Clone(data)}
	src := nested
	if jsontok.IsNull(nested) {
		src = data
	}
	_ = jsontok.Fields(src, func(field, value []byte) error { // an unreadable object is still in Raw
		switch text := jsontok.String(value); string(field) {
		case "type":
			e.Type = text
		case "code":
			e.Code = text
		case "message":
			e.Message = text
		}
		return nil
	})
	d.asm.Fail(e)
}

// readWholeReply reads a reply that arrived as one JSON body: a response object, or the
// error envelope.
func (d *dialect) readWholeReply(body []byte) error {
	var errorOnly []byte
	isResponse := false
	err := jsontok.Fields(body, func(field, value []byte) error {
		switch string(field) {
		case "error":
			errorOnly = value
		case "output", "status":
			isResponse = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !isResponse && !jsontok.IsNull(errorOnly) {
		d.noteFailure(errorOnly, body)
		return nil
	}
	return d.readResponse(body, true)
}
