package anthropic

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/wires/rule"
)

// recorded is one exchange of the corpus.
type recorded struct {
	name    string
	request struct {
		Method, URL string
		Headers     map[string][]string
		Body        *string
	}
	status int
	reply  []byte
}

// readCorpus reads the recorded exchanges of Anthropic, or skips the test.
func readCorpus(t *testing.T) []recorded {
	t.Helper()
	var all []recorded
	for _, file := range corpus.Files(t, "anthropic/*/*.request.json") {
		var r recorded
		var response struct{ Status int }
		stem := strings.TrimSuffix(file, ".request.json")
		r.name = filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(stem)
		read(t, file, &r.request)
		if _, err := os.Stat(stem + ".response.json"); err != nil || r.request.Body == nil {
			continue
		}
		read(t, stem+".response.json", &response)
		r.status = response.Status
		r.reply, _ = os.ReadFile(stem + ".response.body")
		all = append(all, r)
	}
	return all
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// replay is the recorded request. Recordings lack the key, some the version and
// with it the betas: these are put in their place.
func (r recorded) replay() (*http.Request, []byte) {
	out := httptest.NewRequest(http.MethodPost, r.request.URL, nil)
	out.Header = http.Header{}
	for name, values := range r.request.Headers {
		for _, v := range values {
			out.Header.Add(name, v)
		}
	}
	if out.Header.Get("Anthropic-Version") == "" && out.Header.Get("Anthropic-Beta") == "" {
		for _, b := range Betas() {
			out.Header.Add("Anthropic-Beta", b.Name)
		}
	}
	out.Header.Set("Anthropic-Version", "2023-06-01")
	out.Header.Del("Authorization")
	out.Header.Set("X-Api-Key", "test-key")
	return out, []byte(*r.request.Body)
}

// exceptions are recorded answers that the simulator gives differently.
var exceptions = map[string]string{
	"dd-trace-js__dd-trace.test.llmobs.claude-agent-sdk.claude-agent-sdk_v1_messages_beta_true_post_3f7425c4/01": "refused for its key, which the recording withholds",
	"rig__anthropic.error_identity_edge.auth_rejection_carries_identity/01":                                      "refused for its key, which the recording withholds",
	"req_llm__anthropic.claude_3_5_haiku_20241022.object_basic/01":                                               "the model has been retired: 404 before the schema is looked at",
	"rig__anthropic.opus_4_8.messages_preserve_system_role_after_server_tool_result/02":                          "the recording replaced the id of the server tool's result, not that of its call",
}

// TestCorpus holds that what the API accepted is accepted, and what it refused
// is refused with the same status and type.
func TestCorpus(t *testing.T) {
	count := map[string]int{}
	unserved := map[string]int{}
	for _, r := range readCorpus(t) {
		request, body := r.replay()
		got := Parse(request, body).Check(rule.Env{ForeignTokens: true})
		if r.status < 400 && got != nil && got.Rule == "A-3" {
			count["2xx of a model that is not served"]++
			unserved[got.Message]++
			if form := Parse(request, body).Check(rule.Env{ForeignTokens: true, Level: rule.Live,
				Off: map[string]bool{"A-3": true}}); form != nil {
				t.Errorf("%s: apart from its model: %v", r.name, form)
			}
			continue
		}
		if live := Parse(request, body).Check(rule.Env{ForeignTokens: true, Level: rule.Live}); (live == nil) != (got == nil) || live != nil && live.Rule != got.Rule {
			t.Errorf("%s: strict says %v, live %v", r.name, got, live)
		}
		status, kind := 200, ""
		if got != nil {
			status, kind = got.Status, got.Type
		}
		want := struct {
			Error struct{ Type, Message string }
		}{}
		if r.status >= 400 {
			_ = json.Unmarshal(r.reply, &want)
		}
		same := status == r.status && kind == want.Error.Type
		_, excepted := exceptions[r.name]
		switch {
		case same && excepted:
			t.Errorf("%s: is no exception any more", r.name)
		case excepted:
			count["exceptions"]++
			t.Logf("exception: %s: %s", r.name, exceptions[r.name])
		case !same:
			t.Errorf("%s: recorded %d %s %s, got %v", r.name, r.status, want.Error.Type, want.Error.Message, got)
		case r.status >= 400:
			count["4xx refused in the same class"]++
			if got.Message != want.Error.Message {
				t.Logf("%s: recorded %q, got %q", r.name, want.Error.Message, got.Message)
			}
		default:
			count["2xx accepted"]++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[what], what)
	}
	t.Logf("not served: %v", unserved)
}
