package client

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Conversation is a conversation with a server. It is for one goroutine.
type Conversation struct {
	Server
	wire.Question
	// History is what was said, as JSON. Prompts, replies and results are added.
	History []string
	// MaxRounds bounds the requests after one prompt, 0 for 20.
	MaxRounds int
}

// Say says something and answers the calls of tools until a reply has none, or is no whole reply.
// The history ends with the last whole reply.
func (c *Conversation) Say(ctx context.Context, prompt string, images ...wire.Image) (answers []*Answer) {
	c.History = append(c.History, wire.ClientOf(c.Wire.Name).Prompt(prompt, images...))
	return c.Continue(ctx)
}

// Continue asks with the history as it is, as after a reply that failed.
func (c *Conversation) Continue(ctx context.Context) (answers []*Answer) {
	w := wire.ClientOf(c.Wire.Name)
	for range cmp.Or(c.MaxRounds, 20) {
		a := c.Ask(ctx, &c.Question, c.History)
		if answers = append(answers, a); !a.IsOK() {
			return answers
		}
		results := RunCalls(a.Reply)
		if results != nil && slices.Contains(c.Wire.Stops.Unanswered, a.Reply.Stop) {
			return answers // a call that may be cut off is neither run nor sent back
		}
		c.History = append(c.History, w.Replay(a.Reply)...)
		if results == nil {
			return answers
		}
		c.History = append(c.History, w.Results(results)...)
	}
	return answers
}

// RunCalls runs the calls of a reply that are the client's to run; nil where there are none. It does not
// wait, even if the tool would. A name may begin with that of an MCP server, as agents write it.
func RunCalls(r *wire.Reply) (results []wire.ToolResult) {
	for i := range r.Items {
		if it := &r.Items[i]; it.What == wire.Call && it.Done {
			name := it.Name
			if _, rest, isMCP := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); isMCP {
				name = rest
			}
			result := toolserver.Run(name, it.Args)
			result.ID, result.Name = it.ID, it.Name
			results = append(results, result)
		}
	}
	return results
}

// AskToThink makes the question ask for thinking with an effort, as the model takes it. A model of
// which nothing is known is asked by an effort, or by a budget on a wire that has no effort of itself.
func AskToThink(q *wire.Question, provider, effort string) {
	can := specs.FindCapability(provider, q.Model)
	const budget = 2048
	switch {
	case effort == "" || effort == "none" || can.Reasoning == "never":
	case slices.Contains(can.Thinking, "adaptive"):
		q.Adaptive = true
		if can.Efforts == nil || slices.Contains(can.Efforts, effort) {
			q.Effort = effort
		}
	case slices.Contains(can.Thinking, "enabled"):
		q.Budget = budget
	case can.Budget != nil && len(can.Levels) == 0:
		q.Budget = budget
	case !can.TellsThinking():
		q.Effort, q.Budget = effort, budget // each wire has one of them
	default:
		q.Effort = effort
	}
}
