package redact

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// BenchmarkConversation redacts a conversation of a hundred requests, each of which repeats the ones before
// and adds the result of a tool and a streamed reply of 6 KB.
func BenchmarkConversation(b *testing.B) {
	header := http.Header{"X-Api-Key": {"sk-ant-api03-0123456789abcdefghijklmnop"},
		"Content-Type": {"application/json"}}
	reply := bytes.Repeat([]byte(event), 6<<10/len(event))
	var requests [][]byte
	var turns []string
	for n := range 100 {
		result := strings.Repeat(fmt.Sprintf("line %d of main.go: func main() { run(%d) }\\n", n, n), 60)
		turns = append(turns,
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"main.go"}}]},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`,
				n, n, result))
		requests = append(requests, []byte(`{"model":"claude-sonnet-4-5","stream":true,"messages":[`+
			strings.Join(turns, ",")+`]}`))
	}
	b.ReportAllocs()
	for b.Loop() {
		r := New(nil)
		for _, body := range requests {
			r.Interaction(cassette.Interaction{
				Request: cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages", Header: header,
					Body: body},
				Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
					Body: reply},
			})
		}
	}
}
