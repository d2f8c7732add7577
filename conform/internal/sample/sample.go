// Package sample holds small hand-written evidence of well-behaved agents, one
// case for each provider and more for what goes wrong on the way. The tests of
// the referee judge it, and distort it to see that they notice.
package sample

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/conform/evidence"
)

//go:embed *.txtar
var files embed.FS

// The form of a case: case.yaml, then N.request.json and N.response for each
// exchange. Bodies of Gemini are kept with LF and get CRLF.
type (
	form struct {
		Source    evidence.Source `yaml:"source"`
		Exchanges []exchange      `yaml:"exchanges"`
		Processes []process       `yaml:"processes"`
	}
	exchange struct {
		Provider string `yaml:"provider"`
		Model    string `yaml:"model"` // stands in Gemini's path
		Process  int    `yaml:"process"`
		Status   int    `yaml:"status"`
		End      string `yaml:"end"`
	}
	process struct {
		Args    []string `yaml:"args"`
		Exit    int      `yaml:"exit"`
		Stderr  string   `yaml:"stderr"`
		Resumed bool     `yaml:"resumed"`
	}
)

// All returns every case, in order of name. They are the caller's.
func All() ([]evidence.Evidence, error) {
	names, err := fs.Glob(files, "*.txtar")
	if err != nil {
		return nil, err
	}
	var all []evidence.Evidence
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		ev, err := Parse(strings.TrimSuffix(name, ".txtar"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, ev)
	}
	return all, nil
}

// Parse reads one case.
func Parse(name string, data []byte) (evidence.Evidence, error) {
	ar := txtar.Parse(data)
	part := map[string][]byte{}
	for _, f := range ar.Files {
		part[f.Name] = f.Data
	}
	var c form
	dec := yaml.NewDecoder(bytes.NewReader(part["case.yaml"]))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		return evidence.Evidence{}, fmt.Errorf("%s: case.yaml: %w", name, err)
	}
	ev := evidence.Evidence{Source: c.Source, Case: name}
	for i, e := range c.Exchanges {
		n := strconv.Itoa(i)
		if part[n+".request.json"] == nil {
			return ev, fmt.Errorf("%s: exchange %d has no %s.request.json", name, i, n)
		}
		ev.Exchanges = append(ev.Exchanges, e.evidence(i, part[n+".request.json"], part[n+".response"]))
	}
	for _, p := range c.Processes {
		ev.Process = append(ev.Process, evidence.Process{Args: p.Args, ExitCode: p.Exit, Stderr: []byte(p.Stderr), Resumed: p.Resumed})
	}
	return ev, nil
}

func (e exchange) evidence(i int, request, response []byte) evidence.Exchange {
	url := map[string]string{
		evidence.Anthropic: "https://api.anthropic.com/v1/messages",
		evidence.OpenAI:    "https://api.openai.com/v1/responses",
		evidence.Gemini:    "https://generativelanguage.googleapis.com/v1beta/models/" + e.Model + ":streamGenerateContent?alt=sse",
	}[e.Provider]
	if e.Provider == evidence.Gemini {
		response = bytes.ReplaceAll(response, []byte("\n"), []byte("\r\n"))
	}
	status, end := e.Status, e.End
	if status == 0 {
		status = http.StatusOK
	}
	if end == "" {
		end = "eof"
	}
	return evidence.Exchange{
		Index: i, Provider: e.Provider, Process: e.Process,
		Request: evidence.Request{Method: http.MethodPost, URL: url, Body: bytes.TrimSpace(request),
			Header: http.Header{"Content-Type": {"application/json"}}},
		Response: evidence.Response{Status: status, Body: response, End: end, Header: http.Header{"Content-Type": {"text/event-stream"}}},
	}
}
