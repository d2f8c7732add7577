package gate

import (
	"strings"
	"testing"
)

// Of a long secret the beginning is enough. Of two that begin alike, the one that stands there
// is what a redactor is taught to take out.
func TestLongSecretsThatBeginAlike(t *testing.T) {
	beginning := strings.Repeat("Ab3dEf9hIj", maxSearched/10+1)
	set := newSecretSet(beginning+"first", beginning+"second")
	for text, want := range map[string]string{
		beginning + "first, and more": beginning + "first",
		beginning + "second":          beginning + "second",
		beginning[:maxSearched]:       beginning + "second",
		beginning[:maxSearched-1]:     "",
	} {
		if got := set.secretAt([]byte(text), 0); got != want {
			t.Errorf("%d bytes: found %d bytes, want %d", len(text), len(got), len(want))
		}
	}
}

// Some secrets are too short to be one inside another word, or a name.
func TestShortSecretsAreWords(t *testing.T) {
	set := newSecretSet("hunter22", "Long-Enough-1", "words")
	for text, want := range map[string]bool{"hunter22": true, "hunter22!": true, "hunter221": false, "words": false} {
		if got := set.secretAt([]byte(text), 0) != ""; got != want {
			t.Errorf("%s: found %v", text, got)
		}
	}
	for name, want := range map[string]bool{"x-long-enough-1": true, "Long-Enough-11": true, "x-hunter22": false,
		"long-enough": false} {
		if got := set.inName(name); got != want {
			t.Errorf("name %s: found %v", name, got)
		}
	}
}
