package toy_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/toy"
)

func TestMain(m *testing.M) {
	if err := toy.Parts().Register(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type provider struct{}

// RoundTrip is the provider.
func (provider) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: {\"type\":\"word\",\"text\":\"hello\"}\n\ndata: {\"type\":\"bye\"}\n\n")
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func ask(box string) *http.Request {
	body := `{"model":"toy-1","stream":true,"box":"` + box + `","turns":[{"who":"user","words":"hi"}]}`
	r := httptest.NewRequest(http.MethodPost, "https://talk.toy.example/v0/talk", strings.NewReader(body))
	r.RequestURI = ""
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Toy-Api-Key", secret)
	return r
}

const secret = "tk-9fQ2xLw81ZmNp4RtVb7K"

// TestFolderIsEnough holds that the wire is recorded, redacted, replayed and judged by its folder alone.
func TestFolderIsEnough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toy.yaml")
	file, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceLive, Matching: replay.Rules()},
		cassette.CreateOptions{})
	check(t, err)
	recorder, err := record.New(record.Config{Transport: provider{}, Writer: file, Redactor: redact.New(nil)})
	check(t, err)
	recorder.ServeHTTP(httptest.NewRecorder(), ask("one"))
	recorder.Close()
	check(t, file.Close())
	text, err := os.ReadFile(path)
	check(t, err)
	if strings.Contains(string(text), secret) || strings.Contains(string(text), "incomplete: ") {
		t.Errorf("the recording holds the key, or is not whole:\n%s", text)
	}

	recording, err := cassette.Open(path)
	check(t, err)
	replayer, err := replay.New(replay.Config{Cassette: recording, Redactor: redact.New(nil)})
	check(t, err)
	again := httptest.NewRecorder()
	replayer.ServeHTTP(again, ask("another")) // the box may differ
	if again.Code != http.StatusOK || !strings.Contains(again.Body.String(), "hello") {
		t.Errorf("replayed %d %s", again.Code, again.Body)
	}

	loaded, err := evidence.Load(path)
	check(t, err)
	rules, err := report.RulesOf(specs.CurrentSet)
	check(t, err)
	got := report.JudgeRecording(rules, loaded[0])
	if got.Provider != "toy" || got.Verdict != report.Pass || got.Calls.Accepted != 1 {
		t.Errorf("judged %s %s %+v: %s %+v", got.Provider, got.Verdict, got.Calls, got.Reason, got.Findings)
	}
}

// TestRuleIsEnough holds that a rule of the folder judges a request, and quotes the provider's words.
func TestRuleIsEnough(t *testing.T) {
	rules, err := report.RulesOf(specs.CurrentSet)
	check(t, err)
	for turns, want := range map[string]string{`[]`: "TOY-1", `[{"who":"user","words":"hi"}]`: ""} {
		ev := evidence.Evidence{Exchanges: []evidence.Exchange{{Provider: "toy", Process: -1,
			Provenance: evidence.ProvenanceSynthetic,
			Request: evidence.Request{Method: http.MethodPost, URL: "https://talk.toy.example/v0/talk",
				Body: []byte(`{"model":"toy-1","turns":` + turns + `}`)},
			Response: evidence.Response{Status: 200, Body: []byte(`{"words":"hello"}`)}}}}
		got := ""
		for _, res := range report.Judge(rules, &ev) {
			for _, f := range res.Findings {
				if res.Check != "PAR-006/required" {
					continue
				}
				if got = f.Rule; res.Verdict != report.Fail || !strings.Contains(f.Message, "Say something.") {
					t.Errorf("%s: %s %+v", turns, res.Verdict, f)
				}
			}
		}
		if got != want {
			t.Errorf("turns %s broke rule %q, want %q", turns, got, want)
		}
	}
}

// TestNobodyKnowsTheName holds that no other file imports the folder.
func TestNobodyKnowsTheName(t *testing.T) {
	check(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || filepath.Base(filepath.Dir(path)) == "toy" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "wires/toy") {
			t.Errorf("%s imports the wire", path)
		}
		return err
	}))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLintIsEnough holds that a request, and tools, are judged before anything is sent.
func TestLintIsEnough(t *testing.T) {
	found, err := lint.Request(lint.Target{},
		[]byte(`{"model":"toy-1","turns":[{"who":"model","calls":[{"id":"1","tool":"a","with":{}}]}]}`))
	check(t, err)
	if len(found.Findings) != 1 || found.Findings[0].Rule != "TOY-2" || found.Findings[0].Path != "turns[0].calls[0]" {
		t.Errorf("%+v", found)
	}
	tools, err := lint.Tools([]byte(`[{"name":"a","inputSchema":{"type":"object"}}]`), "toy")
	check(t, err)
	if tools.Verdict() != report.Pass || tools.Tools != 1 {
		t.Errorf("%+v", tools)
	}
}
