package evidence

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"

	"github.com/meerkat-go/conformance/wires"
)

// spellEvents rewrites Bedrock's binary event stream as the server-sent events inside it, so that the same reader
// handles both. Positions in the reply then refer to the rewritten text. A stream that was cut is rewritten up to
// its last complete frame. Any other body is returned unchanged.
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
func appendEvent(out, headers, payload []byte) []byte {
	var chunk struct {
		Bytes   []byte `json:"bytes"`
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &chunk) != nil {
		return out
	}
	data := chunk.Bytes
	if data == nil {
		data = wires.JSON(map[string]any{"type": "error", "error": map[string]any{
			"type": exceptionType(headers), "message": chunk.Message}})
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

// exceptionType is the value of one header: a text, of type 7, behind its length in two bytes.
func exceptionType(headers []byte) string {
	_, value, _ := bytes.Cut(headers, []byte(":exception-type\x07"))
	if len(value) < 2 {
		return ""
	}
	n := int(binary.BigEndian.Uint16(value))
	return string(value[2:min(2+n, len(value))])
}

// cutFrame cuts one frame of an event stream off: the length of all and of the headers, a checksum of both, headers,
// payload and a checksum of all (https://smithy.io/2.0/aws/amazon-eventstream.html).
func cutFrame(data []byte) (headers, payload, rest []byte, ok bool) {
	const prelude, sum = 12, 4
	if len(data) < prelude+sum {
		return nil, nil, nil, false
	}
	length, headerLength := uint64(binary.BigEndian.Uint32(data)), uint64(binary.BigEndian.Uint32(data[4:]))
	if length < prelude+sum+headerLength || length > uint64(len(data)) ||
		crc32.ChecksumIEEE(data[:length-sum]) != binary.BigEndian.Uint32(data[length-sum:length]) {
		return nil, nil, nil, false
	}
	return data[prelude : prelude+headerLength], data[prelude+headerLength : length-sum], data[length:], true
}
