package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is told of redacted values leads to them, in documents and in streams, and nothing
// is told of the word alone.
func TestRedactions(t *testing.T) {
	ev := Evidence{Exchanges: []Exchange{
		{Index: 3,
			Request:  Request{Body: []byte(`{"messages":[{"content":"key REDACTED0123456789 and REDACTED0123456789"},{"content":[{"text":"REDACTEDabcdefgh"}]}]}`)},
			Response: Response{Body: []byte("event: a\ndata: {\"x\":1}\n\nevent: b\ndata: {\"delta\":{\"text\":\"REDACTEDabcdefgh\"}}\n\n")}},
		{Index: 4, Request: Request{Body: []byte(`{"messages":"it was REDACTED"}`)},
			Response: Response{Body: []byte("torn {\"REDACTEDabcdefgh")}},
	}}
	want := []Redaction{
		{Exchange: 3, Body: "request", Places: []string{"messages[0].content", "messages[1].content[0].text"},
			Values: 3},
		{Exchange: 3, Body: "response", Places: []string{"event 1, delta.text"}, Values: 1},
		{Exchange: 4, Body: "response", Places: []string{}, Values: 1},
	}
	if d := cmp.Diff(want, ev.Redactions()); d != "" {
		t.Error(d)
	}
}
