package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	_ "github.com/meerkat-go/conformance/wires/all" // the wires
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

var update = flag.Bool("update", false, "write testdata/agreement/differences.yaml again; reasons are written by hand")

const (
	agreementDir    = "testdata/agreement"
	differencesFile = agreementDir + "/differences.yaml"
)

// oneRequest is one request, and the rule that it breaks: "" for none, "strict A-5" for a rule
// that the simulator enforces at its strictest level only.
type oneRequest struct {
	provider, model string
	header          http.Header
	body            []byte
	want            string
}

// answers is what the simulator says of a request at two levels, and the referee by
// conform lint: the rule that is broken, "" for none. The referee names all rules.
type answers struct {
	Strict string `yaml:"strict,omitempty"`
	Live   string `yaml:"live,omitempty"`
	Lint   string `yaml:"lint,omitempty"`
	Warns  string `yaml:"warns,omitempty"`
}

// difference is a row of differences.yaml.
type difference struct {
	answers `yaml:",inline"`
	// Count and Example describe recorded requests, which have no names of their own.
	Count   int    `yaml:"count,omitempty"`
	Example string `yaml:"example,omitempty"`
	Reason  string `yaml:"reason"`
}

// differences is the ledger of where the simulator, the referee and the provider disagree.
type differences struct {
	Requests map[string]*difference `yaml:"requests"`
	Recorded map[string]*difference `yaml:"recorded"`
}

// agree reports whether the answers are as wanted. A warning refuses nothing.
func (a answers) agree(want string) bool {
	id, strictOnly := strings.CutPrefix(want, "strict ")
	switch {
	case want == "":
		return a.Strict == "" && a.Live == "" && a.Lint == ""
	case strictOnly:
		return a.Strict == id && a.Live == "" && slices.Contains(strings.Fields(a.Lint+" "+a.Warns), id)
	}
	return a.Strict == id && a.Live == id && slices.Contains(strings.Fields(a.Lint), id)
}

// TestOneAnswer holds that the simulator refuses what conform lint refuses, by the same rule.
// The requests are rows of testdata/agreement: one breach each, and its nearest legal
// neighbours.
func TestOneAnswer(t *testing.T) {
	found := map[string]*difference{}
	total := 0
	for _, provider := range simulator.Providers() {
		for name, q := range agreementRows(t, provider) {
			total++
			if got := q.answers(t); !got.agree(q.want) {
				found[provider+": "+name] = &difference{answers: got,
					Reason: "expected " + cmp.Or(q.want, "to be taken")}
			}
		}
	}
	if total < 200 {
		t.Errorf("%d requests were compared; 200 are the least", total)
	}
	compareDifferences(t, func(d *differences) *map[string]*difference { return &d.Requests }, found)
}

// TestOneAnswerToCassettes holds the same of the committed recordings, which nobody refuses.
func TestOneAnswerToCassettes(t *testing.T) {
	err := fs.WalkDir(cassettes.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path,
			"/grease.yaml") { // what its replies made known, one request does not show
			return err
		}
		tape, err := cassette.OpenFS(cassettes.FS, path)
		if err != nil {
			return err
		}
		for one, err := range tape.All() {
			fatal(t, err)
			q, ok := recordedRequest(one.Request.URL, one.Request.Header, one.Request.Body)
			if !ok || one.Response.Status != http.StatusOK {
				continue
			}
			if got := q.answers(t); !got.agree("") {
				t.Errorf("%s: %+v", path, got)
			}
		}
		return nil
	})
	fatal(t, err)
}

