package session

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// FuzzEntry: the quick way of reading a message says the same as the slow one,
// of what it reads at all.
func FuzzEntry(f *testing.F) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, m := range []transcript.Message{
		transcript.User(`a ",\"message\":{" b`),
		transcript.Assistant(
			"end_turn", transcript.Reasoning("t", nil), transcript.ToolUse("i", "n", []byte(`{"a":1.0}`)),
		),
		transcript.ToolResults(transcript.ToolResult{ToolUseID: "i", Content: "bad \xff"}),
	} {
		line, err := AppendRecord(nil, MessageRecord{At: at, Message: m})
		line = bytes.TrimSpace(line)
		if err != nil {
			f.Fatal(err)
		}
		if _, ok := scanMessageRecord(readSeal(line).body); !ok {
			f.Errorf("%s is not read quickly", line)
		}
		f.Add(line)
		f.Add(bytes.Replace(line, []byte(`,"crc32c"`), []byte(`,"message":null,"crc32c"`), 1))
		f.Add(bytes.Replace(line, []byte(`,"message"`), []byte(`,"x":{},"message"`), 1))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return // Parse gives none
		}
		quick, ok := scanMessageRecord(readSeal(line).body)
		if !ok {
			return
		}
		slow, err := decodeMessageRecord(line)
		if err != nil || !json.Valid(line) || !strings.Contains(string(line), `"record":"message"`) {
			t.Fatalf("%q is read, but %v", line, err)
		}
		if s := slow.(MessageRecord); !s.At.Equal(quick.At) || !reflect.DeepEqual(s.Message, quick.Message) {
			t.Errorf("%q\n%+v\n%+v", line, quick, s)
		}
	})
}
