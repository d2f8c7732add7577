package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
)

// A document in a document in a document is looked into, but not without an end.
func TestNestedDocumentsEnd(t *testing.T) {
	document := `{"api_key":"ak_R0nd0m9v4lu3t7hat1s5s3cret"}`
	for range jsonscan.DeepestNested {
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
