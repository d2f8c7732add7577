package harness

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// casesWithTraffic returns the cases that have a cassette.
func casesWithTraffic(t *testing.T) []Case {
	t.Helper()
	all, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for _, c := range all {
		if c.HasCassette() {
			cases = append(cases, c)
		}
	}
	return cases
}

// TestCassettesAreWhatTheScriptSays holds the committed recordings against the
// simulator of today. After a change of a scenario or an emitter, run
// "make cassettes".
func TestCassettesAreWhatTheScriptSays(t *testing.T) {
	for _, c := range casesWithTraffic(t) {
		recording, err := cassette.OpenFS(cassettes.FS, c.CassettePath())
		if err != nil {
			t.Fatal(err)
		}
		h := newCapture(Permutation{Case: c}, committedSeed, rkatSubject{}.About()).newScript(nil)
		for in, err := range recording.All() {
			if err != nil {
				t.Fatal(err)
			}
			status, body, aborted := sendRecorded(h, in.Request)
			if status != in.Response.Status || !bytes.Equal(body, in.Response.Body) ||
				aborted != (in.End == cassette.EndReset) {
				t.Errorf("%s: the script answers with status %d, %d bytes, aborted=%t; recorded are %d, %d bytes, ended by %s; run make cassettes",
					c.CassettePath(), status, len(body), aborted, in.Response.Status, len(in.Response.Body), in.End)
			}
		}
	}
}

// sendRecorded sends a recorded request to h without a network.
func sendRecorded(h http.Handler, in cassette.Request) (status int, body []byte, aborted bool) {
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

// TestNoStrayCassettes holds that every committed file is the cassette of a case.
func TestNoStrayCassettes(t *testing.T) {
	known := map[string]bool{}
	for _, c := range casesWithTraffic(t) {
		known[c.CassettePath()] = true
	}
	files := 0
	err := fs.WalkDir(cassettes.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".yaml" {
			files++
			if !known[name] {
				t.Errorf("%s belongs to no case; run make cassettes", name)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d cassettes, %v", files, err)
	}
}

// TestCassettesHoldNoKey looks for the made-up keys that the agent sent.
func TestCassettesHoldNoKey(t *testing.T) {
	for _, c := range casesWithTraffic(t) {
		text, err := cassettes.FS.ReadFile(c.CassettePath())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range fakeKeys() {
			if bytes.Contains(text, []byte(key[1])) {
				t.Errorf("%s holds %s", c.CassettePath(), key[1])
			}
		}
		if err := VerifyCassette(c, cassettes.FS); err != nil {
			t.Error(err)
		}
	}
}

// TestSelftestOnCassettes holds that the committed cassettes show every requirement
// that a scenario was written for and give every mutant something to distort, and that
// every check notices. The samples of package mutant show the other requirements.
func TestSelftestOnCassettes(t *testing.T) {
	cases, err := AllCases()
	if err != nil {
		t.Fatal(err)
	}
	var good []evidence.Evidence
	cases = slices.DeleteFunc(cases, func(c Case) bool { return c.isSimulated() })
	for _, c := range cases {
		ev, err := RecordedEvidence(c, cassettes.FS)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, ev)
	}
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	rules = slices.DeleteFunc(rules, func(r report.Rule) bool {
		return !slices.ContainsFunc(cases, func(c Case) bool { return c.covers(r.Requirement.ID) })
	})
	if len(rules) < 65 {
		t.Errorf("scenarios cover only %d checks", len(rules))
	}
	for _, fault := range mutate.Selftest(good, rules).Faults {
		t.Error(fault)
	}
}
