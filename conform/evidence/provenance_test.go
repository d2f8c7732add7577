package evidence

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
)

// newInteraction is a call of Anthropic's API with a reply that has the headers.
func newInteraction(url string, header http.Header) cassette.Interaction {
	return cassette.Interaction{
		Request: cassette.Request{Method: "POST", URL: url, Header: http.Header{"Anthropic-Version": {"2023-06-01"}},
			Body: []byte(sentBody)},
		Response: cassette.Response{Status: 200, Header: header, Body: []byte(gotBody)},
	}
}

func TestProvenance(t *testing.T) {
	const own = "https://api.anthropic.com/v1/messages"
	marked := func(in cassette.Interaction, provenance, ingress string) cassette.Interaction {
		in.Provenance, in.Ingress = provenance, ingress
		return in
	}
	plain := newInteraction(own, http.Header{})
	for name, c := range map[string]struct {
		head     string
		in       cassette.Interaction
		want     Provenance
		answered bool // by the provider
	}{
		"live":                {"live", plain, ProvenanceLive, true},
		"import":              {"import", plain, ProvenanceForeign, true},
		"another tool's file": {interchange.ProvenanceUndeclared, plain, ProvenanceUndeclared, false},
		"another tool, by base URL": {interchange.ProvenanceUndeclared, marked(plain, "", "base-url"),
			ProvenanceUnknown, false},
		"simulator":                 {"simulator", plain, ProvenanceSimulator, false},
		"synthetic":                 {"synthetic", plain, ProvenanceSynthetic, false},
		"a head that was lost":      {interchange.ProvenanceLost, plain, ProvenanceUnknown, false},
		"a head that says nothing":  {"", plain, ProvenanceUnknown, false},
		"a word of a later version": {"partner", plain, ProvenanceUnknown, false},
		"simulator by MITM": {"live", newInteraction(own, http.Header{"X-Simulator": {"meerkat"}}),
			ProvenanceSimulator, false},
		"mark in lower case": {"import", newInteraction(own, http.Header{"x-simulator": {"meerkat"}}),
			ProvenanceSimulator, false},
		"mark without a value": {"import", newInteraction(own, http.Header{"X-Simulator": {""}}),
			ProvenanceSimulator, false},
		"refusal of a scenario": {"live", newInteraction(own, http.Header{"X-Simulator": {"meerkat; injected"}}),
			ProvenanceInjected, false},
		"the recorder's own reply": {"import",
			newInteraction(own, http.Header{"X-Recorder-Error": {"no reply from upstream"}}),
			ProvenanceInjected, false},
		"the replayer's own reply": {"import", newInteraction(own, http.Header{"X-Cassette-Miss": {"unknown"}}),
			ProvenanceInjected, false},
		"an upstream on this machine": {"live", marked(plain, "synthetic", ""), ProvenanceSynthetic, false},
		"a claim to be live":          {"synthetic", marked(plain, "live", ""), ProvenanceUnknown, false},
		"a claim to be an import":     {"simulator", marked(plain, "import", ""), ProvenanceUnknown, false},
		"by base URL":                 {"live", marked(plain, "", "base-url"), ProvenanceUnknown, false},
		"by another ingress":          {"import", marked(plain, "", "side-entrance"), ProvenanceUnknown, false},
		"simulator by base URL":       {"simulator", marked(plain, "", "base-url"), ProvenanceSimulator, false},
		"this machine": {"import", newInteraction("http://127.0.0.1:8080/v1/messages", nil),
			ProvenanceUnknown, false},
		"this machine by name": {"import", newInteraction("http://localhost:8080/v1/messages", nil),
			ProvenanceUnknown, false},
		"a gateway": {"import", newInteraction("https://openrouter.ai/api/v1/messages", nil),
			ProvenanceForeign, false},
	} {
		ev := Evidence{}
		skipped := ev.addInteractions(interchange.Recording{Provenance: c.head,
			Interactions: []cassette.Interaction{c.in}})
		if len(skipped) > 0 {
			t.Fatalf("%s: skipped: %+v", name, skipped)
		}
		x := ev.Exchanges[0]
		if x.Provenance != c.want || x.ProviderAnswered() != c.answered {
			t.Errorf("%s: %s, the provider's word: %t", name, x.Provenance, x.ProviderAnswered())
		}
	}
}

