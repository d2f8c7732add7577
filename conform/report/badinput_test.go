package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

const (
	goodAsk   = `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	goodReply = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
)

// entry is one exchange of a HAR; an absent body is null.
func entry(url, ask, reply string) string {
	text := func(s string) string {
		if s == "" {
			return ""
		}
		b, _ := json.Marshal(s)
		return `,"text":` + string(b)
	}
	return `{"startedDateTime":"2026-03-03T00:00:00Z","request":{"method":"POST","url":"` + url +
		`","headers":[{"name":"anthropic-version","value":"2023-06-01"}],"bodySize":99,"postData":{"mimeType":"application/json"` + text(ask) +
		`}},"response":{"status":200,"headers":[{"name":"content-type","value":"application/json"}],"content":{"mimeType":"application/json","size":99` + text(reply) + `}}}`
}

func har(entries ...string) string {
	return `{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[` +
		strings.Join(entries, ",") + `]}}`
}

func ruleSet(tb testing.TB) []report.Rule {
	tb.Helper()
	catalogue, err := specs.Requirements()
	if err != nil {
		tb.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// judgeText judges a file with that text.
func judgeText(tb testing.TB, rules []report.Rule, name, text string) (report.Recording, error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	found, err := evidence.Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	rec, err := found[0].Read()
	if err != nil {
		return report.Recording{}, err
	}
	return report.JudgeRecording(rules, rec), nil
}

const messages = "https://api.anthropic.com/v1/messages"

// What cannot be judged is said to be so, and is not a pass.
func TestBadRecordings(t *testing.T) {
	rules := ruleSet(t)
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	for name, c := range map[string]struct {
		text string
		want []report.Verdict
	}{
		"no bodies": {har(entry(messages, "", "")), []report.Verdict{report.NotTestable}},
		"an unknown provider": {har(entry("https://example.com/v1/other", goodAsk, goodReply)),
			[]report.Verdict{report.NotTestable}},
		"a deep request": {har(entry(messages, `{"model":"claude-sonnet-4-5","messages":`+deep+`}`, goodReply)),
			[]report.Verdict{report.Fail, report.NotTestable}},
		"a deep reply": {har(entry(messages, goodAsk, deep)), []report.Verdict{report.Fail, report.NotTestable}},
		"a good one":   {har(entry(messages, goodAsk, goodReply)), []report.Verdict{report.Pass}},
	} {
		got, err := judgeText(t, rules, "x.har", c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Findings) == 0 && got.Verdict != report.Pass && got.Reason == "" {
			t.Errorf("%s: %s without a reason", name, got.Verdict)
		}
		found := false
		for _, v := range c.want {
			found = found || got.Verdict == v
		}
		if !found {
			t.Errorf("%s: %s (%s), want one of %v", name, got.Verdict, got.Reason, c.want)
		}
	}
}

// Two providers in one recording do not disturb each other.
func TestMixedProviders(t *testing.T) {
	openAI := entry("https://api.openai.com/v1/responses", `{"model":"gpt-5.5","store":false,"input":"hi"}`,
		`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.5","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}]}`)
	got, err := judgeText(t, ruleSet(t), "x.har", har(entry(messages, goodAsk, goodReply), openAI))
	if err != nil || got.Provider != "anthropic,openai" || got.Exchanges != 2 || got.Verdict == report.HarnessError {
		t.Errorf("%v: %+v", err, got)
	}
	for _, f := range got.Findings {
		t.Errorf("%s: %s", f.Check, f.Message)
	}
}

// A file cut at any byte is an error in one line or a recording that is judged, and the
// referee itself never fails.
func TestTruncatedAnywhere(t *testing.T) {
	rules := ruleSet(t)
	for name, text := range map[string]string{"x.har": har(entry(messages, goodAsk, goodReply)), "x.yaml": vcrText} {
		for cut := range len(text) {
			got, err := judgeText(t, rules, name, text[:cut])
			switch {
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Fatalf("%s cut at %d: %q is not one line", name, cut, err)
			case err == nil && got.Verdict == report.HarnessError:
				t.Fatalf("%s cut at %d: %s", name, cut, got.Reason)
			case err == nil && name == "x.har":
				t.Fatalf("%s cut at %d is read as if it were whole", name, cut)
			}
		}
	}
}

const vcrText = "interactions:\n- request:\n    method: POST\n    uri: " + messages +
	"\n    headers: {anthropic-version: ['2023-06-01']}\n    body: '" + goodAsk +
	"'\n  response:\n    headers: {content-type: [application/json]}\n    status: {code: 200, message: OK}\n    body: {string: '" + goodReply + "'}\nversion: 1\n"

// The cost of a recording grows with its bytes: many exchanges are judged.
func TestManyExchanges(t *testing.T) {
	n := 10_000
	if corpus.Whole() {
		n = 100_000
	}
	entries := make([]string, n)
	for i := range entries {
		entries[i] = entry(messages, strings.Replace(goodAsk, "hi", fmt.Sprintf("Question %d?", i), 1),
			strings.Replace(goodReply, "msg_1", fmt.Sprintf("msg_%d", i), 1))
	}
	got, err := judgeText(t, ruleSet(t), "x.har", har(entries...))
	if err != nil || got.Exchanges != n || got.Verdict != report.Pass {
		t.Errorf("%v: %d exchanges, %s, %s", err, got.Exchanges, got.Verdict, got.Reason)
	}
}
