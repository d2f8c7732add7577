package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
)

// TestAmbiguousBodies holds that a body is refused, and no run started, where other
// programs could read something else in it, and that the answer names the place.
func TestAmbiguousBodies(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	for _, c := range []struct{ name, body, want string }{
		{"a name twice", `{"prompt":"hi","prompt":"ho"}`, "/prompt: duplicate object member name"},
		{
			"a name twice, deeper", `{"prompt":"hi","budget":{"max_turns":1,"max_turns":2}}`,
			"/budget/max_turns: duplicate",
		},
		{"a name in another case", `{"prompt":"hi","Prompt":"ho"}`, "/Prompt: unknown object member name"},
		{"only in another case", `{"PROMPT":"hi"}`, "/PROMPT: unknown"},
		{"half of a surrogate pair", `{"prompt":"\ud800"}`, "/prompt: invalid surrogate pair"},
		{"not UTF-8", "{\"prompt\":\"\xff\"}", "/prompt: invalid UTF-8"},
		{"two documents", `{"prompt":"hi"}{"prompt":"ho"}`, "after top-level value"},
		{"deep", strings.Repeat("[", 3000) + strings.Repeat("]", 3000), "more than 4096 names"},
	} {
		a := f.ask(t, "POST", "/sessions", c.body)
		if a.status != 400 && a.status != 422 || !strings.Contains(a.Detail, c.want) {
			t.Errorf("%s: %d %s; want a refusal with %q", c.name, a.status, a.text, c.want)
		}
	}
	if listed := f.ask(t, "GET", "/sessions", ""); len(listed.Sessions) != 0 {
		t.Errorf("sessions were started: %s", listed.text)
	}
}

// TestManyFaults holds that the answer to a request with many faults is short.
func TestManyFaults(t *testing.T) {
	f := newFixture(t, server.BackendLimits{}, rest.Options{})
	members := make([]string, 0, 300_000)
	for i := range cap(members) {
		members = append(members, fmt.Sprintf(`"unknown%d":1`, i))
	}
	for _, n := range []int{1000, len(members)} {
		a := f.ask(t, "POST", "/sessions", `{"prompt":"hi",`+strings.Join(members[:n], ",")+`}`)
		if a.status != 400 && a.status != 422 || len(a.text) > 4096 {
			t.Errorf(
				"%d unknown members: status %d, an answer of %d bytes; want a refusal of at most 4096", n, a.status,
				len(a.text),
			)
		}
	}
}
