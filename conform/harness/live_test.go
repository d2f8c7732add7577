package harness

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
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
	live   *Live
	Options
}

// TestLiveResumeThatFails: an agent that does not go on is at fault, not the model.
// (Resumed steps of this package's tests run another agent, which knows no such model.)
func TestLiveResumeThatFails(t *testing.T) {
	r := newLiveRun(t, standin.Manners{}, "live-resume && openai")
	red := strings.Join(redResults(r.run(t)), "\n")
	if !strings.Contains(red, `"fail"`) || !strings.Contains(red, "step 1 exited 1") || len(r.server.Keys()) != 2 {
		t.Errorf("%d requests: %s", len(r.server.Keys()), red)
	}
}

// newLiveRun prepares a run of the scenarios that filter selects.
func newLiveRun(t *testing.T, m standin.Manners, filter string) *liveRun {
	server := standin.Start(m)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CA)
	live := &Live{
		Keys: map[string]string{"anthropic": ownKey + "-a", "openai": ownKey + "-o", "gemini": ownKey + "-g"}, Roots: roots, Tool: "test",
		Upstream: map[string]string{"anthropic": server.URL, "openai": server.URL, "gemini": server.URL},
	}
	return &liveRun{server, live, Options{
		Config: Config{Subject: InProcess(rkat.Run, "test"), Seed: "live", Live: live}, Sources: []evidence.Source{evidence.SourceLive}, Filter: filter,
	}}
}

func (r *liveRun) run(t *testing.T) Outcome {
	t.Helper()
	found, err := Run(context.Background(), r.Options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// redResults are the results that are no pass.
func redResults(found Outcome) (list []string) {
	for _, r := range found.Results {
		if r.Verdict != report.Pass {
			text, _ := json.Marshal(r)
			list = append(list, string(text))
		}
	}
	return list
}

// All live scenarios but the one of several processes pass, both ways in, with a host that limits, is overloaded, cuts
// oddly and finds new words each time. The real keys reach the host, and nothing else
// holds them: not what the agent was told, not the evidence, not the cassettes.
func TestLive(t *testing.T) {
	r := newLiveRun(t, standin.Manners{Limited: 1, Overloaded: 1, EchoesKey: true}, "!live-resume")
	r.live.Record, r.Ingress = t.TempDir(), []string{proxy.MITM, proxy.BaseURL}
	var all strings.Builder
	r.Observe = func(run CaseRun, results []report.Result) {
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
	if len(found.Cases) != 24 || found.Calls.Accepted < 40 || found.Spent.Requests < found.Calls.Accepted || found.Spent.Usage.Total() == 0 || found.Spent.Estimated != 0 {
		t.Errorf("%d cases, %+v calls, spent %+v", len(found.Cases), *found.Calls, *found.Spent)
	}
	t.Logf("%d cases, %d results, spent %s", len(found.Cases), len(found.Results), found.Spent)
	for _, key := range r.server.Keys() {
		if !strings.HasPrefix(key, ownKey+"-") {
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
		if recording, openErr := cassette.Open(path); openErr != nil || recording.Verify() != nil || recording.Meta().Provenance != cassette.ProvenanceSynthetic {
			t.Errorf("%s: %v", path, openErr)
		}
		return err
	})
	if err != nil || files != 24 {
		t.Errorf("%d cassettes, %v", files, err)
	}
}

// searchKeys looks for the keys in text, in all spellings.
func searchKeys(t *testing.T, name, text string) {
	t.Helper()
	for _, spelling := range newMask([]string{ownKey + "-a", ownKey + "-o", ownKey + "-g", ownKey}).spellings {
		if strings.Contains(text, string(spelling)) {
			t.Errorf("%s holds a key, spelt %.12s…", name, spelling)
		}
	}
}

// The budget ends the run before the next request, and the report says what was spent.
func TestLiveBudget(t *testing.T) {
	for name, b := range map[string]Budget{"requests": {Requests: 3}, "tokens": {Tokens: 1}} {
		r := newLiveRun(t, standin.Manners{}, "anthropic")
		r.live.Budget, r.Workers = b, 1
		found := r.run(t)
		if want := max(1, b.Requests); found.Spent.Requests != want || len(r.server.Keys()) != want {
			t.Errorf("%s: %d requests counted, %d sent, want %d", name, found.Spent.Requests, len(r.server.Keys()), want)
		}
		if !strings.Contains(found.Guard, "--max-"+name) || !strings.Contains(found.Guard, "spent until then: ") || !found.Interrupted {
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
		{standin.Manners{Idle: 2}, 2, "the model did not call the echo tool in step 0, which it was asked to do; it was asked twice"},
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

// A secret is masked wherever the pieces of a reply are cut.
func TestMask(t *testing.T) {
	secret := ownKey
	for _, text := range []string{secret, "a" + secret + "b" + secret, base64.StdEncoding.EncodeToString([]byte("user:" + secret)), secret[:20] + "x" + secret} {
		for size := 1; size < 40; size++ {
			body := newMask([]string{secret}).body(pieces(text, size), func() {})
			var got strings.Builder
			buf := make([]byte, 5)
			for {
				n, err := body.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					break
				}
			}
			if got.Len() != len(text) || strings.Contains(got.String(), secret) || strings.Contains(got.String(), base64Middle(base64.RawStdEncoding, secret, 2)) {
				t.Fatalf("%q in pieces of %d: %q", text, size, got.String())
			}
		}
	}
}

// pieces is a body that is read a few bytes at a time.
func pieces(text string, size int) io.ReadCloser {
	return io.NopCloser(piecewise{strings.NewReader(text), size})
}

type piecewise struct {
	next io.Reader
	size int
}

func (p piecewise) Read(b []byte) (int, error) { return p.next.Read(b[:min(p.size, len(b))]) }
