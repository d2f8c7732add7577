package provider

import (
	"bytes"
	"encoding/json"
	"slices"
)

// socketRequest is the body of a request, by its members.
type socketRequest struct {
	members map[string]json.RawMessage
	input   []json.RawMessage
}

// parseSocketRequest reads a body. One whose input is not a list of items is sent whole, always.
func parseSocketRequest(body []byte) (socketRequest, error) {
	var q socketRequest
	if err := json.Unmarshal(body, &q.members); err != nil {
		return socketRequest{}, err
	}
	_ = json.Unmarshal(q.members["input"], &q.input) // a text is not a list
	return q, nil
}

// heldResponse is what a connection holds: a request, whole, with what was answered.
type heldResponse struct {
	id      string
	request socketRequest
	output  []json.RawMessage
}

// newInput returns the items of q that come after those that the provider holds under r.
// There are none if q does not go on with r; then it has to be sent whole.
func (r *heldResponse) newInput(q socketRequest) []json.RawMessage {
	if r == nil || r.id == "" || !bytes.Equal(r.request.members["model"], q.members["model"]) {
		return nil
	}
	asked, answered := len(r.request.input), len(r.output)
	if asked == 0 || len(q.input) <= asked+answered ||
		!slices.EqualFunc(q.input[:asked], r.request.input, isSameItem) ||
		!slices.EqualFunc(q.input[asked:asked+answered], r.output, isReplay) {
		return nil
	}
	return q.input[asked+answered:]
}

func isSameItem(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

// isReplay reports whether sent gives back an item as it was received. Members that the
// request leaves out, such as the status, do not count.
func isReplay(sent, received json.RawMessage) bool {
	var a, b any
	return json.Unmarshal(sent, &a) == nil && json.Unmarshal(received, &b) == nil && isWithin(a, b)
}

// isWithin reports whether every member of a is in b. Lists have the same length.
func isWithin(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		in, ok := b.(map[string]any)
		for name, value := range a {
			ok = ok && isWithin(value, in[name])
		}
		return ok
	case []any:
		in, ok := b.([]any)
		return ok && slices.EqualFunc(a, in, isWithin)
	}
	return a == b
}

// createMessage returns the message that asks for a reply to q: with the input that is new
// behind the response named previous, or whole if previous is "".
func createMessage(q socketRequest, previous string, input []json.RawMessage) ([]byte, error) {
	message := map[string]any{"type": "response.create"}
	for name, value := range q.members {
		if name != "stream" && name != "background" { // of HTTP
			message[name] = value
		}
	}
	if previous != "" {
		message["previous_response_id"], message["input"] = previous, input
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(message); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