// What no provider answered is not the provider's word, in whatever format it is kept
// and though it was asked of api.anthropic.com by MITM.
func TestSimulatorCassettesAreNoProvidersWord(t *testing.T) {
	found := FindFS(cassettes.FS, "cassettes")
	if len(found) < 10 {
		t.Fatalf("%d cassettes", len(found))
	}
	for _, f := range found {
		data, err := cassettes.FS.ReadFile(f.name)
		if err != nil {
			t.Fatal(err)
		}
		for format, text := range exportsOf(t, f.name, data) {
			rec, err := readText("x."+format, text)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range rec.Evidence.Exchanges {
				if !x.IsOwnHost() {
					t.Errorf("%s: %s is not the provider's host", f.Path, x.Request.URL)
				}
				if x.ProviderAnswered() || x.Provenance == ProvenanceLive || x.Provenance == ProvenanceForeign {
					t.Errorf("%s as %s: exchange %d is %s", f.Path, format, x.Index, x.Provenance)
				}
				if x.Date.IsZero() {
					t.Errorf("%s as %s: exchange %d has no date", f.Path, format, x.Index)
				}
			}
		}
	}
}

// exportsOf returns a cassette in the formats that it can be turned into.
func exportsOf(t *testing.T, name string, data []byte) map[string]string {
	t.Helper()
	c, err := cassette.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	var har, vcr bytes.Buffer
	if err := interchange.WriteHAR(&har, "recorder", "test", c.Meta(), c.Loss(), c.All()); err != nil {
		t.Fatal(err)
	}
	if err := cassette.WriteGoVCR(&vcr, c.Meta(), c.All()); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "version: 1\n")
	saved := "---\nversion: 1\n" + strings.ReplaceAll(body, "# closed", "# was closed") // as go-vcr saves it
	return map[string]string{"yaml": string(data), "har": har.String(), "exported.yaml": vcr.String(),
		"saved.yaml": saved}
}

func TestOwnHost(t *testing.T) {
	for url, provider := range map[string]string{
		"https://api.anthropic.com/v1/messages":                                                             Anthropic,
		"https://API.anthropic.com:443/v1/messages":                                                         Anthropic,
		"https://us-east5-aiplatform.googleapis.com/v1/projects/p/publishers/anthropic/models/m:rawPredict": Anthropic,
		"https://api.openai.com/v1/responses":                                                               OpenAI,
		"https://eu.api.openai.com/v1/responses":                                                            OpenAI,
		"https://chatgpt.com/backend-api/codex/responses":                                                   OpenAI,
		"https://mine.openai.azure.com/openai/v1/responses":                                                 OpenAI,
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent":                         Gemini,
		"https://aiplatform.eu.rep.googleapis.com/v1/models/m:generateContent":                              Gemini,
	} {
		if x := (&Exchange{Provider: provider, Request: Request{URL: url}}); !x.IsOwnHost() {
			t.Errorf("%s: not %s's own", url, provider)
		}
	}
	for url, provider := range map[string]string{
		"http://api.anthropic.com/v1/messages":                    Anthropic,
		"https://api.anthropic.com:8443/v1/messages":              Anthropic,
		"https://api.anthropic.com.evil.example/v1/messages":      Anthropic,
		"https://notanthropic.com/v1/messages":                    Anthropic,
		"https://api.openai.com/v1/messages":                      Anthropic,
		"https://openrouter.ai/api/v1/responses":                  OpenAI,
		"https://api.anthropic.com/v1/responses":                  OpenAI,
		"http://127.0.0.1:1234/v1/responses":                      OpenAI,
		"https://example.com/v1beta/models/m:generateContent":     Gemini,
		"https://storage.googleapis.com/models/m:generateContent": Gemini,
		"::": Anthropic,
		"https://api.deepseek.com/anthropic/v1/messages": "",
	} {
		if x := (&Exchange{Provider: provider, Request: Request{URL: url}}); x.IsOwnHost() {
			t.Errorf("%s: %s's own", url, provider)
		}
	}
}

func TestDate(t *testing.T) {
	reply := newInteraction(endpoint, http.Header{"Date": {"Sat, 21 Nov 2026 09:00:00 GMT"}})
	started := newInteraction(endpoint, http.Header{"date": {"yesterday"}})
	started.Started = time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	created := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	ev := Evidence{}
	ev.addInteractions(interchange.Recording{Created: created,
		Interactions: []cassette.Interaction{reply, started, newInteraction(endpoint, nil)}})
	for i, want := range []string{"2026-11-21", "2026-02-03", "2026-01-02"} {
		if got := ev.Exchanges[i].Date.Format(time.DateOnly); got != want {
			t.Errorf("exchange %d: %s, want %s", i, got, want)
		}
	}
}

