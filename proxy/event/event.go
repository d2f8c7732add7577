// Package event splits a recorded reply into the provider's events and folds
// them into what a reader wants to see: texts and arguments in one piece, ids
// and other opaque values by names that two recordings have in common.
//
// Start with [Of] and [Fold]:
//
//	names := event.NewNames() // one for each recording
//	for _, item := range event.Fold(event.Of(interaction), names) {
//		fmt.Println(item.Token(), item.Text)
//	}
//
// It is pure, accepts any bytes, and knows the providers only by the names of
// their fields: an event of an unknown kind is read like all others.
//
// # Drift
//
// [Compare] compares the shape of what a provider replied when it was recorded
// with the shape of what it replies now; [Changes] compares what was said:
//
//	pairs := []event.Pair{{Old: event.ReplyOf(recorded), New: event.ReplyOf(fresh)}}
//	for _, finding := range event.Compare(pairs) {
//		fmt.Println(finding.Severity, finding.Rule, finding.Event, finding.Path)
//	}
//
// The severities, by what a client that was written against the recordings
// would notice:
//
//   - Breaking: it may fail. A success became an error; the media type is
//     another; the stream lacks its terminal event; an event that every
//     recorded reply had is gone, or one that closes what another opens; a
//     field that was there every time, twice or more, is gone; a value is of
//     another JSON type; events come in an order that never occurred.
//   - Notable: it may behave otherwise. A new kind of event or block, or one
//     that did not occur this time; a value is null that never was; a field is
//     gone that was there the one time it could be, or that counts tokens;
//     another status, stop reason or way to end; a family of headers is gone.
//   - Cosmetic: it should not notice. A new field or header; a field that was
//     there only sometimes did not occur.
package event

import (
	"bytes"
	"encoding/json"
	"sort"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// Event is one event of a stream, one element of a streamed JSON array, one line
// of NDJSON, or a whole document.
type Event struct {
	// Index counts the events of the reply from 0.
	Index int
	// At is when its last byte arrived, counted from the response header. It is 0
	// without a timeline.
	At time.Duration
	// Start and End are the event's offsets in the body, including its frame.
	Start, End int
	// Name is the event's type: the event field of an event stream, else the type
	// in the data; "" when there is none.
	Name string
	// Data is the content, mostly JSON, without the frame. It may share the
	// body's memory.
	Data []byte
	// Whole reports whether the event reached its end. The last event of a stream
	// that was cut did not.
	Whole bool
	// Last reports whether the provider ends the stream with this event
	// ([llm.IsTerminalEvent]).
	Last bool
}

// readEvents splits a reply body into events. The timeline may be empty; bytes that it does not
// cover arrived at its last time.
func readEvents(provider, contentType string, body []byte, timeline []cassette.Chunk) []Event {
	arrived := arrivalTimes(timeline)
	var list []Event
	for f := range llm.Frames(contentType, body) {
		if f.Data == nil {
			continue
		}
		list = append(list, Event{
			Index: len(list), At: arrived(f.End), Start: f.Start, End: f.End, Name: nameOf(f),
			Data: f.Data, Whole: f.Whole, Last: f.Whole && llm.IsTerminalEvent(provider, f.Data),
		})
	}
	return list
}

// Of returns the events of an interaction's reply, in order. Comments and blank lines between
// them are left out. It never fails: data that cannot be read is an event without a name.
func Of(in cassette.Interaction) []Event {
	return readEvents(Provider(in.Request), in.Response.Header.Get("Content-Type"), in.Response.Body, in.Timeline)
}

// arrivalTimes returns a function for when the body's first n bytes had arrived.
func arrivalTimes(timeline []cassette.Chunk) func(n int) time.Duration {
	ends := make([]int, len(timeline))
	sum := 0
	for i, c := range timeline {
		sum += c.Length
		ends[i] = sum
	}
	return func(n int) time.Duration {
		if len(timeline) == 0 {
			return 0
		}
		return timeline[min(sort.SearchInts(ends, n), len(timeline)-1)].At
	}
}

// done ends the streams of OpenAI's older API and of many gateways. It is not JSON, and means
// nothing to a client that knows the provider's own terminal event.
const done = "[DONE]"

func nameOf(f llm.Frame) string {
	if f.Name != "" {
		return f.Name
	}
	if string(bytes.TrimSpace(f.Data)) == done {
		return done
	}
	var says struct {
		Type   any             `json:"type"`
		Object any             `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(f.Data, &says) // what is not a JSON object has no name
	if name, ok := says.Type.(string); ok && name != "" {
		return name
	}
	if name, ok := says.Object.(string); ok && name != "" {
		return name
	}
	if len(says.Error) > 0 {
		return "error"
	}
	return ""
}
