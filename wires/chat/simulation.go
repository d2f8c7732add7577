package chat

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know. A request to an unknown host is answered in the dialect of the
// vendor of its model.
func Simulation() *script.Simulation {
	s := simulationOf(&dialect{})
	s.DialectOf, s.Dialects = func(host string) string { return dialectOf(host).Name }, map[string]*script.Simulation{}
	for i := range dialects {
		s.Dialects[dialects[i].Name] = simulationOf(&dialects[i])
	}
	return s
}

// simulationOf is the simulation of a dialect.
func simulationOf(d *dialect) *script.Simulation {
	return &script.Simulation{
		Provider: provider{d}, Intent: readIntent,
		UnknownEvent: "data: {\"object\":\"chat.completion.future\",\"note\":\"new\",\"choices\":[]}\n\n",
		Parse:        func(r *http.Request, body []byte) script.Parsed { return parsed{readRequest(r, body, d)} },
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`/chat/completions$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^(?:/api/v1|/v1|/v1beta/openai|/openai/v1)?/models$`), Operation: script.Models},
			{Path: regexp.MustCompile(`^(?:/api/v1|/v1|/openai/v1)?/models/([^/:]+)$`), Operation: script.Model},
		},
		ListModels: func(url.Values) []byte {
			data := script.Array{}
			for _, id := range listedModels() {
				data = append(data, modelDocument(id))
			}
			return script.JSON(script.Object{"object", "list", "data", data})
		},
		ShowModel: func(id string) ([]byte, bool) {
			return script.JSON(modelDocument(id)), slices.Contains(listedModels(), id)
		},
		Holds: func(kind string, n *tree.Node) bool {
			switch kind {
			case "image":
				return n.Text("type") == "image_url"
			case "token":
				return !signatureOf(n).Null() || n.Get("reasoning_details") != nil
			}
			return n.Text("reasoning_effort") == "xhigh"
		},
		Refusals: texts.Kinds,
	}
}

func modelDocument(id string) script.Object {
	return script.Object{"id", id, "object", "model", "created", 1_744_316_542, "owned_by", "system"}
}

// parsed is a request that was read.
type parsed struct{ q *request }

// Check implements script.Parsed.
func (r parsed) Check(env rule.Env) *rule.Refusal { return r.q.findRefusal(env) }

// Document implements script.Parsed.
func (r parsed) Document() *tree.Node { return r.q.body }

// CountTokens implements script.Parsed; no endpoint asks for it.
func (r parsed) CountTokens() []byte { return nil }

// Turn implements script.Parsed.
func (r parsed) Turn() (script.Request, *script.Refusal) {
	q := r.q
	switch {
	case q.key == "":
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "You didn't provide an API key."}
	case q.err != nil:
		return script.Request{}, script.Invalid("We could not parse the JSON body of your request: %v", q.err)
	case q.model == "":
		return script.Request{}, script.Invalid("Missing required parameter: 'model'.")
	case !q.body.Get("messages").Is(tree.Array):
		return script.Request{}, script.Invalid("Missing required parameter: 'messages'.")
	}
	out := script.Request{Provider: "chat", Model: q.model, Account: q.account, Body: q.sent, Document: q.body,
		Parsed: q, Thinks: q.isThinking(), Shown: q.showsThoughts()}
	if !q.body.True("stream") {
		out.Form = script.FormUnary
	}
	own := make([]bool, len(q.messages))
	for i, m := range q.messages {
		if own[i] = m.role == "assistant"; m.role == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, t := range q.offers {
		out.Tools = append(out.Tools, t.Name)
	}
	return out, nil
}

// showsThoughts reports whether replies hold the text of thoughts: OpenAI's do not.
func (q *request) showsThoughts() bool {
	return q.dialect.hasTrait(inContent) || q.dialect.hasTrait(inDetails)
}

// readIntent says what a request wants.
func readIntent(doc *tree.Node) script.Intent {
	c := script.NewConversation()
	c.Limit = script.LimitOf(doc.Any("max_completion_tokens", "max_tokens"))
	if format := doc.Get("response_format"); format.Text("type") == "json_object" {
		c.Schema = script.AnyObject()
	} else {
		c.Schema = format.Get("json_schema").Get("schema").Map()
	}
	for _, t := range offeredTools(doc.List("tools")) {
		c.Tools = append(c.Tools, script.Tool{Name: t.Name, Schema: t.Schema.Map()})
	}
	switch choice := choiceOf(doc.Get("tool_choice")); choice.Kind {
	case "none":
		c.Choice = script.ChoiceNone
	case "any":
		c.Choice = script.ChoiceAny
	case "tool":
		c.Choice = strings.Join(choice.Names, "")
	}
	for _, m := range script.ObjectsOf(doc.Get("messages")) {
		content := m.Get("content")
		switch m.Text("role") {
		case "user":
			c.AddText(content)
			c.StartPrompt(content)
		case "system", "developer":
			c.System = strings.TrimPrefix(c.System+"\n"+script.Texts(content), "\n")
		case "tool":
			c.EndRun()
			c.AddResult(m.Text("tool_call_id"), "", script.Texts(content))
		case "assistant":
			c.StartResults()
			if !content.Null() {
				c.AddOwn("")
			}
			for _, call := range m.List("tool_calls") {
				name := call.Get("function").Text("name")
				c.Names[call.Text("id")] = name
				c.AddOwn(name)
			}
		}
	}
	return c.Done()
}
