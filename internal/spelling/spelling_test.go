package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	known := []string{"MAX_AGE", "MODE", "SEED", "ALLOW_UNUSED", "CREDENTIAL", "JSON"}
	for name, want := range map[string]string{
		"MAXAGE": "MAX_AGE", "max_ages": "MAX_AGE", "MXA_AGE": "MAX_AGE", "ALLOW_UNSUED": "ALLOW_UNUSED",
		"CREDENTIALS": "CREDENTIAL", "MODES": "MODE", "HOME": "", "LOG": "", "MAX": "", "": "", "CODE_DIR": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestRank(t *testing.T) {
	names := []string{"ORD-001", "SIG-001", "SIG-010"}
	for in, want := range map[string]string{"sig-011": "SIG-001 SIG-010 ORD-001", "SIG010": "SIG-010 SIG-001 ORD-001",
		"ORD": "ORD-001 SIG-001 SIG-010", "": "ORD-001 SIG-001 SIG-010"} {
		if got := strings.Join(Rank(in, names), " "); got != want {
			t.Errorf("Rank(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAdvice(t *testing.T) {
	names := []string{"run", "resume"}
	got := Advice("resmue", names) + " " + Advice("command", names) + "; " + Advice("run", nil)
	if got != "did you mean resume? there are run, resume; there is none" {
		t.Error(got)
	}
}

func TestHint(t *testing.T) {
	names := []string{"none", "low", "high"}
	if got := Hint("hgih", names) + Hint("huge", names) + Hint(strings.Repeat("high", 1<<20), names); got != "; did you mean high?" {
		t.Error(got)
	}
}

func TestCountEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abd", 1}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}} {
		if got := countEdits(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "a"), rapid.StringMatching(`[a-c]{0,8}`).Draw(t, "b")
		d := countEdits(a, b)
		if d != countEdits(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Errorf("%s, %s: %d", a, b, d)
		}
	})
}
