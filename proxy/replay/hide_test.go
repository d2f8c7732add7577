package replay

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHideSecrets(t *testing.T) {
	for _, tt := range []struct{ recorded, asked, want string }{
		{"log in with REDACTED and go", "log in with Daffodil-Crane-8 and go", "log in with REDACTED and go"},
		{"log in with REDACTED and go", "log in with Daffodil-Crane-8 and stay", "log in with REDACTED and stay"},
		{"a=REDACTED b=REDACTED.", "a=first b=second.", "a=REDACTED b=REDACTED."},
		{`"the key REDACTED"`, `"the key Daffodil-Crane-8"`, `"the key REDACTED"`},
		{"Sunday: REDACTED and go", "Monday: Daffodil-Crane-8 and go", "Monday: REDACTED and go"},
		{"log in with REDACTED", "log in with Daffodil-Crane-8, again Daffodil-Crane-8",
			"log in with REDACTED again REDACTED"},
		{"log in with REDACTED and go", "log in with Daffodil-Crane-8 and say Daffodil-Crane-8",
			"log in with REDACTED and say REDACTED"},
		{"log in with REDACTED", "say hello", "say hello"}, // nothing stands in its place
		{"plain words", "other words", "other words"},
		{"REDACTED", "Daffodil", "Daffodil"}, // a text of nothing else has no place to be found by
	} {
		if got := hideSecrets(tt.recorded, tt.asked); got != tt.want {
			t.Errorf("%q, %q: %q", tt.recorded, tt.asked, got)
		}
	}
}

// What stands between the same words is never shown, whatever it is made of.
func TestHideSecretsWholly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9!.-]{8,40}`).Draw(t, "secret")
		before, after := rapid.StringMatching(`[a-z ]{1,40}`).Draw(t, "before"),
			rapid.StringMatching(`[a-z ]{0,40}`).Draw(t, "after")
		if got := hideSecrets(before+redactedMark+after, before+secret+after); strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	})
}

// A secret that was learnt after its first request was recorded is not shown by a miss.
func TestMissShowsNoLateSecret(t *testing.T) {
	body := func(secret, words string) string {
		return `{"messages":[{"role":"user","content":"with the password ` + secret + ` and ` + words + `"}]}`
	}
	for _, words := range []string{"download it", "throw it away"} {
		var said strings.Builder
		p := newReplayer(t, Config{Log: func(line string) { said.WriteString(line + "\n") }},
			pair(body("REDACTED8ZbtpoFlsYa1b2c3", "download it"), "yes"))
		ask(p, endpoint, body("Daffodil-Crane-8", words))
		if got := said.String(); strings.Contains(got, "Daffodil") || !strings.Contains(got, "messages[0].content") {
			t.Error(got)
		}
	}
}
