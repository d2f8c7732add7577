package suites

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/suites/play"
)

func allPlays(t *testing.T) []scenario.Play {
	t.Helper()
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return scenario.Plays(all)
}

// TestCassettesAreWhatTheScriptSays holds the committed recordings against the
// simulator of today: a scenario or an emitter that changes wants
// "make cassettes".
func TestCassettesAreWhatTheScriptSays(t *testing.T) {
	for _, p := range allPlays(t) {
		if p.Silent() {
			continue
		}
		tape, err := cassette.OpenFS(cassettes.FS, p.Cassette())
		if err != nil {
			t.Fatal(err)
		}
		h := play.Script(p)
		for in, err := range tape.All() {
			if err != nil {
				t.Fatal(err)
			}
			status, body, aborted := ask(h, in.Request)
			if status != in.Response.Status || !bytes.Equal(body, in.Response.Body) || aborted != (in.End == cassette.EndReset) {
				t.Errorf("%s: the script answers with status %d, %d bytes, aborted=%t; recorded are %d, %d bytes, ended by %s; run make cassettes",
					p.Cassette(), status, len(body), aborted, in.Response.Status, len(in.Response.Body), in.End)
			}
		}
	}
}

// ask sends a recorded request to h without a network.
func ask(h http.Handler, in cassette.Request) (status int, body []byte, aborted bool) {
	r := httptest.NewRequest(in.Method, in.URL, bytes.NewReader(in.Body))
	r.Header = in.Header.Clone()
	r.Header.Set("Authorization", "Bearer made-up")
	w := httptest.NewRecorder()
	func() {
		defer func() {
			err, _ := recover().(error)
			aborted = errors.Is(err, http.ErrAbortHandler)
		}()
		h.ServeHTTP(w, r)
	}()
	return w.Code, w.Body.Bytes(), aborted
}

// TestNoStrayCassettes holds that every committed file is some play's.
func TestNoStrayCassettes(t *testing.T) {
	known := map[string]bool{}
	for _, p := range allPlays(t) {
		known[p.Cassette()] = !p.Silent()
	}
	files := 0
	err := fs.WalkDir(cassettes.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".yaml" {
			files++
			if !known[name] {
				t.Errorf("%s belongs to no play; run make cassettes", name)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d cassettes, %v", files, err)
	}
}

// TestCassettesHoldNoKey looks for the made-up keys that rkat sent.
func TestCassettesHoldNoKey(t *testing.T) {
	for _, p := range allPlays(t) {
		if p.Silent() {
			continue
		}
		text, err := cassettes.FS.ReadFile(p.Cassette())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range play.Keys {
			if bytes.Contains(text, []byte(key)) {
				t.Errorf("%s holds %s", p.Cassette(), key)
			}
		}
	}
}
