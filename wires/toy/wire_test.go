// Package toy is a wire that does not exist. Its test shows that a folder is all that a wire needs; no
// program registers it.
package toy

import (
	"fmt"
	"net/url"
	"regexp"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Parts returns all parts of the wire.
func Parts() script.Parts {
	return script.Parts{Wire: Wire(), Decoder: decoder{}, Book: Book(), Simulation: Simulation()}
}

// Wire returns the facts of the wire. A request is
//
//	{"model":…,"manners":…,"tools":[{"name":…,"takes":SCHEMA}],"turns":[
//		{"who":"user","words":…},{"who":"model","words":…,"calls":[{"id":…,"tool":…,"with":{…}}]},{"who":"tool","call":ID,"words":…}]}
//
// and a reply consists of the events {"type":"word","text":…}, {"type":"call","id":…,"tool":…,"with":{…}} and
// {"type":"bye","why":…}, or is a turn of the model with "why" in one piece.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "toy", Title: "Toy Talk", Vendor: "Toymaker", Facts: wires.Facts{
		Host:     "talk.toy.example",
		OwnHosts: regexp.MustCompile(`^talk\.toy\.example$`),
		Paths:    regexp.MustCompile(`/v0/talk(/|$)`),
		Routes: []wires.Route{
			{Path: regexp.MustCompile(`/v0/talk/length$`), Operation: wires.Count},
			{Path: regexp.MustCompile(`/v0/talk$`), Operation: wires.Generate},
		},
		Member:      "turns",
		Credentials: wires.Credentials{Header: "Toy-Api-Key"},
		Environment: wires.Environment{Keys: []string{"TOY_KEY"}, AgentKeys: []string{"TOY_KEY"},
			BaseURLs: []string{"TOY_URL"}},
		Models:  wires.Models{Path: "/v0/talk", Words: []string{"toy"}},
		Scripts: wires.Scripts{Model: "toy-1", Stops: []string{"end_turn", "tool_use", "max_tokens"}},
		Stops:   wires.Stops{Unanswered: []string{"length"}, Budget: "length"},
		Body: wires.Body{Conversation: []string{"turns"}, Prompt: []string{"manners"}, Tools: []string{"tools"},
			Blocks: []string{"calls"}, IDs: []string{"id", "call"}},
		Volatile: []wires.Volatile{{Name: "toy.box", Path: []string{"box"}}},
		Tools: wires.Tools{
			Request: `{"model":"toy-1","turns":[{"who":"user","words":"Hello."}],"tools":{tools}}`, List: "tools",
			Schema: "takes",
		},
		ReplyMember: "words",
		Errors: wires.Errors{
			Body: func(_ int, message string) []byte { return wires.JSON(map[string]any{"broken": message}) },
			Event: func(_ int, message string) (string, []byte) {
				return "", wires.JSON(map[string]any{"type": "broken", "why": message})
			},
		},
		Ending: wires.Ending{Types: []string{"bye", "broken"}, Words: "bye"},
	}}
}

// decoder reads for the referee.
type decoder struct{}

// ReadRequest implements wire.Decoder.
func (decoder) ReadRequest(q *wire.Request, method string, u *url.URL) {
	q.SetOperation(method, u.Path == "/v0/talk")
	q.System, q.Tools = q.Doc.Get("manners"), q.Doc.Get("tools")
	for i, turn := range q.Doc.List("turns") {
		role, path := turn.Text("who"), fmt.Sprintf("turns[%d]", i)
		if role == "model" {
			role = "assistant"
		}
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: turn, Path: path})
		for _, it := range itemsOf(turn) {
			q.AddItem(it, role, i, it.Node, path)
		}
	}
}

// itemsOf reads a turn: the words of somebody, calls of the model, or the result of a call.
func itemsOf(turn *tree.Node) (items []wire.Item) {
	words := turn.Get("words")
	if turn.Text("who") == "tool" {
		return []wire.Item{{What: wire.Result, Type: "result", ID: turn.Text("call"), Text: words.Text(), Node: turn}}
	}
	if words.Text() != "" {
		items = append(items, wire.Item{What: wire.Text, Type: "words", Text: words.Text(), Node: words})
	}
	for _, call := range turn.List("calls") {
		items = append(items, callOf(call))
	}
	return items
}

func callOf(call *tree.Node) wire.Item {
	return wire.Item{What: wire.Call, Type: "call", ID: call.Text("id"), Name: call.Text("tool"),
		Args: call.Raw("with"), ArgsKnown: true, Node: call}
}

// ReadReply implements wire.Decoder.
func (decoder) ReadReply(r *wire.Reply) {
	add := func(it wire.Item, at wire.Place) {
		it.Role, it.Place, it.Done = "assistant", at, true
		r.Items = append(r.Items, it)
	}
	end := func(why *tree.Node) {
		r.Stop, r.End = why.Text(), wire.Complete
	}
	if r.Doc.Get("words") != nil {
		end(r.Doc.Get("why"))
	}
	for _, it := range itemsOf(r.Doc) {
		add(it, wire.Place{Event: -1})
	}
	said := ""
	for i, e := range r.Events {
		at := wire.Place{Event: i, Off: e.DataOff}
		if said += e.JSON.Text("text"); e.Type() != "word" && said != "" {
			add(wire.Item{What: wire.Text, Type: "words", Text: said}, at)
			said = ""
		}
		switch e.Type() {
		case "call":
			add(callOf(e.JSON), at)
		case "bye":
			end(e.JSON.Get("why"))
		case "broken":
			r.SetError(e.JSON, at)
		}
	}
}

// TokenKey implements wire.Decoder.
func (decoder) TokenKey(token string) string { return token }
