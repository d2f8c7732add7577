package chat

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// request is a whole request, read once for all rules. It is read-only.
type request struct {
	// key is the credential, account is whose it is.
	key, account string
	// body is nil when it cannot be read; err says why.
	body  *tree.Node
	err   error
	sent  []byte
	model string
	// takes is what is known of the model if it is OpenAI's.
	takes    specs.Capability
	dialect  *dialect
	messages []message
	offers   []wire.Tool
	choice   wire.Choice
}

// message is one message. path leads to it.
type message struct {
	*tree.Node
	role, path string
	calls      []*tree.Node
}

// maxDepth is how deep a request may be nested; a deeper one is refused.
const maxDepth = 200

// readRequest reads a request to the simulator in a dialect.
func readRequest(r *http.Request, body []byte, d *dialect) *request {
	key := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("Api-Key"))
	root, err := tree.ParseStrict(body, maxDepth)
	if err == nil && !root.Is(tree.Object) {
		root, err = nil, fmt.Errorf("not one object")
	}
	model := root.Text("model")
	if d.Name == "" {
		d = vendorOf(model)
	}
	q := newRequest(root, d.serving(model))
	q.key, q.account, q.sent, q.err = key, seal.Account(key), body, err
	return q
}

// newRequest is what a body means in a dialect.
func newRequest(root *tree.Node, d *dialect) *request {
	q := &request{body: root, dialect: d, model: root.Text("model")}
	if name, _, found := strings.Cut(q.model, "-"); found && (name == "gpt" || len(name) == 2 && name[0] == 'o') ||
		len(q.model) == 2 {
		q.takes = specs.FindCapability("openai", q.model)
	}
	for i, n := range root.List("messages") {
		m := message{n, n.Text("role"), fmt.Sprintf("messages[%d]", i), nil}
		if m.role == "assistant" {
			m.calls = n.List("tool_calls")
		}
		q.messages = append(q.messages, m)
	}
	q.offers, q.choice = offeredTools(root.List("tools")), choiceOf(root.Get("tool_choice"))
	return q
}

// judgeRequest runs the rules of requests for the referee.
func judgeRequest(seen rule.Seen, holds func(rule.Hosts) bool) map[string][]*rule.Pass {
	u := cmp.Or(seen.URL, &url.URL{})
	return rule.Judge(judgedRules,
		newRequest(seen.Root, dialectOf(u.Hostname()).serving(seen.Root.Text("model"))), holds)
}

// serving is the dialect in which a model is served. OpenAI serves its own models only: a request for any other was
// sent to a base URL that stands for OpenAI's host, and is judged as one to the vendor of the model, if it is known.
func (d *dialect) serving(model string) *dialect {
	if d.Name == "openai" && model != "" {
		return vendorOf(strings.TrimPrefix(model, "ft:"))
	}
	return d
}

// isThinking reports whether the model is known to think over this request. DeepSeek's and Kimi's models think
// unless thinking is switched off.
func (q *request) isThinking() bool {
	isOff := q.body.Get("thinking").Text("type") == "disabled" || q.body.Text("reasoning_effort") == "none"
	switch {
	case q.dialect.hasTrait(inDetails):
		return !isOff && !q.body.Get("reasoning").False("enabled")
	case q.dialect.hasTrait(signsCalls):
		return specs.FindCapability("gemini", strings.TrimPrefix(q.model, "models/")).Reasoning != "never"
	case q.dialect.hasTrait(reasoningBack):
		return !isOff && (strings.HasPrefix(q.model, "deepseek-v4") || q.model == "deepseek-reasoner")
	case q.dialect.hasTrait(reasoningKept):
		return !isOff && (strings.HasPrefix(q.model, "kimi-k2.") || strings.Contains(q.model, "thinking"))
	case q.takes.Reasoning == "always":
		return true
	case q.takes.Reasoning == "on":
		return !isOff
	case q.takes.Reasoning == "off":
		return !isOff && q.body.Text("reasoning_effort") != ""
	}
	return false
}

// isResult reports whether the message answers a call.
func (m *message) isResult() bool { return m.role == "tool" }

// answersTo are the results that follow the message at i directly.
func (q *request) answersTo(i int) []message {
	end := i + 1
	for end < len(q.messages) && q.messages[end].isResult() {
		end++
	}
	return q.messages[i+1 : end]
}

// answeredID is the id of the call that a result answers.
func (m *message) answeredID() string { return m.Text("tool_call_id") }

// paramOf writes a path as the pairing checks of OpenAI write it: messages.[6].role.
func paramOf(path string) string { return strings.ReplaceAll(path, "[", ".[") }

// newRefusal is a refusal in the envelope of the dialect: DeepSeek and Kimi name no parameter.
func (q *request) newRefusal(code, param, form string, args ...any) *rule.Refusal {
	r := &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Param: param,
		Message: fmt.Sprintf(form, args...)}
	switch {
	case q.dialect.hasTrait(reasoningBack):
		r.Code, r.Param = "invalid_request_error", ""
	case q.dialect.hasTrait(reasoningKept):
		r.Code, r.Param = "", ""
	}
	return r
}
