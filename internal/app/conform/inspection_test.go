package conform

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// TestPageHoldsNoPlantedKey plants a key wherever a page gets text from.
func TestPageHoldsNoPlantedKey(t *testing.T) {
	wellKnown := "sk-ant-api03-" + strings.Repeat("Zq7", 12)
	sent := strings.Repeat("h4", 14) + "-in-a-header"
	fromUser := strings.Repeat("u9", 12)
	a := &app{cli.New(program, nil, &bytes.Buffer{}, &bytes.Buffer{}, []string{"MY_AGENT_API_KEY=" + fromUser})}
	files, err := a.parseReportFlags([]string{"html=page.html"}, false)
	if err != nil {
		t.Fatal(err)
	}
	page, err := a.newInspection(reportFlags{}, files)
	if err != nil {
		t.Fatal(err)
	}
	all := wellKnown + " " + sent + " " + fromUser
	ev := evidence.Evidence{
		Case: "x", Process: []evidence.Process{{Args: []string{"agent", "--key", fromUser}, Stdout: []byte(all),
			Stderr: []byte("cannot log in with " + all)}},
		Exchanges: []evidence.Exchange{
			{Provider: evidence.Anthropic,
				Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
					Body: []byte(`{"messages":[{"role":"user","content":"` + all + `"}]}`)},
				Response: evidence.Response{Status: 200,
					Body: []byte(`{"content":[{"type":"text","text":"` + all + `"}]}`)}},
			{Index: 1, Provider: evidence.Anthropic,
				Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages?key=" + sent,
					Header: http.Header{"X-Api-Key": {sent}, "X-Other": {wellKnown}}, Body: []byte(`{}`)},
				Response: evidence.Response{Status: 401, Header: http.Header{"X-Echo": {all}},
					Body: []byte(`{"error":{"message":"` + all + `"}}`)}},
		},
	}
	finding := report.Finding{Requirement: "HYG-001", Verdict: report.Fail, Check: "HYG-001/keys", Message: all,
		Path: "messages[0]." + wellKnown, Compare: &decide.Comparison{Expected: sent[:20], Actual: "…" + sent[5:]}}
	result := report.Result{Requirement: "HYG-001", Check: "HYG-001/keys", Case: "x", Verdict: report.Fail,
		Findings: []report.Finding{finding}, Reason: all}
	page.observeCase(harness.CaseRun{Name: "x",
		Permutation: harness.Permutation{Case: harness.Case{Scenario: &specs.Scenario{}}}, Evidence: &ev,
		Deviations: []string{all}}, []report.Result{result})
	var html bytes.Buffer
	if err := files[0].write(&html, report.NewRun(report.Run{}, []report.Result{result})); err != nil {
		t.Fatal(err)
	}
	read, err := inspector.Read(html.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	text := html.String()
	for _, c := range read.Cases {
		for _, p := range c.Processes {
			text += string(read.Content(p.Stdout)) + string(read.Content(p.Stderr))
		}
		for _, x := range c.Exchanges {
			text += string(read.Content(x.Request)) + string(read.Content(x.Response))
		}
	}
	for name, key := range map[string]string{"a well-known key": wellKnown, "a key of a header": sent,
		"half of it": sent[4:20], "a key of the user": fromUser} {
		if at := strings.Index(text, key); at >= 0 {
			t.Errorf("the page holds %s: …%s…", name, text[max(0, at-60):at])
		}
	}
	if !strings.Contains(text, "cannot log in with") {
		t.Error("the page has lost what the agent printed")
	}
}
