package check

import (
	"strings"
	"testing"
)

// TestEditShape: an edit is named by its kind, and an unknown one is not.
func TestEditShape(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"EsYBCkYI+/==", "", "emptied"},
		{"text ", "text", "white space"},
		{"a\r\nb", "a\nb", "line ends"},
		{"EsYB+/a==", "EsYB-_a", "base64 alphabet"},
		{"a+b/c=", "a%2Bb%2Fc%3D", "for a URL"},
		{"a<b", "a&lt;b", "for HTML"},
		{"a\nb", `a\nb`, "for JSON"},
		{"EsYBa", "esyba", "case"},
		{"EsYBCkYIabc", "EsYB[REDACTED]", "redactor"},
		{"caf\u00e9", "caf\ufffd", "U+FFFD"},
		{"EsYBCkYIabc", "EsYBC…", "ellipsis"},
		{"EsYBCkYIabc", "EsYBC[truncated 6 characters]", "ellipsis"},
		{"cafe\u0301", "caf\u00e9", "Unicode"},
		{"it\u2019s", "it's", "typographic"},
		{"password=heron", "password=***", "redactor"},
		{"EsYBCkYIabc", "other[REDACTED]", ""},
		{"EsYBCkYIabc", "EsYBCkYI", "end was cut"},
		{"EsYBCkYIabc", "CkYIabc", "beginning was cut"},
		{"EsYB", "EsYB.", "added behind"},
		{"EsYB", "xEsYB", "put before"},
		{"EsYBCkYIabc", "EsYBDkYIabc", ""},
	} {
		got := describeEdit(c.was, c.is)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q to %q: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}
