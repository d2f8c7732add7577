package mcp

import (
	"strings"
	"testing"
)

// TestMasker takes out whatever a server was given, in whole: also when one
// value begins as another does, and what of its address may be a key.
func TestMasker(t *testing.T) {
	for range 20 { // maps have no order
		mask := newMasker(Server{
			Env:     map[string]string{"A": "canary-token", "B": "canary-token-that-is-longer", "SHORT": "x"},
			Headers: map[string]string{"Authorization": "Bearer canary-in-header"},
			URL:     "https://user:canary-pass%3F@host/mcp?key=canary%2Fquery&short=1",
		}, nil)
		got := mask("canary-token-that-is-longer canary-token Bearer canary-in-header canary-in-header " +
			`Post "https://user:canary-pass%3F@host/mcp?key=canary%2Fquery&short=1": canary/query canary-pass? x 1`)
		if strings.Contains(got, "canary") || strings.Contains(got, "longer") || !strings.Contains(got, "[B] [A] ") ||
			!strings.HasSuffix(got, " x 1") || !strings.Contains(got, "@host/mcp?key=") {
			t.Fatal(got)
		}
	}
}

// TestMaskerOfArguments takes out of a text what the arguments of a command have from variables,
// and passwords of addresses among them. Paths and other words stay.
func TestMaskerOfArguments(t *testing.T) {
	mask := newMasker(Server{
		Command: "npx",
		Args: []string{"-y", "--header", "Auth: Bearer canary-key", "postgres://u:canary-pass@db/x",
			"/home/ada/files"},
	}, []string{"KEY=canary-key", "UNUSED=elsewhere", "HOME=/home/ada", "FILES=/home/ada/files", "EMPTY="})
	const want = "Auth: Bearer [KEY], postgres://u:[password]@db/x, elsewhere, /home/ada/files"
	if got := mask("Auth: Bearer canary-key, postgres://u:canary-pass@db/x, elsewhere, /home/ada/files"); got != want {
		t.Error(got)
	}
}

// TestSaidMasksFirst: what is cut in two is still a secret.
func TestSaidMasksFirst(t *testing.T) {
	s := newServer(
		Server{Name: "s", Env: map[string]string{"A": "canary-canary-canary"}}, Options{}.withDefaults(),
		&progressRouter{},
	)
	if got := s.serverText(
		strings.Repeat("x", maxLogLine-10) + "canary-canary-canary",
	); strings.Contains(got, "canary") || len(got) > maxLogLine+10 {
		t.Errorf("…%s", got[maxLogLine-20:])
	}
}
