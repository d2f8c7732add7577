package continuation

import (
	"bytes"
	"encoding/json"
	"slices"
)

// request is the body of a request, by its members.
type request struct {
	members map[string]json.RawMessage
	input   []json.RawMessage
}

// parseRequest reads a body. One whose input is not a list of items is sent whole, always.
func parseRequest(body []byte) (request, error) {
	var q request
	if err := json.Unmarshal(body, &q.members); err != nil {
		return request{}, err
	}
	_ = json.Unmarshal(q.members["input"], &q.input) // a text is not a list
	return q, nil
}

// response is what a connection holds: a request, whole, with what was answered.
type response struct {
	id      string
	request request
	output  []json.RawMessage
}

// newInput returns the items of q that come after those that the provider holds under r.
// There are none if q does not go on with r; then it has to be sent whole.
func (r *response) newInput(q request) []json.RawMessage {
	if r == nil || r.id == "" || !bytes.Equal(r.request.members["model"], q.members["model"]) {
		return nil
	}
	asked, answered := len(r.request.input), len(r.output)
	if asked == 0 || len(q.input) <= asked+answered ||
		!slices.EqualFunc(q.input[:asked], r.request.input, isSame) ||
		!slices.EqualFunc(q.input[asked:asked+answered], r.output, isReplay) {
		return nil
	}
	return q.input[asked+answered:]
}

func isSame(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

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

// messageOf returns the message that asks for a reply to q: with the input that is new
// behind the response named previous, or whole if previous is "".
func messageOf(q request, previous string, input []json.RawMessage) ([]byte, error) {
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
