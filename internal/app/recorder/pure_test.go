package recorder

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/replay"
)

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		f    modeFlags
		ci   bool
		want string
	}{
		{modeFlags{}, false, modeRecord},
		{modeFlags{}, true, modeReplay},
		{modeFlags{mode: modePass}, true, modePass},
		{modeFlags{mode: modeRecord}, true, modeRecord},
		{modeFlags{mode: modeRecord, missing: true}, false, modeMissing},
	} {
		if c.f.setMode(c.ci); c.f.mode != c.want {
			t.Errorf("ci=%t: %q, want %q", c.ci, c.f.mode, c.want)
		}
	}
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true,
		"true": true, "woodpecker": true} {
		if got := (&app{Frame: cli.New(cli.Program{}, nil, nil, nil, []string{"CI=" + value})}).inCI(); got != want {
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
		if got := isOwnAddress(c.listen, c.base); got != c.want {
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
		"relaxed":          {replay.Receipt{Served: 2, RelaxedRequests: 1}, false, nil},
		"all":              {replay.Receipt{Served: 3}, false, nil},
		"nothing":          {replay.Receipt{Unused: 3}, false, []string{"nothing was asked for"}},
		"nothing, allowed": {replay.Receipt{Unused: 3}, true, []string{"nothing was asked for"}},
		"missed": {replay.Receipt{Served: 2, Missed: 1}, false,
			[]string{"1 request has no recorded answer"}},
		"missed, allowed": {replay.Receipt{Missed: 2}, true, []string{"2 requests have no recorded answer"}},
		"unused": {replay.Receipt{Served: 2, Unused: 1}, false,
			[]string{"1 interaction was never asked for"}},
		"unused, allowed": {replay.Receipt{Served: 2, Unused: 1}, true, nil},
		"missed and unused": {replay.Receipt{Missed: 1, Unused: 2}, false,
			[]string{"1 request has", "2 interactions were"}},
		"missed, unused allowed": {replay.Receipt{Missed: 1, Unused: 2}, true, []string{"1 request has"}},
	} {
		got := gates{allowUnused: c.allow}.failedGates(c.got, nothingAsked)
		if !slices.EqualFunc(got, c.failed, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.failed)
		}
	}
}

func TestStrictGate(t *testing.T) {
	for relaxed, want := range map[int][]string{0: nil, 1: {"1 answer was not to the recorded request"},
		3: {"3 answers were"}} {
		got := gates{strict: true}.failedGates(replay.Receipt{Served: 3, RelaxedRequests: relaxed}, nothingAsked)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%d relaxed: %q, want %q", relaxed, got, want)
		}
	}
}

func TestWorse(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 0}, {0, 3, 3}, {3, 1, 1}, {1, 3, 1}, {1, 2, 2}, {4, 1, 4}} {
		if got := worseExit(c[0], c[1]); got != c[2] {
			t.Errorf("worse(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func TestFreshName(t *testing.T) {
	for in, want := range map[string]string{"c/x.yaml": "c/x~fresh.yaml", "x.yml": "x~fresh.yml",
		"c.d/x": "c.d/x~fresh"} {
		if got := freshName(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
