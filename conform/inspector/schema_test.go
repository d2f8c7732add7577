package inspector_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/schemas"
)

// TestPagesFollowTheirSchema holds the document of pages of all recordings, whole and
// shared, against its schema, and that broken documents do not pass.
func TestPagesFollowTheirSchema(t *testing.T) {
	list := readRecordings(t)
	for name, options := range map[string]inspector.Options{"whole": {}, "shared": {Share: true}} {
		var document bytes.Buffer
		if err := inspector.WriteJSON(&document, pageOf(t, options, list)); err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate(schemas.Inspector, document.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for from, to := range map[string]string{
			`"schema":"conform.inspector.v1"`: `"schema":"conform.inspector.v0"`,
			`"kind":"check"`:                  `"kind":"walk"`,
			`"first_byte_ms":`:                `"first_bite_ms":`,
			`"status":200`:                    `"status":"200"`,
			`"requirements":[`:                `"demands":[`,
		} {
			broken := strings.Replace(document.String(), from, to, 1)
			if broken == document.String() {
				t.Errorf("%s: holds no %s", name, from)
			} else if schemas.Validate(schemas.Inspector, []byte(broken)) == nil {
				t.Errorf("%s: %s is valid", name, to)
			}
		}
	}
}
