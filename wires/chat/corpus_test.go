package chat_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// exceptions are accepted requests that a rule reports all the same, CASE/NN, each with the reason.
var exceptions = map[string]string{
	"activeagent__integration.ollama.chat.common_format.tools_test.test_agent_common_format_multiple_tools/02": "the agent leaves a call open, which Ollama alone lets pass (C-17)",
}

// refused are accepted requests that the strict simulator refuses, CASE/NN, each with the rule and the reason.
var refused = map[string]string{
	"activeagent__integration.ollama.chat.common_format.tools_test.test_agent_common_format_multiple_tools/02":        "C-17 the agent leaves a call open, which Ollama alone lets pass",
	"ruby_llm__chat_multimodal_tool_attachments_mistral_mistral-small-latest_describes_images_returned_from_tools/02": "C-6 Mistral's models of 2026 let the user speak after a result; strict alone enforces the rule",
	"ruby_llm__chat_tool_attachments_mistral_mistral-small-latest_returns_text_and_attachments_from_tools/02":         "C-6 Mistral's models of 2026 let the user speak after a result; strict alone enforces the rule",
}

// TestCorpus holds that every recorded request and reply is read, that no rule reports what a server accepted, and
// that the strict simulator accepts it.
func TestCorpus(t *testing.T) {
	dir := corpus.ChatDir(t)
	files, _ := filepath.Glob(filepath.Join(dir, "data", "*", "*", "*.request.json"))
	if files == nil {
		t.Fatalf("%s: has no requests", dir)
	}
	w, book := wires.Find("chat"), rule.Books()["chat"]
	read, cut, accepted, used := 0, 0, 0, map[string]bool{}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".request.json")
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(base)
		var request struct {
			Method, URL string
			Body        *string
		}
		var response struct{ Status int }
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &request) != nil {
			t.Fatalf("%s: %v", file, err)
		}
		data, _ = os.ReadFile(base + ".response.json") // some have no response
		_ = json.Unmarshal(data, &response)
		reply, _ := os.ReadFile(base + ".response.body")
		r := wire.ReadReply("chat", response.Status, reply)
		if response.Status == 200 && r.End == wire.Cut {
			cut++
		}
		u, err := url.Parse(request.URL)
		if request.Body == nil || err != nil {
			continue
		}
		q := wire.ReadRequest("chat", request.Method, request.URL, []byte(*request.Body))
		if q.Op != wire.Generate || len(q.Items) == 0 {
			t.Errorf("%s: %d items of a request to %s", name, len(q.Items), u.Path)
		}
		read++
		if response.Status != 200 {
			continue
		}
		accepted++
		if refusal := replay(u, *request.Body).Check(rule.Env{ForeignTokens: true}); refusal != nil &&
			!strings.HasPrefix(refused[name], refusal.Rule+" ") {
			t.Errorf("%s: %s was accepted, and the simulator refuses it: %s %s", name, request.URL, refusal.Rule,
				refusal.Message)
		} else if (refusal != nil) != (refused[name] != "") {
			t.Errorf("%s: is not refused any more", name)
		}
		if r.End == wire.Failed {
			continue
		}
		root, _ := tree.Parse(*request.Body)
		passes := book.Judge(rule.Seen{URL: u, Root: root},
			func(h rule.Hosts) bool { return h == rule.AnyHost || w.OwnHosts.MatchString(u.Hostname()) })
		for aspect, list := range passes {
			for _, p := range list {
				for _, b := range p.Breaches {
					if b.Form == "" {
						continue
					}
					if used[name] = true; exceptions[name] == "" {
						t.Errorf("%s: %s is accepted, and %s reports %s: %s", name, request.URL, aspect, b.Path,
							b.Message())
					}
				}
			}
		}
	}
	for name := range exceptions {
		if !used[name] {
			t.Errorf("%s: is no exception any more", name)
		}
	}
	if len(refused)*200 > accepted {
		t.Errorf("%d of %d accepted requests are refused, more than 0.5 %%", len(refused), accepted)
	}
	if read < 1600 || cut > 0 {
		t.Errorf("%d requests read, %d replies cut off", read, cut)
	}
	t.Logf("%d requests read, %d replies cut off; the simulator refuses %d of %d accepted requests", read, cut,
		len(refused), accepted)
}

// replay is a recorded request as the simulator reads it.
func replay(u *url.URL, body string) script.Parsed {
	r := httptest.NewRequest(http.MethodPost, u.String(), nil)
	r.Header.Set("Authorization", "Bearer test-key")
	return script.Simulations()["chat"].At(r.Host, "").Parse(r, []byte(body))
}
