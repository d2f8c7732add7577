package toy

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: provider{}, Intent: readIntent, UnknownEvent: "data: {\"type\":\"yawn\"}\n\n",
		Parse: func(_ *http.Request, body []byte) script.Parsed {
			doc, _ := tree.ParseLenient(body, tree.MaxDepth)
			return request{doc, body}
		},
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`^/v0/talk$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^/v0/talk/length$`), Operation: script.Count},
		},
		ListModels: func(url.Values) []byte { return script.JSON(script.Array{"toy-1"}) },
		ShowModel:  func(id string) ([]byte, bool) { return script.JSON(id), id == "toy-1" },
		Holds:      func(string, *tree.Node) bool { return false },
		Refusals: map[string]rule.Refusal{
			"not_found":   {Status: 404, Message: "There is no {path}."},
			"wrong_key":   {Status: 401, Message: "Wrong key."},
			"not_allowed": {Status: 405, Message: "Not by {method}."},
			"no_model":    {Status: 404, Message: "There is no {id}."},
			"too_large":   {Status: 413, Message: "Too much."},
			"upgrade":     {Status: 426, Message: script.NoWebSocket},
			"coding":      {Status: 415, Message: script.UnknownCoding},
			"rate_limit":  {Status: 429, Message: "Slowly."}, "quota": {Status: 429, Message: "Enough for today."},
			"overloaded": {Status: 503, Message: "Too many talk."}, "server": {Status: 500, Message: "Sorry."},
			"timeout": {Status: 504, Message: "Too late."}, "context": {Status: 400, Message: "Too long."},
			"image": {Status: 400, Message: "No pictures."}, "token": {Status: 400, Message: "No secrets."},
			"script_invalid": {Status: 400, Message: "{said}"}, "script_auth": {Status: 400, Message: "{said}"},
			"script_model":      {Status: 400, Message: "{said}"},
			"script_overloaded": {Status: 400, Message: "Sorry."}, "script_server": {Status: 400, Message: "Sorry."},
			"tool":   {Status: 400, Message: "The tool {tool} is odd."},
			"effort": {Status: 400, Message: "Not so eager."},
		},
	}
}

// request is a request that was read.
type request struct {
	doc  *tree.Node
	body []byte
}

// Check implements script.Parsed.
func (q request) Check(env rule.Env) *rule.Refusal { return rule.First(rules, q.doc, env) }

// Document implements script.Parsed.
func (q request) Document() *tree.Node { return q.doc }

// CountTokens implements script.Parsed.
func (q request) CountTokens() []byte {
	return script.JSON(script.Object{"length", script.Tokens(string(q.body))})
}

// Turn implements script.Parsed.
func (q request) Turn() (script.Request, *script.Refusal) {
	out := script.Request{Provider: "toy", Model: q.doc.Text("model"), Body: q.body, Document: q.doc}
	if !q.doc.True("stream") {
		out.Form = script.FormUnary
	}
	own := []bool{}
	for _, turn := range q.doc.List("turns") {
		who := turn.Text("who")
		if own = append(own, who == "model"); who == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, tool := range q.doc.List("tools") {
		out.Tools = append(out.Tools, tool.Text("name"))
	}
	return out, nil
}

// readIntent says what a request wants.
func readIntent(doc *tree.Node) script.Intent {
	c := script.NewConversation()
	c.System = doc.Text("manners")
	for _, tool := range doc.List("tools") {
		c.Tools = append(c.Tools, script.Tool{Name: tool.Text("name"), Schema: tool.Get("takes").Map()})
	}
	for _, turn := range doc.List("turns") {
		switch turn.Text("who") {
		case "user":
			c.AddText(turn.Get("words"))
			c.StartPrompt(turn.Get("words"))
		case "tool":
			c.EndRun()
			c.AddResult(turn.Text("call"), "", turn.Text("words"))
		case "model":
			c.StartResults()
			c.AddOwn("")
			for _, call := range turn.List("calls") {
				c.Names[call.Text("id")] = call.Text("tool")
				c.AddOwn(call.Text("tool"))
			}
		}
	}
	return c.Done()
}

// provider writes replies.
type provider struct{}

// Frames implements script.Provider.
func (provider) Frames(r script.Reply) (frames [][]byte) {
	add := func(event script.Object) {
		frames = append(frames, append(append([]byte("data: "), script.JSON(event)...), "\n\n"...))
	}
	words, calls := "", script.Array{}
	for n, b := range r.Blocks {
		switch b.Kind {
		case specs.KindText, specs.KindSignedText:
			words += b.Text
			for _, piece := range script.Words(b.Text, 1) {
				add(script.Object{"type", "word", "text", piece})
			}
		case specs.KindCall:
			call := script.Object{"id", r.ID("call-", n, script.Hex, 8), "tool", b.Name, "with",
				json.RawMessage(b.Arguments())}
			calls = append(calls, call)
			add(append(script.Object{"type", "call"}, call...))
		default: // it does not think aloud
		}
	}
	why := "done"
	if r.Stop == specs.StopMaxTokens {
		why = "length"
	}
	add(script.Object{"type", "bye", "why", why})
	if r.Request.Form == script.FormUnary {
		return [][]byte{script.JSON(script.Object{"words", words, "calls", calls, "why", why})}
	}
	return frames
}

// Failure implements script.Provider.
func (provider) Failure(script.Reply, int, *rule.Refusal) [][]byte {
	return [][]byte{[]byte("data: {\"type\":\"broken\",\"why\":\"Sorry.\"}\n\n")}
}

// Header implements script.Provider.
func (provider) Header(r script.Reply) http.Header {
	if r.Request.Form == script.FormUnary {
		return http.Header{"Content-Type": {"application/json"}}
	}
	return http.Header{"Content-Type": {"text/event-stream"}}
}

// Reject implements script.Provider.
func (provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	return r.Status, http.Header{"Content-Type": {"application/json"}}, Wire().Errors.Body(r.Status, r.Message)
}
