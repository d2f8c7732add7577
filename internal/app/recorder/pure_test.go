package recorder

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		f    flags
		ci   bool
		want string
	}{
		{flags{}, false, modeRecord},
		{flags{}, true, modeReplay},
		{flags{mode: modePass}, true, modePass},
		{flags{mode: modeRecord}, true, modeRecord},
		{flags{mode: modeRecord, missing: true}, false, modeMissing},
	} {
		if c.f.settle(c.ci); c.f.mode != c.want {
			t.Errorf("ci=%t: %q, want %q", c.ci, c.f.mode, c.want)
		}
	}
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "woodpecker": true} {
		if got := (&app{Frame: cli.New(program, nil, nil, nil, []string{"CI=" + value})}).inCI(); got != want {
			t.Errorf("CI=%s: %t", value, got)
		}
	}
}

func TestIsUs(t *testing.T) {
	for _, c := range []struct {
		listen, base string
		want         bool
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"127.0.0.1:8080", "http://localhost:8080/v1", true},
		{"localhost:8080", "http://127.0.0.1:8080", true},
		{"localhost:8080", "http://[::1]:8080", true},
		{"[::1]:8080", "https://[::1]:8080", true},
		{"0.0.0.0:8080", "http://127.0.0.1:8080", true},
		{":8080", "http://localhost:8080", true},
		{"127.0.0.1:80", "http://127.0.0.1", true},
		{"127.0.0.1:443", "https://127.0.0.1", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8081", false},
		{"127.0.0.1:8080", "http://127.0.0.2:8080", false},
		{"127.0.0.1:8080", "http://10.0.0.7:8080", false},
		{"127.0.0.1:8080", "http://gateway.example:8080", false},
		{"0.0.0.0:8080", "http://gateway.example:8080", false},
		{"127.0.0.1:443", "http://127.0.0.1", false},
		{"127.0.0.1:0", "http://127.0.0.1:0", false},
		{"127.0.0.1:8080", "://", false},
		{"8080", "http://127.0.0.1:8080", false},
	} {
		if got := isUs(c.listen, c.base); got != c.want {
			t.Errorf("listening at %s, upstream %s: %t, want %t", c.listen, c.base, got, c.want)
		}
	}
}

func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		got    replay.Receipt
		allow  bool
		failed []string
	}{
		"all":                    {replay.Receipt{Served: 3}, false, nil},
		"nothing":                {replay.Receipt{Unused: 3}, false, []string{"nothing was asked for"}},
		"nothing, allowed":       {replay.Receipt{Unused: 3}, true, []string{"nothing was asked for"}},
		"missed":                 {replay.Receipt{Served: 2, Missed: 1}, false, []string{"1 request has no recorded answer"}},
		"missed, allowed":        {replay.Receipt{Missed: 2}, true, []string{"2 requests have no recorded answer"}},
		"unused":                 {replay.Receipt{Served: 2, Unused: 1}, false, []string{"1 interaction was never asked for"}},
		"unused, allowed":        {replay.Receipt{Served: 2, Unused: 1}, true, nil},
		"missed and unused":      {replay.Receipt{Missed: 1, Unused: 2}, false, []string{"1 request has", "2 interactions were"}},
		"missed, unused allowed": {replay.Receipt{Missed: 1, Unused: 2}, true, []string{"1 request has"}},
	} {
		got := gates(c.got, c.allow, nothingAsked)
		if !slices.EqualFunc(got, c.failed, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.failed)
		}
	}
}

func TestWorse(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 0}, {0, 3, 3}, {3, 1, 1}, {1, 3, 1}, {1, 2, 2}, {4, 1, 4}} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("worse(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * day, "2w": 14 * day, "36h": 36 * time.Hour, "90m": 90 * time.Minute} {
		var g age
		if err := g.Set(text); err != nil || time.Duration(g) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(g), err)
		}
		var again age
		if err := again.Set(g.String()); err != nil || again != g {
			t.Errorf("%s is written %s, which reads as %v, %v", text, g.String(), again, err)
		}
	}
	for _, text := range []string{"", "soon", "30", "-1d", "0h", "d", "99999999d", "1.5d"} {
		var g age
		if err := g.Set(text); err == nil {
			t.Errorf("%q is %v", text, time.Duration(g))
		}
	}
}

func TestStale(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for created, want := range map[string]string{
		"2026-03-02T12:00:00Z": "",
		"2026-03-01T12:00:00Z": "",
		"2026-03-01T11:59:59Z": "is stale: recorded 30 days ago and --max-age is 30d",
		"2025-03-31T12:00:00Z": "is stale: recorded 365 days ago",
		"":                     "does not say when",
		"yesterday":            "does not say when",
	} {
		if got := stale(cassette.Meta{Created: created}, age(30*day), now); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", created, got, want)
		}
		if got := stale(cassette.Meta{Created: created}, 0, now); got != "" {
			t.Errorf("%s without a limit: %q", created, got)
		}
	}
}

// What led around the proxy is gone, what the settings name is theirs, and the
// rest is as it was.
func TestOverlay(t *testing.T) {
	env := []string{"PATH=/bin", "HTTP_PROXY=http://corp", "all_proxy=socks5://corp", "NO_PROXY=*", "SSL_CERT_FILE=/old", "SSL_CERT_FILES=/kept", "ODD"}
	got := overlay(env, []string{"NO_PROXY=", "SSL_CERT_FILE=/new"})
	want := []string{"PATH=/bin", "SSL_CERT_FILES=/kept", "ODD", "NO_PROXY=", "SSL_CERT_FILE=/new"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShellLine(t *testing.T) {
	for in, want := range map[string]string{
		"A=":                             "A=",
		"HTTPS_PROXY=http://x@[::1]:1/":  "HTTPS_PROXY='http://x@[::1]:1/'",
		"HTTPS_PROXY=http://127.0.0.1:1": "HTTPS_PROXY=http://127.0.0.1:1",
		"F=/a b/$c'd":                    `F='/a b/$c'\''d'`,
	} {
		if got := shellLine(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		shell, err := exec.LookPath("sh")
		if err != nil {
			continue
		}
		name, value, _ := strings.Cut(in, "=")
		out, err := exec.Command(shell, "-c", want+`; printf %s "$`+name+`"`).Output()
		if err != nil || string(out) != value {
			t.Errorf("%s reads as %q, %v", want, out, err)
		}
	}
}

func TestRelay(t *testing.T) {
	for _, c := range []struct {
		got      os.Signal
		sent     int
		terminal bool
		want     os.Signal
	}{
		{os.Interrupt, 0, false, os.Interrupt},
		{syscall.SIGTERM, 0, true, syscall.SIGTERM},
		{syscall.SIGTERM, 1, true, os.Kill},
		{os.Interrupt, 1, false, os.Kill},
		{os.Interrupt, 0, true, nil},
		{os.Interrupt, 1, true, nil},
	} {
		if got := relay(c.got, c.sent, c.terminal); got != c.want {
			t.Errorf("%v after %d, terminal=%t: %v, want %v", c.got, c.sent, c.terminal, got, c.want)
		}
	}
}

func TestFreshName(t *testing.T) {
	for in, want := range map[string]string{"c/x.yaml": "c/x~fresh.yaml", "x.yml": "x~fresh.yml", "c.d/x": "c.d/x~fresh"} {
		if got := freshName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
