package chat_test

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/chat"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// cases are a breach of each rule and its nearest legal neighbours. A line "# HOST: NAME" begins one; "= RULE PATH"
// is what the referee reports, "> RULE TEXT" the rule by which the simulator refuses it and a part of its words, and all other lines are the body.
//
//go:embed testdata/rules.txt
var cases string

func TestRules(t *testing.T) {
	blocks := strings.Split("\n"+cases, "\n# ")[1:]
	for _, block := range blocks {
		title, rest, _ := strings.Cut(block, "\n")
		host, _, _ := strings.Cut(title, ":")
		var body, says string
		var want []string
		for line := range strings.Lines(rest) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "= "):
				want = append(want, line[2:])
			case strings.HasPrefix(line, "> "):
				says = line[2:]
			default:
				body += line
			}
		}
		if got := reportOf(t, host, body); !slices.Equal(got, want) {
			t.Errorf("%s: the referee reports %q, want %q", title, got, want)
		}
		r := httptest.NewRequest(http.MethodPost, "https://"+host+"/v1/chat/completions", nil)
		r.Header.Set("Authorization", "Bearer test-key")
		refusal := script.Simulations()["chat"].At(host, "").Parse(r, []byte(body)).Check(rule.Env{ForeignTokens: true})
		id, words, _ := strings.Cut(says, " ")
		switch {
		case refusal == nil && says != "":
			t.Errorf("%s: the simulator accepts it, want %q", title, says)
		case refusal != nil && (says == "" || refusal.Rule != id || !strings.Contains(refusal.Message, words)):
			t.Errorf("%s: the simulator says %s %q, want %q", title, refusal.Rule, refusal.Message, says)
		case refusal != nil:
			if known := rule.Books()["chat"].RuleOf(refusal.Message); known == "" {
				t.Errorf("%s: no words know %q again", title, refusal.Message)
			}
		}
	}
	r := httptest.NewRequest(http.MethodPost, "https://api.openai.com/v1/chat/completions", nil)
	if refusal := script.Simulations()["chat"].Parse(r, []byte("{}")).Check(rule.Env{}); refusal == nil ||
		refusal.Rule != "C-87" {
		t.Errorf("no key: refused by %+v, want C-87", refusal)
	}
	if len(blocks) < 100 {
		t.Errorf("%d cases", len(blocks))
	}
}

// reportOf lists what the wire's own rules report, and the faults of members that hold at any host.
func reportOf(t *testing.T, host, body string) (list []string) {
	t.Helper()
	root, err := tree.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	seen := rule.Seen{URL: &url.URL{Scheme: "https", Host: host}, Root: root}
	passes := rule.Books()["chat"].Judge(seen, func(rule.Hosts) bool { return true })
	for _, list2 := range passes {
		for _, p := range list2 {
			for _, b := range p.Breaches {
				if b.Form != "" { // else it is a refusal alone
					list = append(list, b.Rule+" "+b.Path)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestSeals holds that the tokens that the simulator issues come back unchanged, and that a changed one is refused
// in the words and the envelope of the host.
func TestSeals(t *testing.T) {
	for _, c := range []struct{ dialect, model, rule, says string }{
		{"openrouter", "anthropic/claude-opus-4.6", "C-58",
			`"message":"Provider returned error","code":400,"metadata":{"raw":"{`},
		{"gemini", "gemini-3.5-flash", "C-60",
			`[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`},
	} {
		handler := simulator.New(simulator.Config{Seed: "1", Dialect: c.dialect})
		talk := client.Conversation{
			Server: client.Server{Wire: wires.Find("chat"), Base: "http://127.0.0.1/chat", Key: "test-key",
				Transport: simulator.Transport(handler)},
			Question: wire.Question{Model: c.model, Stream: true, Tools: toolserver.Tools()},
		}
		answers := talk.Say(t.Context(), "Echo the word heron.")
		if len(answers) < 2 || !answers[1].IsOK() {
			t.Fatalf("%s: %d answers, the last is %s", c.dialect, len(answers), answers[len(answers)-1].Response.Body)
		}
		changed := regexp.MustCompile(`"(signature|thought_signature)":"....`).ReplaceAllString(talk.History[1],
			`"$1":"AAAA`)
		if changed == talk.History[1] {
			t.Fatalf("%s: no token in %s", c.dialect, changed)
		}
		talk.History[1] = changed
		if a := talk.Continue(t.Context())[0]; a.Response.Status != 400 ||
			!strings.Contains(string(a.Response.Body), c.says) {
			t.Errorf("%s: %s answers a changed token with %d %s", c.rule, c.dialect, a.Response.Status, a.Response.Body)
		}
	}
}

// TestTakesUnknown: OpenAI alone is known to refuse every member that it does not describe, and not where its
// address stands for another server, whose model is asked for.
func TestTakesUnknown(t *testing.T) {
	for _, c := range []struct {
		url, model string
		takes      bool
	}{
		{"https://api.openai.com/v1/chat/completions", "gpt-4.1", false},
		{"https://api.openai.com/v1/chat/completions", "ft:gpt-4.1:acme", false},
		{"https://api.openai.com/v1/chat/completions", "deepseek-v4-pro", true},
		{"https://api.openai.com/v1/chat/completions", "qwen3-max", true},
		{"https://api.openai.com/v1/chat/completions", "gpt-oss-120b", true},
		{"https://api.deepseek.com/chat/completions", "deepseek-v4-pro", true},
		{"https://api.x.ai/v1/chat/completions", "grok-code-fast-1", true},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := tree.Parse([]byte(`{"model":"` + c.model +
			`","messages":[{"role":"user","content":"go"}],"thinking":{"type":"enabled"}}`))
		if err != nil {
			t.Fatal(err)
		}
		found := chat.Book().Inspect(&rule.Seen{Root: body, URL: u})
		if takes := len(found.Faults) == 0; takes != c.takes {
			t.Errorf("%s, %s: faults %v", c.url, c.model, found.Faults)
		}
	}
}
