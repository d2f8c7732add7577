package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/toolserver"
)

// toolTraffic is a conversation in which the model calls tools, in the form
// name:argument, and gets results back.
func toolTraffic(calls []string, results ...string) *evidence.Evidence {
	var blocks, answers []string
	for i, call := range calls {
		name, text, _ := strings.Cut(call, ":")
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{"text":%q}}`, i,
			name, text))
	}
	for i, result := range results {
		answers = append(answers,
			fmt.Sprintf(`{"type":"tool_result","tool_use_id":"toolu_%d","is_error":false,"content":%q}`, i, result))
	}
	content := strings.Join(blocks, ",")
	const url, prompt = "https://api.anthropic.com/v1/messages",
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}`
	request := func(body string) evidence.Request {
		return evidence.Request{Method: "POST", URL: url, Body: []byte(body)}
	}
	return &evidence.Evidence{Exchanges: []evidence.Exchange{
		{Provider: "anthropic", Request: request(prompt + "]}"),
			Response: evidence.Response{Status: 200,
				Body: []byte(`{"type":"message","role":"assistant","stop_reason":"tool_use","content":[` +
					content + `]}`)}},
		{Index: 1, Provider: "anthropic", Request: request(prompt + `,{"role":"assistant","content":[` + content +
			`]},{"role":"user","content":[` + strings.Join(answers, ",") + `]}]}`)},
	}}
}

// toolLog writes a log of runs in the form name:argument:end, each with its start, and
// reads it as a case does.
func toolLog(t *testing.T, runs ...string) []toolserver.Call {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.ndjson")
	text := "no line of ours\n"
	for _, run := range runs {
		parts := strings.Split(run, ":")
		call := toolserver.Call{Tool: parts[0], Arguments: json.RawMessage(fmt.Sprintf(`{ "text": %q }`, parts[1]))}
		for _, call.End = range []string{"", parts[2]} {
			if line, err := json.Marshal(call); err == nil && (call.End != "" || parts[2] != "started") {
				text += string(line) + "\n"
			}
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, started := readToolLog(path + ".none"); started {
		t.Error("there is no log")
	}
	calls, started := readToolLog(path)
	if !started {
		t.Error("there is a log")
	}
	return calls
}

func TestCompareToolRuns(t *testing.T) {
	for _, test := range []struct {
		name    string
		calls   []string
		results []string
		runs    []string
		want    string // a deviation, or a tool that ran too often, as often as it did
	}{
		{"as asked", []string{"mcp__conform__conform_echo:a", "conform_echo:b"}, []string{"a", "b"},
			[]string{"conform_echo:a:ok", "conform_echo:b:ok"}, ""},
		{"twice", []string{"conform_echo:a"}, []string{"a"}, []string{"conform_echo:a:ok", "conform_echo:a:ok"},
			"conform_echo: 2 of 1"},
		{"again after a failure", []string{"conform_fail:"}, []string{"this tool always fails"},
			[]string{"conform_fail::error", "conform_fail::error"}, ""},
		{"again after a cancelled call", []string{"conform_slow:"}, []string{"ok"},
			[]string{"conform_slow::error", "conform_slow::ok"}, ""},
		{"one twice, one never", []string{"conform_echo:a", "conform_echo:b"}, []string{"a", "b"},
			[]string{"conform_echo:a:ok", "conform_echo:a:ok"}, `conform_echo {"text":"a"}: 2 of 1`},
		{"never asked for", []string{"conform_echo:a"}, []string{"a"},
			[]string{"conform_echo:a:ok", "conform_noargs::ok"},
			"the agent ran conform_noargs, and the model never asked for it"},
		{"never run", []string{"conform_echo:a"}, []string{"a"}, nil,
			"results of conform_echo that the agent gave the model: 1; runs of the tool: 0"},
		{"refused by the user", []string{"conform_echo:a"}, []string{"The user denied this call"}, nil, ""},
		{"not readable", []string{"conform_echo:a"}, []string{"err: expected value at line 1 column 10"}, nil, ""},
		{"not complete", []string{"conform_echo:a"}, []string{`Required parameter "text" missing for the tool`}, nil, ""},
		{"called off", []string{"conform_echo:a"}, nil, nil, ""},
		{"inside another tool", []string{`batch:[{"tool":"conform_echo"}]`}, []string{"a"},
			[]string{"conform_echo:a:ok"}, ""},
		{"under another name", []string{"conformEcho:a"}, []string{"a"}, []string{"conform_echo:a:ok"}, ""},
		{"changed arguments", []string{"conform_echo:a"}, []string{"a"}, []string{"conform_echo:A:ok"}, ""},
	} {
		said, runs := compareToolRuns(toolTraffic(test.calls, test.results...), toolLog(t, test.runs...))
		for _, r := range runs {
			if r.Ended > r.Asked {
				said = append(said, fmt.Sprintf("%s: %d of %d", strings.TrimSpace(r.Tool+" "+r.Arguments),
					r.Ended, r.Asked))
			}
		}
		if got := strings.Join(said, "; "); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
