package provider

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// socketReply is the body of a reply. It learns the response while the client reads it, and gives
// the connection back at its end.
type socketReply struct {
	io.ReadCloser
	events   *stream.SSE
	request  socketRequest
	previous string // the response that the connection held before
	output   []outputItem
	id       string // once the response is complete
	abandon  func() // ends the connection
	release  func(*heldResponse)
}

// errReplyTwice is what the client gets in place of a reply that it had before.
var errReplyTwice = errors.New("the provider sent the last reply again in place of the next one")

type outputItem struct {
	Index int             `json:"output_index"`
	Item  json.RawMessage `json:"item"`
}

// Read passes the bytes on, and reads the events in them.
func (r *socketReply) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if _, bad := r.events.Write(p[:n]); errors.Is(bad, errReplyTwice) { // other events are the client's to refuse
		return 0, errReplyTwice
	}
	return n, err
}

// Close gives the connection to the next request if it goes on from this one. What is left
// of a reply would be taken for the next one, so that a reply that is not complete ends its
// connection.
func (r *socketReply) Close() error {
	release, abandon := r.release, r.abandon
	r.release, r.abandon = nil, nil
	switch {
	case release == nil: // closed already
	case r.id != "":
		release(r.response())
	default:
		abandon()
	}
	return r.ReadCloser.Close()
}

// response returns what was answered.
func (r *socketReply) response() *heldResponse {
	slices.SortStableFunc(r.output, func(a, b outputItem) int { return a.Index - b.Index })
	out := &heldResponse{id: r.id, request: r.request}
	for _, o := range r.output {
		out.output = append(out.output, o.Item)
	}
	return out
}

// readEvent notes finished items, and the response that is complete.
func (r *socketReply) readEvent(f *stream.Frame) error {
	var event struct {
		Type string `json:"type"`
		outputItem
		Response struct {
			ID string `json:"id"`
		} `json:"response"`
	}
	if json.Unmarshal(f.Data, &event) != nil {
		return nil
	}
	if r.previous != "" && event.Response.ID == r.previous {
		return errReplyTwice
	}
	switch event.Type {
	case "response.output_item.done":
		r.output = append(r.output, event.outputItem)
	case "response.completed":
		r.id = event.Response.ID
	}
	return nil
}