// TestOneAnswerToRecordings holds the same of recorded traffic. Requests that are answered
// alike are one row.
func TestOneAnswerToRecordings(t *testing.T) {
	found, total := map[string]*difference{}, 0
	for _, file := range corpus.Files(t, "*/*/*.request.json") {
		var request struct {
			URL     string
			Headers map[string]any
			Body    *string
		}
		var response struct{ Status int }
		var meta struct {
			HostVariant string `json:"host_variant"`
			Fidelity    string
		}
		readJSON(t, file, &request)
		readJSON(t, filepath.Join(filepath.Dir(file), "meta.json"), &meta)
		readJSON(t, strings.Replace(file, ".request.", ".response.", 1), &response)
		if request.Body == nil || meta.HostVariant != "" || meta.Fidelity != "http" ||
			response.Status/100 != 2 && response.Status != http.StatusBadRequest {
			continue
		}
		header := http.Header{}
		for name, value := range request.Headers {
			text, _ := json.Marshal(value)
			header.Set(name, strings.Trim(string(text), `[]"`))
		}
		q, ok := recordedRequest(request.URL, header, []byte(*request.Body))
		if !ok {
			continue
		}
		total++
		got := q.answers(t)
		refused := got.Strict != "" || got.Live != "" || got.Lint != ""
		if taken := response.Status != http.StatusBadRequest; taken != refused && (taken || got.agree(got.Strict)) {
			continue
		}
		key := strings.Join([]string{q.provider, http.StatusText(response.Status), "strict " + cmp.Or(got.Strict, "-"),
			"live " + cmp.Or(got.Live, "-"), "lint " + cmp.Or(got.Lint, "-")}, ", ")
		if found[key] == nil {
			found[key] = &difference{answers: answers{got.Strict, got.Live, got.Lint, ""},
				Example: filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)}
		}
		found[key].Count++
	}
	t.Logf("%d requests", total)
	compareDifferences(t, func(d *differences) *map[string]*difference { return &d.Recorded }, found)
}

// compareDifferences holds what was found against the ledger, or writes the ledger again.
func compareDifferences(t *testing.T, section func(*differences) *map[string]*difference,
	found map[string]*difference) {
	t.Helper()
	var ledger differences
	data, err := os.ReadFile(differencesFile)
	fatal(t, err)
	fatal(t, yaml.Unmarshal(data, &ledger))
	known := section(&ledger)
	for name, d := range found {
		was := (*known)[name]
		if was != nil {
			expected := d.Reason
			if d.Reason = was.Reason; *was == *d && d.Reason != expected {
				continue
			}
		}
		if !*update {
			t.Errorf("%s: a new difference: %+v; mend one side, or run this test with -update and write the reason",
				name, *d)
		}
	}
	for name := range *known {
		if found[name] == nil && !*update {
			t.Errorf("%s: there is no difference any more; run this test with -update", name)
		}
	}
	if *update {
		*known = found
		rows, err := yaml.Marshal(ledger)
		fatal(t, err)
		head, _, _ := bytes.Cut(data, []byte("\nrequests:"))
		fatal(t, os.WriteFile(differencesFile, slices.Concat(head, []byte("\n"), rows), 0o600))
	}
}

// agreementRow is one request of testdata/agreement: the base of its provider with some
// members set or left out, or a body of its own.
type agreementRow struct {
	Want    string
	Set     map[string]any
	Without []string
	Body    string
	Model   string // of Gemini, whose URL names it
	Header  map[string]string
}

func agreementRows(t *testing.T, provider string) map[string]oneRequest {
	t.Helper()
	var file struct {
		Base     map[string]any
		Requests map[string]agreementRow
	}
	data, err := os.ReadFile(filepath.Join(agreementDir, provider+".yaml"))
	fatal(t, err)
	fatal(t, yaml.Unmarshal(data, &file))
	rows := map[string]oneRequest{}
	for name, row := range file.Requests {
		q := oneRequest{provider: provider, model: cmp.Or(row.Model, "gemini-3-flash-preview"),
			header: http.Header{"Anthropic-Version": {"2023-06-01"}}, body: []byte(row.Body), want: row.Want}
		for name, value := range row.Header {
			q.header.Set(name, value)
		}
		if row.Body == "" {
			members := map[string]any{}
			for _, more := range []map[string]any{file.Base, row.Set} {
				for name, value := range more {
					members[name] = value
				}
			}
			for _, name := range row.Without {
				delete(members, name)
			}
			q.body, err = json.Marshal(members)
			fatal(t, err)
		}
		rows[name] = q
	}
	return rows
}

