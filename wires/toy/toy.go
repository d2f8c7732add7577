// Package toy is a wire that does not exist. Its test shows that a folder is all that a wire needs; no
// program registers it.
package toy

import (
	"net/url"
	"regexp"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Wire returns the wire. A request is {"model":…,"turns":[{"who":"user","words":…}]}, a reply the events
// {"type":"word","text":…} and {"type":"bye"}, or {"words":…} in one piece.
func Wire() *wires.Wire {
	return &wires.Wire{Name: "toy", Title: "Toy Talk", Vendor: "Toymaker", Decoder: decoder{}, Facts: wires.Facts{
		Host:     "talk.toy.example",
		OwnHosts: regexp.MustCompile(`^talk\.toy\.example$`),
		Paths:    regexp.MustCompile(`/v0/talk(/|$)`),
		Routes: []wires.Route{
			{Path: regexp.MustCompile(`/v0/talk/length$`), Operation: wires.Count},
			{Path: regexp.MustCompile(`/v0/talk$`), Operation: wires.Generate},
		},
		Member:      "turns",
		Credentials: wires.Credentials{Header: "Toy-Api-Key"},
		Environment: wires.Environment{Keys: []string{"TOY_KEY"}, AgentKeys: []string{"TOY_KEY"}, BaseURLs: []string{"TOY_URL"}},
		Models:      wires.Models{Path: "/v0/talk", Words: []string{"toy"}},
		Body:        wires.Body{Conversation: []string{"turns"}, Prompt: []string{"manners"}, Blocks: []string{"words"}},
		Volatile:    []wires.Volatile{{Name: "toy.box", Path: []string{"box"}}},
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
	q.System = q.Doc.Get("manners")
	for i, turn := range q.Doc.Get("turns").List() {
		role := turn.Get("who").Text()
		path := "turns[" + string(rune('0'+i)) + "]"
		q.Msgs = append(q.Msgs, wire.Msg{Role: role, Node: turn, Path: path})
		q.AddItem(wire.Item{What: wire.Text, Type: "words", Text: turn.Get("words").Text()}, role, i, turn, path)
	}
}

// ReadReply implements wire.Decoder.
func (decoder) ReadReply(r *wire.Reply) {
	add := func(said *tree.Node, at wire.Place) {
		r.Items = append(r.Items, wire.Item{What: wire.Text, Type: "words", Role: "model", Text: said.Text(), Place: at, Done: true})
	}
	if said := r.Doc.Get("words"); said != nil {
		r.End = wire.Complete
		add(said, wire.Place{Event: -1})
	}
	for i, e := range r.Events {
		switch e.Type() {
		case "word":
			add(e.JSON.Get("text"), wire.Place{Event: i, Off: e.DataOff})
		case "bye":
			r.End = wire.Complete
		}
	}
}

// TokenKey implements wire.Decoder.
func (decoder) TokenKey(token string) string { return token }
