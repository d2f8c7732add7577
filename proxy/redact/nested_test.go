package redact

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{``, `a`, `\`, `\n\t\"\\\/`, `\u0041\u00e9\u20ac`, `\u12`, `\ud83d\ude00`, `%41%4`, `a%zz+b`, "{\\\"a\\\":\\\"b\\\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for kind, d := range map[string]decodedText{"JSON": decodeJSON([]byte(raw)), "URL": decodeURL(raw)} {
			if len(d.at) != len(d.text)+1 || d.at[len(d.text)] != len(raw) {
				t.Fatalf("%s: %d bytes, %d offsets: %v", kind, len(d.text), len(d.at), d.at)
			}
			for i, at := range d.at[1:] {
				if at < d.at[i] {
					t.Fatalf("%s: offset %d after %d", kind, at, d.at[i])
				}
			}
		}
		if plain := unquoteJSON([]byte(raw)); plain != raw && !strings.Contains(raw, `\u`) && utf8.ValidString(raw) && string(decodeJSON([]byte(raw)).text) != plain {
			t.Errorf("%q: %q, want %q", raw, decodeJSON([]byte(raw)).text, plain)
		}
		if plain, err := url.QueryUnescape(raw); err == nil && string(decodeURL(raw).text) != plain {
			t.Errorf("%q: %q, want %q", raw, decodeURL(raw).text, plain)
		}
	})
}

// A document in a document in a document is looked into, but not without an end.
func TestNestedDocumentsEnd(t *testing.T) {
	document := `{"api_key":"ak_R0nd0m9v4lu3t7hat1s5s3cret"}`
	for range deepestNested {
		document = `{"config":` + quotedJSON(document) + `}`
	}
	deep := simple()
	deep.Request.Body = []byte(document)
	if out := New([]byte("k")).Interaction(deep); strings.Contains(string(out.Request.Body), "R0nd0m9") {
		t.Errorf("leaks: %s", out.Request.Body)
	}
	for range 8 { // its escapes double each time
		document = `{"config":` + quotedJSON(document) + `}`
	}
	deep.Request.Body = []byte(document)
	New([]byte("k")).Interaction(deep)
}

func quotedJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
