package cassette

import (
	"strings"
	"testing"
)

// Whatever file is named by mistake, no error quotes it, nor the program.
func TestErrorsQuoteNoContent(t *testing.T) {
	for text, want := range map[string]string{
		"hunter2:x:0:0:root:/root:/bin/bash\n":            "line 1: another kind of value belongs here",
		"version: 1\nhunter2: x\ninteractions: []\n":      "line 2: a key that does not belong here",
		"version: 1\nversion: hunter2\n":                  "line 2: a key that is already defined",
		"a: *hunter2\n":                                   "unknown anchor … referenced",
		"version: hunter2\n":                              "line 1: another kind of value belongs here",
		"version: 1\ninteractions:\n- request: hunter2\n": "another kind of value belongs here",
		"---\nmeta:\n    format: [hunter2]\nversion: 1\ninteractions:\n    - request:": "the head is damaged (line 3: another kind of value belongs here)",
	} {
		_, err := Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		for _, word := range []string{"hunter2", "!!", "unmarshal", "vcrFile", "struct"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
