package gemini

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzPretty holds that JSON is indented as encoding/json indents it.
func FuzzPretty(f *testing.F) {
	for _, sample := range []string{`{}`, `[ ]`, `{"a":[1,{"b":[]},"x\\\"y{,:"],"c":{ }}`, `"s"`,
		` { "a" : [ 1 , 2 ] } `, `[[],[[]],{"":""}]`} {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want bytes.Buffer
		if !json.Valid(doc) || json.Indent(&want, bytes.TrimSpace(doc), "", "  ") != nil {
			return
		}
		if got := prettyJSON(doc); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q becomes %q, want %q", doc, got, want.Bytes())
		}
	})
}
