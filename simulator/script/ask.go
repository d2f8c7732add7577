package script

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Intent is what a request wants, as far as an answer without a script depends on
// it.
type Intent struct {
	System string
	// Prompt is the last text of the user.
	Prompt string
	// Calls are the calls since the prompt, in order, with what became of them.
	// Searches for tools are left out, here and in Results.
	Calls []Called
	// Results are those of Calls that follow the model's last turn, in order.
	Results []Called
	// Answered counts the results in the whole conversation.
	Answered int
	// Searches counts the model's turns that did nothing but look for tools.
	Searches int
	// Messages are what the user said, in order.
	Messages []Message
	// Hosted are the tools that the provider runs itself, "search" and "code".
	Hosted []string
	// Tools are those that the client runs.
	Tools []Tool
	// Choice restricts the calls: "" leaves them to the model, ChoiceNone and
	// ChoiceAny forbid and demand one, else the name of the tool demanded.
	Choice string
	// Schema is the JSON Schema that the answer must fulfil, nil for prose.
	Schema map[string]any
	// Bare says that the answer is one of the schema's values as it is, no JSON.
	Bare bool
	// Limit is the most tokens the answer may have, 0 when none is given.
	Limit int
}

// Message is something that the user said, the agent's additions included. Turns are the
// model's turns up to the next one, each as the number of its calls, without those that
// only look for tools. A conversation that begins with the model has a first message
// without text.
type Message struct {
	Text  string
	Turns []int
}

// The choices that are not a tool's name. No provider allows such a name.
const (
	ChoiceNone = "\x00none"
	ChoiceAny  = "\x00any"
)

// toolNamed is the tool that the client offers under a name.
func (a Intent) toolNamed(name string) Tool {
	for _, t := range a.Tools {
		if t.Name == name {
			return t
		}
	}
	return Tool{Name: name}
}

// Called is a call and its result.
type Called struct{ Name, Result string }

// probe is the limit with which agents ask whether a key is good or a quota is
// left.
const probe = 1

// sidelines are what agents ask a model beside their main loop, by what the
// instructions say in lower case.
var sidelines = []string{
	"title generator", "generate a title", "generate a short title", "generate a concise title",
	"a concise, sentence-case title",
	"word title", "title for this conversation", "title for the following conversation", "title for this session",
	"indicates a new conversation topic", "summarize this coding conversation in under",
	"concise description of this session",
	"analyze *only* the content and structure of your immediately preceding response",
	"task routing ai",
}

// SideTraffic answers what is not part of an agent's main loop: titles, topics, quota
// probes. It is conservative: a request that offers a tool or already holds a
// turn of the model after the prompt is never one.
func SideTraffic(a Intent) (said []specs.Block, stop specs.Stop, ok bool) {
	if len(a.Tools) > 0 || len(a.Calls) > 0 {
		return nil, "", false
	}
	if a.Limit == probe {
		return []specs.Block{textBlock("OK")}, specs.StopMaxTokens, true
	}
	words := strings.ToLower(a.System + "\n" + a.Prompt)
	if !slices.ContainsFunc(sidelines, func(s string) bool { return strings.Contains(words, s) }) {
		return nil, "", false
	}
	return []specs.Block{textBlock(answerIn(a, titleOf(a.Prompt)))}, specs.StopEnd, true
}

// titleOf is the first words of a prompt's last line.
func titleOf(prompt string) string {
	lines := strings.Split(strings.TrimSpace(prompt), "\n")
	words := strings.Fields(lines[len(lines)-1])
	if len(words) == 0 {
		return "New conversation"
	}
	return strings.Trim(strings.Join(words[:min(5, len(words))], " "), `"'.,:;<>`)
}

// answerIn is text in the form that is asked for, if there is one.
func answerIn(a Intent, text string) string {
	if a.Schema == nil {
		return text
	}
	value := fillSchema(a.Schema, text)
	if s, ok := value.(string); ok && a.Bare {
		return s
	}
	return string(JSON(value))
}

// ObjectsOf returns the objects of an array. An object alone is a list of one.
func ObjectsOf(n *tree.Node) []*tree.Node {
	if n.Is(tree.Object) {
		return []*tree.Node{n}
	}
	return slices.DeleteFunc(slices.Clone(n.List()), func(item *tree.Node) bool { return !item.Is(tree.Object) })
}

// Texts joins the texts of a string or of parts.
func Texts(n *tree.Node) string {
	return joinTexts(n, func(text string) string { return text })
}

// joinTexts joins what choose leaves of the texts of a string or of parts.
func joinTexts(n *tree.Node, choose func(string) string) string {
	if !n.Is(tree.Array) {
		return choose(n.Text())
	}
	var all []string
	for _, part := range ObjectsOf(n) {
		if s := choose(part.Text("text")); s != "" && !part.True("thought") {
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
	// A conversation without words of the user: agents wrap what they want titled or summarised.
	if text := Texts(content); text != "" {
		c.wrapped = text
	}
	text := userWords(content)
	if text == "" || len(c.Results) > 0 && text == c.Prompt {
		return
	}
	c.Prompt, c.Calls = text, nil
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
