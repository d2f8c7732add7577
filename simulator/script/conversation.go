package script

import (
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// ObjectsOf returns the objects of an array. An object alone is a list of one.
func ObjectsOf(n *tree.Node) []*tree.Node {
	if n.Is(tree.Object) {
		return []*tree.Node{n}
	}
	var all []*tree.Node
	list := n.List()
	for i := range list {
		if list[i].Is(tree.Object) {
			all = append(all, list[i])
		}
	}
	return all
}

// Texts joins the texts of a string or of parts.
func Texts(n *tree.Node) string {
	if !n.Is(tree.Array) {
		return n.Text()
	}
	var all []string
	for _, part := range ObjectsOf(n) {
		if s := part.Get("text").Text(); s != "" && !part.Get("thought").True() {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n")
}

// Conversation gathers the [Intent] of a request while a wire goes through the messages in their
// order. A prompt starts anew, unless the prompt stands beside results, as agents' reminders do.
type Conversation struct {
	Intent
	// Names are those of the calls, by id.
	Names   map[string]string
	wrapped string // what the client said last, the user's words or not
	run     modelRun
}

// NewConversation returns a conversation in which nothing was said.
func NewConversation() *Conversation { return &Conversation{Names: map[string]string{}} }

// modelRun is what is known of adjacent parts of the conversation that are the model's.
type modelRun struct{ parts, calls, searches int }

// AddOwn notes a part of the model's turn; call is the name of what it calls, "" for
// anything else.
func (c *Conversation) AddOwn(call string) {
	c.run.parts++
	if call == "" {
		return
	}
	c.run.calls++
	if IsToolSearch(call) {
		c.run.searches++
	}
}

// EndRun counts the model's turn that ends here.
func (c *Conversation) EndRun() {
	run := c.run
	c.run = modelRun{}
	if run.calls > 0 && run.calls == run.searches {
		c.Searches++
		return
	}
	if run.parts == 0 {
		return
	}
	if len(c.Messages) == 0 {
		c.Messages = []Message{{}}
	}
	last := &c.Messages[len(c.Messages)-1]
	last.Turns = append(last.Turns, run.calls)
}

// AddText notes what the user said.
func (c *Conversation) AddText(content *tree.Node) {
	c.EndRun()
	if text := Texts(content); text != "" {
		c.Messages = append(c.Messages, Message{Text: text})
	}
}

// StartPrompt begins again with the user's words. The words of the last prompt again,
// behind results that the model has not answered yet, are not a prompt.
func (c *Conversation) StartPrompt(content *tree.Node) {
	c.noteWords(content)
	text := userWords(content)
	if text == "" || len(c.Results) > 0 && text == c.Prompt {
		return
	}
	c.Prompt, c.Calls = text, nil
}

// noteWords keeps what was last said for a conversation without words of the user:
// agents wrap what they want titled or summarised.
func (c *Conversation) noteWords(content *tree.Node) {
	if text := Texts(content); text != "" {
		c.wrapped = text
	}
}

// Done returns the intent at the end of the conversation.
func (c *Conversation) Done() Intent {
	c.EndRun()
	if c.Prompt == "" {
		c.Prompt = c.wrapped
	}
	return c.Intent
}

// StartResults begins the results anew: the model has said something.
func (c *Conversation) StartResults() { c.Results = nil }

// AddResult notes the result of a call: of the call with an id, or of a tool that is named.
func (c *Conversation) AddResult(id, name, text string) {
	if name == "" {
		name = c.Names[id]
	}
	if IsToolSearch(name) {
		return
	}
	c.Answered++
	c.Calls = append(c.Calls, Called{Name: name, Result: text})
	c.Results = append(c.Results, Called{Name: name, Result: text})
}

// AddHostedTool notes a tool of the provider's own, by how the types of those for
// searching and for running code begin.
func (c *Conversation) AddHostedTool(kind, search, code string) {
	switch {
	case strings.HasPrefix(kind, search):
		c.Hosted = append(c.Hosted, string(specs.KindSearch))
	case strings.HasPrefix(kind, code):
		c.Hosted = append(c.Hosted, string(specs.KindCode))
	}
}

// LimitOf is the number of tokens that a member of a request allows, 0 without one.
func LimitOf(n *tree.Node) int {
	limit, _ := n.Number()
	return int(limit)
}

// AnyObject returns the schema of an answer that is to be JSON and no more.
func AnyObject() map[string]any { return map[string]any{"type": "object"} }
