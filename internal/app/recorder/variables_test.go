package recorder

import "testing"

// A name that is nearly a flag's is that flag, misspelt; others are nobody's.
func TestNearest(t *testing.T) {
	known := []string{"RECORDER_MAX_AGE", "RECORDER_MODE", "RECORDER_SEED", "RECORDER_ALLOW_UNUSED", "RECORDER_CREDENTIAL", "RECORDER_JSON"}
	for name, want := range map[string]string{
		"RECORDER_MAXAGE": "RECORDER_MAX_AGE", "RECORDER_MAX_AGES": "RECORDER_MAX_AGE", "RECORDER_MXA_AGE": "RECORDER_MAX_AGE",
		"RECORDER_ALLOW_UNSUED": "RECORDER_ALLOW_UNUSED", "RECORDER_CREDENTIALS": "RECORDER_CREDENTIAL", "RECORDER_MODES": "RECORDER_MODE",
		"RECORDER_HOME": "", "RECORDER_LOG": "", "RECORDER_MAX": "", "RECORDER_": "", "RECORDER_CODE_DIR": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abd", 1}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want || got != distance(tt.b, tt.a) {
			t.Errorf("%s, %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
