package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// recorded is one exchange of the corpus of other tools' traffic.
type recorded struct {
	name   string // CASE/NN
	url    string
	header http.Header
	body   *string
	status int
	reply  string
}

// readCorpus reads the recorded exchanges of Gemini, or skips the test.
func readCorpus(t *testing.T) []recorded {
	t.Helper()
	var all []recorded
	for _, file := range corpus.Files(t, "gemini/*/*.request.json") {
		var request struct {
			URL     string
			Headers map[string]any
			Body    *string
		}
		var response struct{ Status int }
		base := strings.TrimSuffix(file, ".request.json")
		readJSON(t, file, &request)
		if _, err := os.Stat(base + ".response.json"); err == nil {
			readJSON(t, base+".response.json", &response)
		}
		reply, _ := os.ReadFile(base + ".response.body")
		all = append(all, recorded{
			name: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(base), url: request.URL,
			header: headerOf(request.Headers), body: request.Body, status: response.Status, reply: string(reply),
		})
	}
	return all
}

// words are those of a recorded refusal.
func (r recorded) words() string {
	var reply struct{ Error struct{ Message string } }
	_ = json.Unmarshal([]byte(r.reply), &reply) // no JSON: no words
	return reply.Error.Message
}

func headerOf(from map[string]any) http.Header {
	h := http.Header{}
	for name, v := range from {
		h.Set(name, fmt.Sprint(v))
	}
	return h
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// otherwords are the recorded refusals that the simulator gives in other words,
// and why.
var otherwords = map[string]string{
	"adk-go__model.gemini.TestModel_TrackingHeaders_verifies_headers_are_set_vertex_enabled/01": "the client sent a key where only a token is taken; recorders remove keys, so to the simulator it sent nothing",
	"opentelemetry-python-contrib__vertexai.test_generate_content_missing_model/01":             "the recorder changed the project in the path",
}

// TestCorpus holds that every recorded request with a reply is accepted, without
// exception, and that every recorded refusal is one here, with the same status
// and words. Recorders remove keys, so all but those recorded without are given
// one.
func TestCorpus(t *testing.T) {
	env := rule.Env{Key: seal.NewKey("corpus"), ForeignTokens: true}
	counts := map[string]int{}
	for _, rec := range readCorpus(t) {
		r, err := http.NewRequest(http.MethodPost, rec.url, nil)
		if err != nil {
			t.Fatalf("%s: %v", rec.name, err)
		}
		to, ok := routeOf(r.URL.Path)
		if why := skipped(rec, to, ok); why != "" {
			counts["skipped: "+why]++
			continue
		}
		if rec.status != http.StatusForbidden && rec.status != http.StatusUnauthorized {
			r.Header.Set("x-goog-api-key", "made-up")
		}
		refusal := Parse(r, []byte(*rec.body)).Check(env)
		liveEnv := env
		liveEnv.Level = rule.Live
		if live := Parse(r, []byte(*rec.body)).Check(liveEnv); (live == nil) != (refusal == nil) ||
			live != nil && live.Rule != refusal.Rule {
			t.Errorf("%s: strict says %v, live %v", rec.name, refusal, live)
		}
		got, words := http.StatusOK, ""
		if refusal != nil {
			got, words = refusal.Status, refusal.Message
		}
		counts[fmt.Sprintf("recorded %d, here %d", rec.status, got)]++
		if got != rec.status {
			t.Errorf("%s: %s: recorded %d, here %d %v", rec.name, to.model, rec.status, got, refusal)
		} else if refusal != nil && words != rec.words() && otherwords[rec.name] == "" {
			t.Errorf("%s: recorded %q, here %q", rec.name, rec.words(), words)
		}
	}
	for outcome, n := range counts {
		t.Logf("%4d %s", n, outcome)
	}
	if counts["recorded 200, here 200"] < 900 {
		t.Error("too few recordings to say anything")
	}
}

// skipped says why a recording says nothing about Check, "" when it does.
func skipped(rec recorded, to route, ok bool) string {
	_, served := findModel(to.model)
	switch {
	case rec.body == nil || rec.status == 0:
		return "the source kept no request, or no response"
	case !ok || to.model == "unknown":
		return "the source does not say which model"
	case !served && rec.status != http.StatusNotFound:
		return "a model that is gone: " + to.model
	}
	return ""
}
