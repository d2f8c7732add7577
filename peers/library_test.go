package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	cassette2 "github.com/dnaeon/go-vcr/v2/cassette"
	vcr2 "github.com/dnaeon/go-vcr/v2/recorder"
	cassette4 "gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	vcr4 "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/meerkat-go/conformance/vcr"
)

// library is a recorder for Go tests.
type library interface {
	http.RoundTripper
	Stop() error
}

// libraries open a cassette to record into or to replay, matching bodies as go-vcr's
// README does.
var libraries = []struct {
	name string
	open func(path string, replays bool) (library, error)
}{
	{"vcr", func(path string, replays bool) (library, error) {
		r, err := vcr.NewAsMode(path, vcr.Mode(modeOf(replays)), nil)
		if err != nil {
			return nil, err
		}
		r.SkipRequestLatency = true
		r.SetMatcher(func(r *http.Request, i cassette2.Request) bool {
			return cassette2.DefaultMatcher(r, i) && sameBody(r, i.Body)
		})
		return r, nil
	}},
	{"go-vcr-v2", func(path string, replays bool) (library, error) {
		r, err := vcr2.NewAsMode(path, modeOf(replays), nil)
		if err != nil {
			return nil, err
		}
		r.SkipRequestLatency = true
		r.SetMatcher(func(r *http.Request, i cassette2.Request) bool {
			return cassette2.DefaultMatcher(r, i) && sameBody(r, i.Body)
		})
		return r, nil
	}},
	{"go-vcr-v4", func(path string, replays bool) (library, error) {
		mode := vcr4.ModeRecordOnly
		if replays {
			mode = vcr4.ModeReplayOnly
		}
		return vcr4.New(path, vcr4.WithMode(mode), vcr4.WithSkipRequestLatency(true),
			vcr4.WithMatcher(func(r *http.Request, i cassette4.Request) bool {
				return r.Method == i.Method && r.URL.String() == i.URL && sameBody(r, i.Body)
			}))
	}},
}

func modeOf(replays bool) vcr2.Mode {
	if replays {
		return vcr2.ModeReplaying
	}
	return vcr2.ModeRecording
}

// BenchmarkLibraries runs one test with each library: open the cassette, send requests
// of 2 KB one after the other, each answered with a stream of 20 events, and end.
func BenchmarkLibraries(b *testing.B) {
	server := httptest.NewServer(bare())
	defer server.Close()
	for _, n := range []int{10, 100, 1000} {
		for _, l := range libraries {
			path := filepath.Join(b.TempDir(), l.name)
			for _, replays := range []bool{false, true} {
				what := map[bool]string{false: "record", true: "replay"}[replays]
				b.Run(fmt.Sprintf("%s/%d/%s", what, n, l.name), func(b *testing.B) {
					for i := range b.N {
						at := path
						if !replays {
							at = fmt.Sprint(path, b.N, i)
						}
						if err := runTest(l.open, at, replays, server.URL, n); err != nil {
							b.Fatal(err)
						}
					}
				})
				if !replays { // what is replayed
					if err := runTest(l.open, path, false, server.URL, n); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
}

func runTest(open func(string, bool) (library, error), path string, replays bool, url string, n int) error {
	l, err := open(path, replays)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: l}
	for i := range n {
		resp, err := client.Post(url+"/v1/messages", "application/json", strings.NewReader(prompt(i)))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if string(body) != reply {
			return fmt.Errorf("request %d: another reply", i)
		}
		_ = resp.Body.Close()
	}
	return l.Stop()
}

// TestLibrariesReplayAlike holds that every library gives the recorded bytes, or its
// figures mean nothing.
func TestLibrariesReplayAlike(t *testing.T) {
	server := httptest.NewServer(bare())
	defer server.Close()
	for _, l := range libraries {
		path := filepath.Join(t.TempDir(), l.name)
		for _, replays := range []bool{false, true} {
			if err := runTest(l.open, path, replays, server.URL, 3); err != nil {
				t.Errorf("%s, replays %t: %v", l.name, replays, err)
			}
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
