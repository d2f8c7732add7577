package openai

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// responseObject is what counts of a response object.
type responseObject struct {
	object, status                  string
	output, usage, failure, details []byte
}

// readResponse reads a response object. Only the last one, of the terminal event
// or of a reply in one body, says how the turn ended.
func (d *dialect) readResponse(raw []byte, last bool) error {
	var r responseObject
	err := jsontok.Fields(raw, func(field, value []byte) error {
		switch string(field) {
		case "id":
			d.asm.SetID(jsontok.Text(value))
		case "model":
			d.asm.SetModel(jsontok.Text(value))
		case "object":
			r.object = jsontok.String(value)
		case "status":
			r.status = jsontok.String(value)
		case "output":
			r.output = value
		case "usage":
			r.usage = value
		case "error":
			r.failure = value
		case "incomplete_details":
			r.details = value
		}
		return nil
	})
	d.status = r.status
	if err != nil || !last {
		return err
	}
	if err := d.addUnfinishedItems(r.output); err != nil {
		return err
	}
	d.readUsage(r.usage)
	return d.setStopReason(&r, raw)
}

// addUnfinishedItems takes from the final output what the stream did not finish: items
// without output_item.done are real, items without any event
// of their own are all there is in a reply of one body.
func (d *dialect) addUnfinishedItems(output []byte) error {
	if jsontok.IsNull(output) {
		return nil
	}
	n, streamed, ids := -1, len(d.items) > 0, d.openItemIDs()
	return jsontok.Elements(output, func(raw []byte) error {
		n++
		if n < len(d.items) && ids == nil {
			return nil // the common case: all of it was streamed
		}
		m, err := readMembers(raw)
		if err != nil {
			return err
		}
		ref := d.streamedItem(n, &m, ids)
		if ref != nil && ref.done {
			return nil
		}
		b, err := d.readBlock(&m, raw)
		if err != nil {
			return err
		}
		if ref != nil {
			ref.done = true
			return d.asm.Complete(ref.index, func(old *transcript.Block) { *old = b })
		}
		if streamed {
			if err := d.asm.Anomaly(
				ruleMalformedItem, "the final output has a %s item that was never streamed", b.Type,
			); err != nil {
				return err
			}
		}
		d.asm.Whole(b)
		return nil
	})
}

// openItemIDs maps item ids to their places, if any item is still open.
func (d *dialect) openItemIDs() map[string]int {
	if d.asm.Pending() == 0 {
		return nil
	}
	ids := make(map[string]int, len(d.items))
	for i := range d.items {
		ids[d.items[i].id] = i
	}
	return ids
}

// streamedItem finds the streamed item that element n of the output is: by id, else
// by place and type.
func (d *dialect) streamedItem(n int, m *members, ids map[string]int) *itemRef {
	if i, ok := ids[jsontok.String(m.id)]; ok && len(m.id) > 0 {
		return &d.items[i]
	}
	if n < len(d.items) && d.items[n].kind == jsontok.String(m.kind) {
		return &d.items[n]
	}
	return nil
}

// setStopReason derives the stop reason, which the API does not send. An
// incomplete response is one even if it holds calls: none of them may run.
func (d *dialect) setStopReason(r *responseObject, raw []byte) error {
	d.ended = true
	switch {
	case r.status == "failed":
		d.noteFailure(r.failure, raw)
	case r.status == "cancelled":
		d.asm.SetStop(transcript.StopCancelled)
	case r.status == "incomplete":
		return d.setIncompleteReason(r.details)
	case r.object == "response.compaction":
		d.asm.SetStop(transcript.StopCompaction)
	case r.status != "completed":
		d.ended = false
	case d.called:
		d.asm.SetStop(transcript.StopToolUse)
	case d.refused:
		d.asm.SetStop(transcript.StopRefusal)
	default:
		d.asm.SetStop(transcript.StopEndTurn)
	}
	return nil
}

func (d *dialect) setIncompleteReason(details []byte) error {
	var reason string
	if !jsontok.IsNull(details) {
		err := jsontok.Fields(details, func(field, value []byte) error {
			if string(field) == "reason" {
				reason = jsontok.String(value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	switch reason {
	case "max_output_tokens":
		d.asm.SetStop(transcript.StopMaxTokens)
	case "content_filter":
		d.asm.SetStop(transcript.StopRefusal)
	default:
		d.asm.SetStop(transcript.StopReason("incomplete: " + reason))
		return d.asm.Anomaly(stream.RuleUnknownStop, "incomplete_details.reason %q", reason)
	}
	return nil
}

// readUsage reads the totals; they come once, with the end.
func (d *dialect) readUsage(raw []byte) {
	if jsontok.IsNull(raw) {
		return
	}
	var u transcript.Usage
	err := jsontok.Fields(raw, func(field, value []byte) error {
		switch string(field) {
		case "input_tokens":
			u.InputTokens, _ = jsontok.Uint(value)
		case "output_tokens":
			u.OutputTokens, _ = jsontok.Uint(value)
		case "input_tokens_details":
			return d.readCachedTokens(value, &u)
		}
		return nil
	})
	if err == nil {
		d.asm.SetUsage(u)
	}
}

func (d *dialect) readCachedTokens(raw []byte, u *transcript.Usage) error {
	if !bytes.HasPrefix(raw, []byte("{")) {
		return nil
	}
	return jsontok.Fields(raw, func(field, value []byte) error {
		n, ok := jsontok.Uint(value)
		switch {
		case !ok:
		case string(field) == "cached_tokens":
			u.CacheReadTokens = &n
		case string(field) == "cache_write_tokens":
			u.CacheCreationTokens = &n
		}
		return nil
	})
}

// End implements stream.Dialect.
func (d *dialect) End() (string, error) {
	switch {
	case d.ended:
		return "", nil
	case d.status == "":
		return "no response event", nil
	}
	return "no terminal event; the response is " + d.status, nil
}
