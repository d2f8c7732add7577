package conform

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/standin"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
)

// liveRun is a run of rkat against a stand-in.
type liveRun struct {
	server *standin.Server
	live   *harness.Live
	harness.Options
}

// newLiveRun prepares a run of the scenarios that filter selects.
func newLiveRun(t *testing.T, m standin.Manners, filter string) *liveRun {
	t.Helper()
	server := standin.Start(m)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CA)
	live := &harness.Live{
		Keys: map[string]string{"anthropic": standInKey + "-a", "openai": standInKey + "-o",
			"gemini": standInKey + "-g"}, Roots: roots, Tool: "test",
		Upstream: map[string]string{"anthropic": server.URL, "openai": server.URL, "gemini": server.URL},
	}
	return &liveRun{server, live, harness.Options{
		Config:  harness.Config{Subject: harness.InProcess(rkat.Run, "test", nil), Seed: "live", Live: live},
		Sources: []evidence.Source{evidence.SourceLive}, Filter: filter,
	}}
}

func (r *liveRun) run(t *testing.T) harness.Outcome {
	t.Helper()
	found, err := harness.Run(context.Background(), r.Options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// redResults are the results that are not passes.
func redResults(found harness.Outcome) (list []string) {
	for _, r := range found.Results {
		if r.Verdict != report.Pass {
			text, _ := json.Marshal(r)
			list = append(list, string(text))
		}
	}
	return list
}

// All live scenarios pass, both ways in, with a host that limits, is overloaded, cuts
// oddly and finds new words each time. The real keys reach the host, and nothing else
// holds them: not what the agent was told, not the evidence, not the cassettes.
func TestLive(t *testing.T) {
	r := newLiveRun(t, standin.Manners{Limited: 1, Overloaded: 1, EchoesKey: true}, "")
	r.live.Record, r.Ingress = t.TempDir(), []string{proxy.MITM, proxy.BaseURL}
	var all strings.Builder
	r.Observe = func(run harness.CaseRun, results []report.Result) {
		text, err := json.Marshal([]any{run, results})
		if err != nil {
			t.Error(err)
		}
		all.Write(text)
		for _, x := range run.Evidence.Exchanges {
			all.Write(x.Request.Body)
			all.Write(x.Response.Body)
			if x.Provenance == evidence.ProvenanceLive {
				t.Errorf("%s: what a stand-in answered is called live", run.Name)
			}
		}
		for _, p := range run.Evidence.Process {
			all.Write(p.Stdout)
			all.Write(p.Stderr)
		}
	}
	found := r.run(t)
	if red := redResults(found); len(red) > 0 || found.Guard != "" || found.Interrupted {
		t.Errorf("guard %q, interrupted %t, red:\n%s", found.Guard, found.Interrupted, strings.Join(red, "\n"))
	}
	if len(found.Cases) != 30 || found.Calls.Accepted < 60 || found.Spent.Requests < found.Calls.Accepted ||
		found.Spent.Usage.Total() == 0 || found.Spent.Estimated != 0 {
		t.Errorf("%d cases, %+v calls, spent %+v", len(found.Cases), *found.Calls, *found.Spent)
	}
	t.Logf("%d cases, %d results, spent %s", len(found.Cases), len(found.Results), found.Spent)
	for _, key := range r.server.Keys() {
		if !strings.HasPrefix(key, standInKey+"-") {
			t.Fatalf("the host got the key %q", key)
		}
	}
	searchKeys(t, "what the run brought home", all.String())
	files := 0
	err := filepath.WalkDir(r.live.Record, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		searchKeys(t, path, string(data))
		if recording, openErr := cassette.Open(path); openErr != nil || recording.Verify() != nil ||
			recording.Meta().Provenance != cassette.ProvenanceSynthetic {
			t.Errorf("%s: %v", path, openErr)
		}
		return err
	})
	if err != nil || files != 30 {
		t.Errorf("%d cassettes, %v", files, err)
	}
}

// searchKeys looks for the keys in text, in all spellings.
func searchKeys(t *testing.T, name, text string) {
	t.Helper()
	for _, spelling := range keySpellings() {
		if strings.Contains(text, spelling) {
			t.Errorf("%s holds a key, spelt %.12s…", name, spelling)
		}
	}
}

// The budget ends the run before the next request, and the report says what was spent.
func TestLiveBudget(t *testing.T) {
	for name, b := range map[string]harness.Budget{"requests": {Requests: 3}, "tokens": {Tokens: 1}} {
		r := newLiveRun(t, standin.Manners{}, "anthropic")
		r.live.Budget, r.Workers = b, 1
		found := r.run(t)
		if want := max(1, b.Requests); found.Spent.Requests != want || len(r.server.Keys()) != want {
			t.Errorf("%s: %d requests counted, %d sent, want %d", name, found.Spent.Requests,
				len(r.server.Keys()), want)
		}
		if !strings.Contains(found.Guard, "--max-"+name) || !strings.Contains(found.Guard, "spent until then: ") ||
			!found.Interrupted {
			t.Errorf("%s: %q", name, found.Guard)
		}
		if red := redResults(found); len(red) > 0 {
			t.Errorf("%s: what the guard cut off is judged: %s", name, red)
		}
	}
}

// A model that is not allowed is not asked for, unless the user chose it.
func TestLiveModel(t *testing.T) {
	old := newLiveRun(t, standin.Manners{}, "live-answer && openai")
	policy, err := specs.NewModelPolicy([]string{"gpt-9"})
	if err != nil {
		t.Fatal(err)
	}
	old.live.Allowed = policy
	found := old.run(t)
	if !strings.Contains(found.Guard, `model "gpt-5.4-mini", which is not allowed`) || len(old.server.Keys()) != 0 {
		t.Errorf("%q, %d requests", found.Guard, len(old.server.Keys()))
	}
	old.live.Models = map[string]string{"openai": "gpt-5.4-mini"}
	if found = old.run(t); found.Guard != "" || len(old.server.Keys()) != 1 {
		t.Errorf("%q, %d requests", found.Guard, len(old.server.Keys()))
	}
}

// A model that calls no tool is asked once more; then the case is not testable, and
// says why. A host that does not answer is not asked again.
func TestLiveShortfall(t *testing.T) {
	for _, tt := range []struct {
		manners  standin.Manners
		requests int
		want     string
	}{
		{standin.Manners{Idle: 1}, 3, ""},
		{standin.Manners{Idle: 2}, 2,
			"the model did not call the echo tool in step 0, which it was asked to do; it was asked twice"},
	} {
		r := newLiveRun(t, tt.manners, "live-tool-loop && gemini")
		found := r.run(t)
		if n := len(r.server.Keys()); n != tt.requests {
			t.Errorf("%+v: %d requests, want %d", tt.manners, n, tt.requests)
		}
		red := redResults(found)
		if (len(red) == 0) != (tt.want == "") {
			t.Errorf("%+v: %s", tt.manners, red)
		}
		for _, text := range red {
			if !strings.Contains(text, tt.want) || !strings.Contains(text, `"not-testable"`) {
				t.Errorf("%+v: %s", tt.manners, text)
			}
		}
	}
}
