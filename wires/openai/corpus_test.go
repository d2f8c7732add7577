package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/wires/rule"
)

// exchange is a recorded request of another tool and what the API answered.
type exchange struct {
	name   string // CASE/NN
	body   string
	status int
	reply  []byte
}

// traffic reads the corpus, or skips the test.
func traffic(t *testing.T) []exchange {
	t.Helper()
	var all []exchange
	for _, file := range corpus.Files(t, "openai/*/*.request.json") {
		if e, ok := readExchange(t, file); ok {
			all = append(all, e)
		}
	}
	return all
}

// readExchange is ok for a request to make a response whose body and status
// were recorded.
func readExchange(t *testing.T, file string) (exchange, bool) {
	t.Helper()
	var request struct {
		Method, URL string
		Body        *string
	}
	var response struct{ Status int }
	base := strings.TrimSuffix(file, ".request.json")
	unmarshal(t, file, &request)
	if _, err := os.Stat(base + ".response.json"); err == nil {
		unmarshal(t, base+".response.json", &response)
	}
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL, "/responses") || request.Body == nil ||
		response.Status == 0 {
		return exchange{}, false
	}
	reply, err := os.ReadFile(base + ".response.body")
	if err != nil {
		t.Fatal(err)
	}
	return exchange{filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(base), *request.Body, response.Status,
		reply}, true
}

func unmarshal(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// exceptions are the recordings on which the simulator differs, each with the
// reason; CASE/NN.
var exceptions = map[string]string{
	"rig__openai.response_identity_edge.previous_response_id_chain_keeps_axes_distinct/02": placeholder,
	"rig__openai.streaming_grammar.previous_response_id_chain/02":                          placeholder,
}

const placeholder = "its recorder replaced the ids of responses by placeholders, which look like none (O-25)"

// TestCorpus holds that what the API accepted is accepted, seals of others
// aside, and what it refused is refused for the same reason.
func TestCorpus(t *testing.T) {
	env := rule.Env{ForeignTokens: true}
	counts, used := map[string]int{}, map[string]bool{}
	for _, e := range traffic(t) {
		got := e.check(env)
		if live := e.check(rule.Env{ForeignTokens: true, Level: rule.Live}); (live == nil) != (got == nil) ||
			live != nil && live.Rule != got.Rule {
			t.Errorf("%s: strict says %v, live %v", e.name, got, live)
		}
		switch {
		case e.status < 300 && !e.served():
			counts["skipped: a model that is not served"]++
		case e.status < 300 && got == nil:
			counts["accepted, as recorded"]++
		case exceptions[e.name] != "":
			counts["excepted"]++
			used[e.name] = true
		case e.status < 300:
			t.Errorf("%s: accepted by the API, got %v", e.name, got)
		default:
			counts["refused, as recorded"]++
			e.compare(t, got)
		}
	}
	for name := range exceptions {
		if !used[name] {
			t.Errorf("%s: no longer an exception", name)
		}
	}
	if counts["accepted, as recorded"] < 900 || counts["refused, as recorded"] < 12 {
		t.Errorf("the corpus should hold more: %v", counts)
	}
	t.Log(counts)
}

// served reports whether the request names a model that is served, or none.
func (e exchange) served() bool {
	var request struct{ Model string }
	_ = json.Unmarshal([]byte(e.body), &request) // what cannot be read names none
	return request.Model == "" || findModel(request.Model) != nil
}

// check sends the request with a key unless the API had refused the key, which
// is recorded nowhere.
func (e exchange) check(env rule.Env) *rule.Refusal {
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
	if e.status != http.StatusUnauthorized {
		r.Header.Set("Authorization", "Bearer test-key")
	}
	return Parse(r, []byte(e.body)).Check(env)
}

// compare holds a refusal against the recorded one, word for word.
func (e exchange) compare(t *testing.T, got *rule.Refusal) {
	t.Helper()
	var recorded struct {
		Error struct{ Message, Type, Code, Param string }
	}
	if err := json.Unmarshal(e.reply, &recorded); err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	want := recorded.Error
	if got == nil || got.Status != e.status || got.Type != want.Type || got.Code != want.Code ||
		got.Param != want.Param {
		t.Errorf("%s: got %+v, recorded %d %+v", e.name, got, e.status, want)
		return
	}
	if e.status != http.StatusUnauthorized && got.Message != want.Message {
		t.Errorf("%s:\ngot      %s\nrecorded %s", e.name, got.Message, want.Message)
	}
}

// TestCorpusAltered holds that the acceptance above means something: the same
// requests with one member too many are refused.
func TestCorpusAltered(t *testing.T) {
	for _, e := range traffic(t) {
		e.body = strings.Replace(e.body, "{", `{"no_such_parameter":1,`, 1)
		if got := e.check(rule.Env{ForeignTokens: true}); e.status < 300 && got == nil {
			t.Errorf("%s: accepted with an unknown parameter", e.name)
		}
	}
}
