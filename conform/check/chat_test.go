package check_test

import (
	_ "embed"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
)

// chatFindings are all findings on the recorded traffic of Chat Completions, each read by hand. A line "# REASON"
// says what the recordings below it show, a line "CHECK DIALECT/CASE" names one.
//
//go:embed testdata/chat-corpus.txt
var chatFindings string

// TestChatCorpus holds every recording of Chat Completions to the whole catalogue, and its replies to the duties of
// servers. What is found is listed, and what is listed is found.
func TestChatCorpus(t *testing.T) {
	root := filepath.Join(corpus.ChatDir(t), "data")
	recordings, err := evidence.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	want, reason := map[string]string{}, ""
	for line := range strings.Lines(chatFindings) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "# ") {
			reason = line[2:]
		} else if line != "" {
			want[line] = reason
		}
	}
	seen := func(key, message string) {
		if want[key] == "" {
			t.Errorf("%s: %s", key, message)
		}
		want[key] = "found"
	}
	rules, duties := catalogue(t), report.ServerRules()
	for _, rec := range recordings {
		name, _ := filepath.Rel(root, rec.Path)
		name = filepath.ToSlash(name)
		for _, res := range report.Judge(rules, &rec.Evidence) {
			if len(res.Findings) > 0 {
				seen(res.Check+" "+name, res.Findings[0].Message)
			}
		}
		for _, f := range report.JudgeRecording(duties, rec).Findings {
			seen(f.Requirement+" "+name, f.Message)
		}
	}
	for key, reason := range want {
		if reason != "found" {
			t.Errorf("%s: listed (%s) and not found", key, reason)
		}
	}
	if len(recordings) < 1200 {
		t.Errorf("only %d recordings", len(recordings))
	}
}

// chatAsked is an exchange of Chat Completions at a host.
func chatAsked(i int, host, body, reply string) evidence.Exchange {
	x := asked(i, "chat", body, 200, reply)
	x.Request.URL = "https://" + host + "/v1/chat/completions"
	return x
}

// TestChatTokens: details of OpenRouter and signatures of Gemini come back byte for byte.
func TestChatTokens(t *testing.T) {
	const signature = "EqQBCkYICxgCKkBhc2RmYXNkZmFzZGZhc2RmYXNkZmFzZGY="
	for _, c := range []struct{ host, model, call, message, rule string }{
		{"openrouter.ai", "anthropic/claude-sonnet-5", "",
			`"reasoning_details":[{"type":"reasoning.text","text":"Two.","signature":"SIG","format":"anthropic-claude-v1","index":0}],`, "C-58"},
		{"openrouter.ai", "google/gemini-3-pro", "",
			`"reasoning_details":[{"type":"reasoning.encrypted","data":"SIG","id":"c1","format":"google-gemini-v1","index":0}],`, "C-58"},
		{"generativelanguage.googleapis.com", "gemini-3-flash-preview",
			`,"extra_content":{"google":{"thought_signature":"SIG"}}`, "", "C-60"},
	} {
		message := func(token string) string {
			return strings.ReplaceAll(`{"role":"assistant",`+c.message+
				`"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}`+
				c.call+`}]}`, "SIG", token)
		}
		ask := `{"model":"` + c.model + `","messages":[{"role":"user","content":"hi"}]}`
		reply := `{"id":"1","object":"chat.completion","model":"` + c.model +
			`","choices":[{"index":0,"finish_reason":"tool_calls","message":` + message(signature) + `}]}`
		for token, found := range map[string]bool{signature: false, signature[:40]: true} {
			next := `{"model":"` + c.model + `","messages":[{"role":"user","content":"hi"},` + message(token) +
				`,{"role":"tool","tool_call_id":"c1","content":"1"}]}`
			res := find(t, "SIG-015/signature-bytes").Run(recording(chatAsked(0, c.host, ask, reply),
				chatAsked(1, c.host, next, reply)))
			if res.Observed != 1 || (len(res.Findings) > 0) != found || found && res.Findings[0].Rule != c.rule {
				t.Errorf("%s %s: %+v", c.model, token, res)
			}
		}
	}
}

// TestNoArguments: servers write "" or null for a tool without parameters, and clients {}; a custom tool takes any text.
func TestNoArguments(t *testing.T) {
	ask := `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct{ call, sent string }{
		{`"type":"function","function":{"name":"ls","arguments":""}`,
			`"type":"function","function":{"name":"ls","arguments":"{}"}`},
		{`"type":"function","function":{"name":"ls","arguments":"null"}`,
			`"type":"function","function":{"name":"ls","arguments":"null"}`},
		{`"type":"custom","custom":{"name":"ls","input":"a b"}`,
			`"type":"custom","custom":{"name":"ls","input":"a b"}`},
	} {
		reply := `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1",` + c.call + `}]}}]}`
		next := `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1",` + c.sent + `}]},{"role":"tool","tool_call_id":"c1","content":"12 files"}]}`
		tr := recording(chatAsked(0, "local.example", ask, reply), chatAsked(1, "local.example", next, reply))
		if res := find(t, "STR-009/not-executed").Run(tr); res.Observed+len(res.Findings) > 0 {
			t.Errorf("%s: %+v", c.call, res)
		}
		if res := find(t, "ORD-011/arguments").Run(tr); res.Observed != 1 || len(res.Findings) > 0 {
			t.Errorf("%s: %+v", c.call, res)
		}
	}
}

