package mutate

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/specs"
)

//go:embed samples/*.txtar
var sampleFiles embed.FS

// The form of a sample: case.yaml, then N.request.json and N.response for each
// exchange. Bodies of Gemini are kept with LF and get CRLF.
type (
	sampleCase struct {
		Source    evidence.Source     `yaml:"source"`
		Limits    specs.Limits        `yaml:"limits"`
		ToolRuns  []evidence.ToolRuns `yaml:"tool_runs"`
		Exchanges []sampleExchange    `yaml:"exchanges"`
		Processes []sampleProcess     `yaml:"processes"`
	}
	sampleExchange struct {
		Provider   string              `yaml:"provider"`
		Model      string              `yaml:"model"` // stands in Gemini's path
		Process    int                 `yaml:"process"`
		Status     int                 `yaml:"status"`
		End        string              `yaml:"end"`
		Provenance evidence.Provenance `yaml:"provenance"`
		WebSocket  int                 `yaml:"websocket"`
		Beta       string              `yaml:"beta"` // of anthropic-beta
		URL        string              `yaml:"url"`  // where it is not the provider's own for answers
		// Answer holds headers of the reply.
		Answer map[string]string `yaml:"answer"`
	}
	sampleProcess struct {
		Args    []string `yaml:"args"`
		Exit    int      `yaml:"exit"`
		Stderr  string   `yaml:"stderr"`
		Resumed bool     `yaml:"resumed"`
	}
)

// Samples returns small hand-written evidence of well-behaved agents: one case
// for each provider, and more for what goes wrong on the way. Together they show
// every requirement, so that [Selftest] can judge and distort them. They depend
// on no agent, are in order of name and belong to the caller.
func Samples() ([]evidence.Evidence, error) {
	names, err := fs.Glob(sampleFiles, "samples/*.txtar")
	if err != nil {
		return nil, err
	}
	var all []evidence.Evidence
	for _, name := range names {
		data, err := sampleFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		ev, err := parseSample(strings.TrimSuffix(path.Base(name), ".txtar"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, ev)
	}
	return all, nil
}

func parseSample(name string, data []byte) (evidence.Evidence, error) {
	files := map[string][]byte{}
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = f.Data
	}
	var c sampleCase
	if err := datafile.Read(name+"/case.yaml", files["case.yaml"], &c, datafile.Options{}).Err(); err != nil {
		return evidence.Evidence{}, err
	}
	ev := evidence.Evidence{Source: c.Source, Case: name, Limits: c.Limits, ToolRuns: c.ToolRuns}
	for i, e := range c.Exchanges {
		n := strconv.Itoa(i)
		if files[n+".request.json"] == nil {
			return ev, fmt.Errorf("%s: exchange %d has no %s.request.json", name, i, n)
		}
		ev.Exchanges = append(ev.Exchanges, e.toEvidence(i, files[n+".request.json"], files[n+".response"]))
	}
	for _, p := range c.Processes {
		ev.Process = append(ev.Process,
			evidence.Process{Args: p.Args, ExitCode: p.Exit, Stderr: []byte(p.Stderr), Resumed: p.Resumed})
	}
	return ev, nil
}

func (e sampleExchange) toEvidence(i int, request, response []byte) evidence.Exchange {
	url := map[string]string{
		evidence.Anthropic: "https://api.anthropic.com/v1/messages",
		evidence.OpenAI:    "https://api.openai.com/v1/responses",
		evidence.Gemini: "https://generativelanguage.googleapis.com/v1beta/models/" + e.Model +
			":streamGenerateContent?alt=sse",
	}[e.Provider]
	if e.Provider == evidence.Gemini {
		response = bytes.ReplaceAll(response, []byte("\n"), []byte("\r\n"))
	}
	contentType := "text/event-stream"
	if bytes.HasPrefix(response, []byte("{")) {
		contentType = "application/json"
	}
	answer := http.Header{"Content-Type": {contentType}}
	for name, value := range e.Answer {
		answer.Set(name, value)
	}
	return evidence.Exchange{
		Index: i, Provider: e.Provider, Process: e.Process, WebSocket: e.WebSocket, Provenance: e.Provenance,
		Request: evidence.Request{Method: http.MethodPost, URL: cmp.Or(e.URL, url), Body: bytes.TrimSpace(request),
			Header: e.requestHeaders()},
		Response: evidence.Response{Status: cmp.Or(e.Status, http.StatusOK), Body: response, End: cmp.Or(e.End, "eof"),
			Header: answer},
	}
}

// requestHeaders are those of a recording that kept all but the key.
func (e sampleExchange) requestHeaders() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, "User-Agent": {"sample/1"},
		formOf(e.Provider).credential: {"REDACTEDq1w2e3r4t5"}}
	if e.Provider == evidence.Anthropic {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if e.Beta != "" {
		h.Set("Anthropic-Beta", e.Beta)
	}
	return h
}

// checkExamples judges the two examples of a requirement by its own checks: they
// must find something in the failing one, and nothing in the passing one, of which
// they must have seen something.
func (t *Table) checkExamples(rules []report.Rule) {
	requirement := rules[0].Requirement
	if requirement.Examples.IsZero() {
		t.addFault("%s: has no examples; write a failing and a passing one", requirement.ID)
		return
	}
	failing := evidence.FromExample(requirement, requirement.Examples.Failing)
	if v, _ := combineResults(report.Judge(rules, &failing)); v != report.Fail && v != report.Warn {
		t.addFault("%s: the failing example is judged %s; no check notices it", requirement.ID, v)
	}
	passing := evidence.FromExample(requirement, requirement.Examples.Passing)
	if v, message := combineResults(report.Judge(rules, &passing)); v != report.Pass {
		t.addFault("%s: the passing example is judged %s: %s", requirement.ID, v, message)
	}
}
