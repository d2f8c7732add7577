package recorder

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/cli"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func newTestApp(stderr io.Writer) *app {
	return &app{Frame: cli.New(cli.Program{Name: "recorder"}, nil, io.Discard, stderr, nil)}
}

// However many hosts a client tries, what is kept and printed of them is bounded.
func TestTurnedAwayIsBounded(t *testing.T) {
	var stderr bytes.Buffer
	a := newTestApp(&stderr)
	log := a.logTurnedAway()
	for i := range 3 * maxTurnedAway {
		log(fmt.Sprintf("host%d.example: refused", i/2))
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if len(lines) != maxTurnedAway+1 ||
		!strings.HasSuffix(lines[maxTurnedAway], "only the first 1000 different reasons are printed") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if n := a.turnedAway.Load(); n != 3*maxTurnedAway {
		t.Errorf("%d attempts counted", n)
	}
}

// Sessions beyond the bound share one entry, whose requests are refused. Those that are known go on.
func TestSessionsAreBounded(t *testing.T) {
	var stderr bytes.Buffer
	l := &sessions{env: &modeEnv{app: newTestApp(&stderr),
		flags: &modeFlags{mode: modeReplay, cassette: t.TempDir() + "/{session}.yaml"}},
		byName: map[string]*clientSession{}}
	for i := range maxSessions {
		l.sessionCassette(fmt.Sprint("known", i))
	}
	first, second := l.openClient("beyond"), l.openClient("further")
	if first != second || first.err == nil || !strings.Contains(first.err.Error(), "one session more than the 10000") ||
		len(l.byName) != maxSessions+1 {
		t.Errorf("%v and %v, %d sessions", first.err, second.err, len(l.byName))
	}
	if known := l.sessionCassette("known1"); known.name != "known1" {
		t.Errorf("a known session became %q", known.name)
	}
	if n := strings.Count(stderr.String(), "one session more"); n != 1 {
		t.Errorf("said %d times:\n%s", n, &stderr)
	}
}