// TestChatDetails: reasoning_details come back with their token and with the text that a signature covers, or not at all.
func TestChatDetails(t *testing.T) {
	const (
		call    = `"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
		signed  = `{"type":"reasoning.text","text":"Two files.","signature":"EqQBCkYICxgCKkBoZXJvbg==","index":0}`
		plain   = `{"type":"reasoning.summary","summary":"Two files.","id":"rs_1","index":0}`
		hidden  = `{"type":"reasoning.encrypted","data":"gAAAAABpsx4H2XPLIGMj","id":"rs_1","index":0}`
		unnamed = `{"type":"reasoning.summary","summary":"Two files.","index":0}`
	)
	for _, c := range []struct {
		name, was, is string
		observed      int
		isFound       bool
	}{
		{"unchanged", signed, signed, 1, false},
		{"left out", signed, "", 0, false},
		{"the text is changed", signed, strings.Replace(signed, "Two", "Three", 1), 1, true},
		{"the signature is lost", signed,
			strings.Replace(signed, `"signature":"EqQBCkYICxgCKkBoZXJvbg==",`, "", 1), 1, true},
		{"the text of no signature is changed", plain + "," + hidden,
			strings.Replace(plain, "Two", "Three", 1) + "," + hidden, 1, false},
		{"of two with one id the second is changed", plain + "," + hidden,
			unnamed + "," + strings.Replace(hidden, "XPL", "XPM", 1), 1, true},
		{"the encrypted content is lost", hidden,
			strings.Replace(hidden, `"data":"gAAAAABpsx4H2XPLIGMj",`, "", 1), 1, true},
	} {
		ask := `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
		message := func(details string) string {
			return `{"role":"assistant","reasoning_details":[` + details + `],` + call
		}
		reply := `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":` +
			message(c.was) + `}]}`
		next := `{"model":"m","messages":[{"role":"user","content":"hi"},` + message(c.is) +
			`,{"role":"tool","tool_call_id":"c1","content":"1"}]}`
		res := find(t, "SIG-015/signature-bytes").Run(recording(chatAsked(0, "openrouter.ai", ask, reply),
			chatAsked(1, "openrouter.ai", next, reply)))
		if res.Observed != c.observed || (len(res.Findings) > 0) != c.isFound {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
}

// TestChatUnknownTool: Chat Completions wraps the name of a function, and its list of tools is whole all the same.
func TestChatUnknownTool(t *testing.T) {
	const ask = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"ls"}}]}`
	for said, isFound := range map[string]bool{"12 files": true, "There is no such tool.": false} {
		message := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{}"}}]}`
		reply := `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":` + message + `}]}`
		next := strings.Replace(ask, `"hi"}`, `"hi"},`+message+`,{"role":"tool","tool_call_id":"c1","content":"`+
			said+`"}`, 1)
		res := find(t, "TOOL-001/unknown-tool").Run(recording(chatAsked(0, "local.example", ask, reply),
			chatAsked(1, "local.example", next, reply)))
		if res.Observed != 1 || (len(res.Findings) > 0) != isFound {
			t.Errorf("%s: %+v", said, res)
		}
	}
}

