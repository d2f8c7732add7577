package evidence

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// frame writes a frame of an event stream; headers are names and values in turn.
func frame(payload string, headers ...string) []byte {
	var head []byte
	for i := 0; i < len(headers); i += 2 {
		head = append(append(append(head, byte(len(headers[i]))), headers[i]...), 7)
		head = append(binary.BigEndian.AppendUint16(head, uint16(len(headers[i+1]))), headers[i+1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func chunk(event string) []byte {
	return frame(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abc"}`,
		":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

const bedrockURL = "https://bedrock-runtime.us-east-1.amazonaws.com" +
	"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"

func TestEventStreamOfBedrock(t *testing.T) {
	const begins, ends = `{"type":"message_start","message":{"id":"msg_1"}}`, `{"type":"message_stop"}`
	whole := append(chunk(begins), chunk(ends)...)
	spelt := "event: message_start\ndata: " + begins + "\n\nevent: message_stop\ndata: " + ends + "\n\n"
	wrong := append([]byte{}, whole...)
	wrong[len(wrong)-20] ^= 1
	for name, c := range map[string]struct{ body, want string }{
		"whole":          {string(whole), spelt},
		"broken off":     {string(whole[:len(whole)-1]), spelt[:strings.Index(spelt, "event: message_stop")]},
		"wrong sum":      {string(wrong), spelt[:strings.Index(spelt, "event: message_stop")]},
		"nothing":        {"", ""},
		"no such stream": {`{"message":"no"}`, `{"message":"no"}`},
		"absurd length":  {"\x7f\xff\xff\xff" + string(whole[4:]), "\x7f\xff\xff\xff" + string(whole[4:])},
		"untyped event":  {string(chunk(`{}`)), "data: {}\n\n"},
		"payload of no JSON": {string(append(frame("x", ":message-type", "event"), chunk(ends)...)),
			spelt[strings.Index(spelt, "event: message_stop"):]},
		"exception": {string(append(chunk(begins), frame(`{"message":"Too many tokens."}`, ":message-type", "exception",
			":exception-type", "throttlingException")...)), "event: message_start\ndata: " + begins + "\n\nevent: error\n" +
			`data: {"error":{"message":"Too many tokens.","type":"throttlingException"},"type":"error"}` + "\n\n"},
	} {
		x, reason := newExchange(0, cassette.Interaction{
			Request: cassette.Request{Method: "POST", URL: bedrockURL, Body: []byte(`{"messages":[]}`)},
			Response: cassette.Response{Status: 200, Body: []byte(c.body),
				Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}}})
		if reason != "" || x.Provider != Anthropic || string(x.Response.Body) != c.want {
			t.Errorf("%s: %q %q\ngot  %q\nwant %q", name, reason, x.Provider, x.Response.Body, c.want)
		}
	}
}

// FuzzEventStream: no bytes make the reader fail or read beyond them.
func FuzzEventStream(f *testing.F) {
	f.Add(append(chunk(`{"type":"ping"}`), frame("", ":a", "b")...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for rest := data; ; {
			_, payload, after, ok := cutFrame(rest)
			if !ok {
				return
			}
			if len(payload)+len(after) >= len(rest) {
				t.Fatalf("%d bytes became %d and %d", len(rest), len(payload), len(after))
			}
			rest = after
		}
	})
}