// recordedRequest reads a request to generate; ok is false for any other.
func recordedRequest(url string, header http.Header, body []byte) (q oneRequest, ok bool) {
	url, _, _ = strings.Cut(url, "?")
	q = oneRequest{header: header.Clone(), body: body}
	switch {
	case url == "https://api.anthropic.com/v1/messages":
		q.provider = "anthropic"
	case url == "https://api.openai.com/v1/responses":
		q.provider = "openai"
	default:
		_, named, found := strings.Cut(url, "https://generativelanguage.googleapis.com/v1beta/models/")
		model, method, _ := strings.Cut(named, ":")
		if !found || method != "generateContent" && method != "streamGenerateContent" {
			return q, false
		}
		q.provider, q.model = "gemini", model
	}
	return q, true
}

// notOfOneRequest are rules of the simulator about which models it serves, and about
// what earlier requests stored: of neither does a single request tell.
var notOfOneRequest = map[string]bool{"A-3": true, "O-2": true, "G-2": true, "O-14": true, "O-25": true}

func (q oneRequest) answers(t *testing.T) answers {
	t.Helper()
	got := answers{Strict: q.simulated(t, rule.Strict), Live: q.simulated(t, rule.Live)}
	result, err := lint.Request(lint.Target{Provider: q.provider, Model: q.model, Header: q.header}, q.body)
	if err != nil {
		got.Lint = got.Strict // it has no rules for what is no request
	}
	said := map[report.Verdict][]string{}
	for _, f := range result.Findings {
		said[f.Verdict] = append(said[f.Verdict], cmp.Or(f.Rule, f.Check))
	}
	for verdict, to := range map[report.Verdict]*string{report.Fail: &got.Lint, report.Warn: &got.Warns} {
		slices.Sort(said[verdict])
		*to += strings.Join(slices.Compact(said[verdict]), " ")
	}
	return got
}

// simulated is the rule by which the simulator refuses a request, "" if it answers.
func (q oneRequest) simulated(t *testing.T, level rule.Level) string {
	t.Helper()
	url := map[string]string{"anthropic": "https://api.anthropic.com/v1/messages",
		"openai": "https://api.openai.com/v1/responses", "chat": "https://api.openai.com/v1/chat/completions",
		"gemini": "https://generativelanguage.googleapis.com/v1beta/models/" + q.model + ":generateContent"}[q.provider]
	r := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(q.body))
	r.Header = q.header.Clone()
	for name, value := range map[string]string{"X-Api-Key": "fake", "Authorization": "Bearer fake",
		"X-Goog-Api-Key":    "fake",
		"Anthropic-Version": "2023-06-01", "Content-Type": "application/json", "Content-Encoding": "",
		"Content-Length": ""} {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	env := rule.Env{Key: seal.NewKey("1"), Level: level, ForeignTokens: true, Off: notOfOneRequest}
	refusal := script.Simulations()[q.provider].Parse(r, q.body).Check(env)
	if refusal != nil {
		return refusal.Rule
	}
	off := []string{}
	for id := range notOfOneRequest {
		off = append(off, id)
	}
	w := httptest.NewRecorder()
	simulator.New(simulator.Config{Seed: "1", Level: level, ForeignTokens: true, Off: off}).ServeHTTP(w, r)
	if w.Code != http.StatusOK && !bytes.Contains(q.body, []byte("previous_response_id")) {
		return "status " + http.StatusText(w.Code)
	}
	return ""
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	fatal(t, err)
	fatal(t, json.Unmarshal(data, into))
}
