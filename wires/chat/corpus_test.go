package chat_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// exceptions are accepted requests that a rule reports all the same, CASE/NN, each with the reason.
var exceptions = map[string]string{
	"activeagent__integration.ollama.chat.common_format.tools_test.test_agent_common_format_multiple_tools/02": "the agent leaves a call open, which Ollama alone lets pass (C-17)",
}

// TestCorpus holds that every recorded request and reply is read, and that no rule reports what a server accepted.
func TestCorpus(t *testing.T) {
	dir := corpus.Dir(t) + "-chat"
	files, _ := filepath.Glob(filepath.Join(dir, "data", "*", "*", "*.request.json"))
	if files == nil {
		t.Skipf("%s: no corpus of Chat Completions", dir)
	}
	w, book := wires.Find("chat"), rule.Books()["chat"]
	read, cut, used := 0, 0, map[string]bool{}
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
		if response.Status != 200 || r.End == wire.Failed {
			continue
		}
		root, _ := tree.Parse(*request.Body)
		passes := book.Judge(rule.Seen{URL: u, Root: root}, func(h rule.Hosts) bool { return h == rule.AnyHost || w.OwnHosts.MatchString(u.Hostname()) })
		for aspect, list := range passes {
			for _, p := range list {
				for _, b := range p.Breaches {
					if used[name] = true; exceptions[name] == "" {
						t.Errorf("%s: %s is accepted, and %s reports %s: %s", name, request.URL, aspect, b.Path, b.Message())
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
	if read < 1600 || cut > 0 {
		t.Errorf("%d requests read, %d replies cut off", read, cut)
	}
	t.Logf("%d requests read, %d replies cut off", read, cut)
}