// TestChatReasoning: where a server wants reasoning back with calls and goes on without it, its loss is a warning.
func TestChatReasoning(t *testing.T) {
	const (
		plain  = `"reasoning_content":"Two files.",`
		sealed = `"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAAAABpsx4H2XPLIGMj","index":0}],`
		text   = `"reasoning_details":[{"type":"reasoning.text","text":"Two files.","index":0}],`
	)
	for _, c := range []struct{ name, host, model, was, is, rule string }{
		{"GLM, left out", "api.z.ai", "glm-5", plain, "", "C-56"},
		{"GLM, cut", "api.z.ai", "glm-5", plain, `"reasoning_content":"Two",`, "C-56"},
		{"GLM, unchanged", "api.z.ai", "glm-5", plain, plain, ""},
		{"MiniMax, left out", "api.minimax.io", "MiniMax-M2", text, "", "C-57"},
		{"MiniMax, unchanged", "api.minimax.io", "MiniMax-M2", text, text, ""},
		{"Kimi that keeps all, a placeholder", "api.moonshot.ai", "kimi-k2.7-code", plain,
			`"reasoning_content":".",`, "C-54"},
		{"another model of Kimi, a placeholder", "api.moonshot.ai", "kimi-k2.6", plain, `"reasoning_content":".",`, ""},
		{"OpenRouter, encrypted", "openrouter.ai", "google/gemini-3-pro", sealed, "", "C-58"},
		{"OpenRouter, encrypted, unchanged", "openrouter.ai", "google/gemini-3-pro", sealed, sealed, ""},
		{"OpenRouter, a text", "openrouter.ai", "z-ai/glm-5", text, "", ""},
		{"OpenRouter, xAI", "openrouter.ai", "x-ai/grok-4", sealed, "", ""},
		{"a host that nobody knows", "local.example", "glm-5", plain, "", ""},
	} {
		ask := `{"model":"` + c.model + `","messages":[{"role":"user","content":"hi"}]}`
		message := func(reasoning string) string {
			return `{"role":"assistant",` + reasoning +
				`"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
		}
		reply := `{"id":"1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":` +
			message(c.was) + `}]}`
		next := strings.Replace(ask, `"hi"}`,
			`"hi"},`+message(c.is)+`,{"role":"tool","tool_call_id":"c1","content":"1"}`, 1)
		for _, then := range []string{"", `,{"role":"assistant","content":"ok"},{"role":"user","content":"And now?"}`} {
			tr := recording(chatAsked(0, c.host, ask, reply), chatAsked(1, c.host, next[:len(next)-2]+then+"]}", reply))
			rule := ""
			for _, f := range find(t, "SIG-008/reasoning-kept").Run(tr).Findings {
				rule += f.Rule + " " + string(f.Consequence)
			}
			want := ""
			if c.rule != "" && then == "" {
				want = c.rule + " degraded"
			}
			if rule != want {
				t.Errorf("%s, then %q: %q, want %q", c.name, then, rule, want)
			}
		}
	}
}

// TestChatChoices: of several choices the client goes on with any.
func TestChatChoices(t *testing.T) {
	choice := func(n, text string) string {
		return `{"index":` + n + `,"finish_reason":"stop","message":{"role":"assistant","content":"` + text + `"}}`
	}
	for n, isFound := range map[string]bool{"1": true, "2": false} {
		ask := `{"model":"m","n":` + n + `,"messages":[{"role":"user","content":"hi"}]}`
		reply := `{"id":"1","model":"m","choices":[` + choice("0", "A heron.") + `,` + choice("1", "An egret.") + `]}`
		next := strings.Replace(ask, `"hi"}`,
			`"hi"},{"role":"assistant","content":"An egret."},{"role":"user","content":"Why?"}`, 1)
		tr := recording(chatAsked(0, "local.example", ask, reply), chatAsked(1, "local.example", next, reply))
		if res := find(t, "ORD-013/text-unchanged").Run(tr); len(res.Findings) > 0 != isFound {
			t.Errorf("n %s: %+v", n, res)
		}
	}
}

// TestChatIndexes: a gateway counts other blocks of the model as well, so that the first call of a stream need not have index 0.
func TestChatIndexes(t *testing.T) {
	chunk := func(delta, stop string) string {
		return `data: {"id":"gen-1","object":"chat.completion.chunk","created":1,"model":"anthropic/claude-sonnet-5","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + stop + "}]}\n\n"
	}
	const ask = `{"model":"anthropic/claude-sonnet-5","stream":true,"messages":[{"role":"user","content":"Look."}]}`
	for _, index := range []string{"0", "1", "2"} {
		reply := chunk(`{"role":"assistant","content":"I look."}`, "null") +
			chunk(`{"tool_calls":[{"index":`+index+
				`,"id":"toolu_1","type":"function","function":{"name":"ls","arguments":""}}]}`, "null") +
			chunk(`{"tool_calls":[{"index":`+index+`,"function":{"arguments":"{}"}}]}`, "null") + chunk("{}",
			`"tool_calls"`) + "data: [DONE]\n\n"
		next := strings.Replace(ask, `"}]`,
			`"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"toolu_1","content":"12"}]`, 1)
		ev := recording(chatAsked(0, "openrouter.ai", ask, reply), chatAsked(1, "openrouter.ai", next,
			chunk(`{"role":"assistant","content":"Twelve."}`, `"stop"`)+"data: [DONE]\n\n")).Evidence()
		for _, rules := range [][]report.Rule{catalogue(t), report.ServerRules()} {
			for _, res := range report.Judge(rules, &ev) {
				if len(res.Findings) > 0 {
					t.Errorf("index %s: %s: %s", index, res.Check, res.Findings[0].Message)
				}
			}
		}
	}
}
