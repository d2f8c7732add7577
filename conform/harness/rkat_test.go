package harness

import (
	"slices"
	"strings"
	"testing"
)

// TestIdleTimeout holds that rkat has a short patience only where it is to give up a
// provider that falls silent. Where it is called off or killed then, it would ask again
// before that on a machine that stands still.
func TestIdleTimeout(t *testing.T) {
	for name, want := range map[string]bool{
		"stall": true, "stall-once": true,
		"interrupt-in-text": false, "stopped-in-text": false, "killed-in-text": false, "thinking-tool-loop": false,
	} {
		var got []string
		s := rkatSubject{converse: func(_ Room, _ Main, _, env []string) (Session, error) {
			got = env
			return nil, nil
		}}
		opened, err := s.Open(t.Context(), Room{Case: findCase(t, name+"/anthropic"), Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if session, ok := opened.(*rkatSession); ok {
			got = session.env
		}
		isShort := slices.ContainsFunc(got,
			func(e string) bool { return strings.HasPrefix(e, "RKAT_LIMITS_IDLE_TIMEOUT=") })
		if isShort != want || len(got) == 0 {
			t.Errorf("%s: a short patience is %t, want %t: %q", name, isShort, want, got)
		}
	}
}