// Nominal times say nothing about when a recording was made.
func TestCreatedOfMeasuredTimesOnly(t *testing.T) {
	for want, declared := range map[string][]string{"2026-03-04": nil, "0001-01-01": {cassette.DeclaredNominal}} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		w, err := cassette.Create(path, cassette.Meta{Provenance: "live", Created: "2026-03-04T00:00:00Z",
			Declared: declared}, cassette.CreateOptions{})
		if err == nil {
			err = w.Append(newInteraction(endpoint, http.Header{}))
		}
		if err == nil {
			err = w.Close()
		}
		data, rerr := os.ReadFile(path)
		if err != nil || rerr != nil {
			t.Fatal(err, rerr)
		}
		rec, err := readText("x.yaml", string(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Evidence.Exchanges[0].Date.Format(time.DateOnly); got != want {
			t.Errorf("declared %v: %s, want %s", declared, got, want)
		}
	}
}

// numbered returns a recording whose interactions were sent by the processes.
func numbered(processes ...int) interchange.Recording {
	const said = `{"role":"assistant","content":[{"type":"text","text":"I counted four herons there."}]}`
	const prompt = `{"role":"user","content":"count"}`
	rec := interchange.Recording{}
	for i, n := range processes {
		in := newInteraction(endpoint, http.Header{"Content-Type": {"application/json"}})
		in.Process = n
		in.Request.Body = []byte(`{"model":"m","messages":[` + prompt + strings.Repeat(","+said+","+prompt, i) + `]}`)
		in.Response.Body = []byte(`{"id":"msg_1","type":"message",` + said[1:])
		rec.Interactions = append(rec.Interactions, in)
	}
	return rec
}

func TestProcessesOfARecording(t *testing.T) {
	for name, c := range map[string]struct {
		recorded, want []int
		resumed        []bool
	}{
		"one":                            {[]int{1, 1}, []int{0, 0}, []bool{false}},
		"a later one":                    {[]int{1, 1, 2}, []int{0, 0, 1}, []bool{false, true}},
		"with gaps":                      {[]int{3, 7, 7}, []int{0, 1, 1}, []bool{false, true}},
		"out of order":                   {[]int{2, 1}, []int{1, 0}, []bool{false, false}},
		"unknown":                        {[]int{0, 0}, []int{-1, -1}, nil},
		"appended to an older recording": {[]int{0, 0, 1}, []int{-1, -1, 0}, []bool{true}},
	} {
		rec := newRecording("x", numbered(c.recorded...))
		for i, want := range c.want {
			if got := rec.Evidence.Exchanges[i].Process; got != want {
				t.Errorf("%s: exchange %d is of process %d, want %d", name, i, got, want)
			}
		}
		if len(rec.Evidence.Process) != len(c.resumed) {
			t.Fatalf("%s: %d processes", name, len(rec.Evidence.Process))
		}
		for n, want := range c.resumed {
			if rec.Evidence.Process[n].Resumed != want {
				t.Errorf("%s: process %d resumed: %t", name, n, !want)
			}
		}
	}
}

// A new conversation in a new process resumes nothing, though it begins with the
// same prompt.
func TestNewConversationIsNoResumption(t *testing.T) {
	in := numbered(1, 2)
	in.Interactions[1].Request.Body = in.Interactions[0].Request.Body
	rec := newRecording("x", in)
	if len(rec.Evidence.Process) != 2 || rec.Evidence.Process[1].Resumed {
		t.Errorf("%+v", rec.Evidence.Process)
	}
}

// TestDeclareForeign: a declaration adds what a file does not say, and changes nothing
// that it says or shows.
func TestDeclareForeign(t *testing.T) {
	const own = "https://api.anthropic.com/v1/messages"
	for head, want := range map[string]Provenance{
		interchange.ProvenanceUndeclared: ProvenanceForeign, interchange.ProvenanceLost: ProvenanceUnknown,
		"live": ProvenanceLive, "simulator": ProvenanceSimulator, "synthetic": ProvenanceSynthetic,
		"": ProvenanceUnknown,
	} {
		rec := newRecording("r", interchange.Recording{Provenance: head,
			Interactions: []cassette.Interaction{newInteraction(own, nil)}})
		rec.DeclareForeign()
		if got := rec.Evidence.Exchanges[0].Provenance; got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
	marked := newRecording("r", interchange.Recording{Provenance: interchange.ProvenanceUndeclared,
		Interactions: []cassette.Interaction{newInteraction(own, http.Header{"X-Simulator": {"meerkat"}})}})
	marked.DeclareForeign()
	if got := marked.Evidence.Exchanges[0].Provenance; got != ProvenanceSimulator {
		t.Errorf("a reply of the simulator: %q", got)
	}
}
