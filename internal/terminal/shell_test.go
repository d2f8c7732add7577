package terminal

import "testing"

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"a/b~c.yaml": "a/b~c.yaml", "my file": "'my file'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~x": "'~x'",
		"": "''", "é": "'é'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
