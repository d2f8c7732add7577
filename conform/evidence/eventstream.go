package evidence

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// spellEvents writes the binary event stream of Bedrock as the server-sent events that it holds, so that one reader
// does for both; places in the reply are places in what it returns. A stream that breaks off is spelt as far as it is
// whole, and a body that is no such stream stays as it is.
func spellEvents(r Response) Response {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/vnd.amazon.eventstream") {
		return r
	}
	var out []byte
	for rest := r.Body; ; {
		headers, payload, after, ok := cutFrame(rest)
		if !ok {
			break
		}
		rest = after
		out = appendEvent(out, headers, payload)
	}
	if out == nil && len(r.Body) > 0 {
		return r
	}
	r.Header = r.Header.Clone()
	r.Header.Set("Content-Type", "text/event-stream")
	r.Body, r.Chunks = out, nil // they describe the frames
	return r
}

// appendEvent appends one frame: the event that a chunk wraps in base64, or an exception as the error that ends a
// stream of the provider itself.
func appendEvent(out []byte, headers map[string]string, payload []byte) []byte {
	var chunk struct {
		Bytes   []byte `json:"bytes"`
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &chunk) != nil {
		return out
	}
	data := chunk.Bytes
	if headers[":message-type"] != "event" {
		data = wires.JSON(map[string]any{"type": "error", "error": map[string]any{
			"type": cmp.Or(headers[":exception-type"], headers[":error-code"]), "message": chunk.Message}})
	}
	var event struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &event) // an event without a type is sent without a name
	if event.Type != "" {
		out = append(append(append(out, "event: "...), event.Type...), '\n')
	}
	return append(append(append(out, "data: "...), bytes.TrimSpace(data)...), "\n\n"...)
}

// cutFrame cuts one frame of an event stream off: the length of all and of the headers, a checksum of both, headers,
// payload and a checksum of all (https://smithy.io/2.0/aws/amazon-eventstream.html). Headers other than
// strings do not occur.
func cutFrame(data []byte) (headers map[string]string, payload, rest []byte, ok bool) {
	const prelude, sum = 12, 4
	if len(data) < prelude+sum {
		return nil, nil, nil, false
	}
	length, headerLength := uint64(binary.BigEndian.Uint32(data)), uint64(binary.BigEndian.Uint32(data[4:]))
	if length < prelude+sum+headerLength || length > uint64(len(data)) ||
		crc32.ChecksumIEEE(data[:length-sum]) != binary.BigEndian.Uint32(data[length-sum:length]) {
		return nil, nil, nil, false
	}
	headers = map[string]string{}
	for left := data[prelude : prelude+headerLength]; len(left) > 0; {
		name, after, hasName := cutText(left, 1)
		if !hasName || len(after) == 0 || after[0] != 7 { // a string
			return nil, nil, nil, false
		}
		value, more, hasValue := cutText(after[1:], 2)
		if !hasValue {
			return nil, nil, nil, false
		}
		headers[name], left = value, more
	}
	return headers, data[prelude+headerLength : length-sum], data[length:], true
}

// cutText cuts off a text behind its length, which takes one or two bytes.
func cutText(data []byte, width int) (text string, rest []byte, ok bool) {
	if len(data) < width {
		return "", nil, false
	}
	n := int(data[0])
	if width == 2 {
		n = n<<8 | int(data[1])
	}
	if data = data[width:]; len(data) < n {
		return "", nil, false
	}
	return string(data[:n]), data[n:], true
}
