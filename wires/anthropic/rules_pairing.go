package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

var pairingRules = []anthropicRule{
	everywhere(judged("ORD-001/answered",
		sureRule("A-15", "reported", "each call is answered in the very next message", nil), callsAnswered)),
	everywhere(judged("ORD-004/results-first",
		sureRule("A-16", "documented", "results stand before anything else in that message", nil), resultsFirst)),
	everywhere(judged("ORD-003/no-orphan",
		sureRule("A-17", "reported", "there is no result without its call in the message before", nil), resultsCalled)),
	everywhere(judged("ORD-005/unique-calls",
		sureRule("A-18", "reported", "an id stands on one call, unless it was answered and the tool is another", nil),
		callsUnique)),
	everywhere(judged("ORD-002/single-result", sureRule("A-19", "reported", "a call has one result", nil),
		answeredOnce)),
	likelyRule("ANT-S1", "reported", "a call of a server tool has its result", serverCallsAnswered),
}

// callsAnswered reports a call that shares its id with another and its only result; the
// provider looks at the ids alone.
func callsAnswered(c *call, p *rule.Pass) {
	for i, t := range c.turns {
		if t.role != "assistant" {
			continue
		}
		var results []string
		if i+1 < len(c.turns) {
			results = idsOf(c.turns[i+1].blocks)
		}
		free, refusal := slices.Clone(results), refuseOpen(t, results)
		for _, b := range t.blocks {
			if b.kind != "tool_use" {
				continue
			}
			p.Observe()
			k := slices.Index(free, b.toolID())
			if k < 0 {
				k = slices.Index(free, "") // its id is missing, and not the result
			}
			if k >= 0 {
				free = slices.Delete(free, k, k+1)
				continue
			}
			p.Report(b.place(), "tool call %s %s has no result in what follows it directly", b.Text("name"),
				b.toolID()).Refuse(refusal)
		}
	}
}

// refuseOpen is the provider's answer to the calls of a turn that are not among those with
// results, nil where all are.
func refuseOpen(t turn, results []string) *rule.Refusal {
	at, missing := 0, []string(nil)
	for _, b := range t.blocks {
		if id := b.toolID(); b.kind == "tool_use" && !slices.Contains(results, id) && !slices.Contains(missing, id) {
			at, missing = b.message, append(missing, id)
		}
	}
	if missing == nil {
		return nil
	}
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, strings.Join(missing, ", "))
}

// idsOf lists the ids of the calls that the results among some blocks answer.
func idsOf(blocks []block) (ids []string) {
	for _, b := range blocks {
		if b.kind == "tool_result" {
			ids = append(ids, b.toolID())
		}
	}
	return ids
}

// leadingResults are the results that stand before anything else in a turn.
func leadingResults(t turn) []block {
	if n := slices.IndexFunc(t.blocks, func(b block) bool { return b.kind != "tool_result" }); n >= 0 {
		return t.blocks[:n]
	}
	return t.blocks
}

func resultsFirst(c *call, p *rule.Pass) {
	for i, t := range c.turns {
		if i == 0 || c.turns[i-1].role != "assistant" {
			continue
		}
		var other *block
		for k := range t.blocks {
			b := &t.blocks[k]
			if b.kind != "tool_result" {
				other = b
				continue
			}
			if p.Observe(); other != nil {
				p.Report(b.place(), "tool result %s stands after %s; results come first", b.toolID(), other.place()).
					Refuse(refuseOpen(c.turns[i-1], idsOf(leadingResults(t))))
			}
		}
	}
}

func resultsCalled(c *call, p *rule.Pass) {
	for i, t := range c.turns {
		for _, b := range t.blocks {
			if b.kind != "tool_result" || t.role == "assistant" {
				continue
			}
			if p.Observe(); b.toolID() != "" && (i == 0 || !hasCall(c.turns[i-1], b.toolID())) {
				p.Report(b.place(), "tool result %s answers no call of the model's turn before it", b.toolID()).
					Refuse(invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.message, b.index, b.toolID()))
			}
		}
	}
}

func hasCall(t turn, id string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == "tool_use" && b.toolID() == id })
}

// callsUnique lets pass what was recorded with status 200: the id of an answered call stands
// on a call of another tool. The model is confused all the same.
func callsUnique(c *call, p *rule.Pass) {
	first, names, answered := map[string]block{}, map[string]string{}, map[string]bool{}
	for _, t := range c.turns {
		open := map[string]bool{}
		for _, b := range t.blocks {
			id, name := b.toolID(), b.Text("name")
			if b.kind == "tool_result" {
				answered[id] = true
			}
			if b.kind != "tool_use" || id == "" {
				continue
			}
			p.Observe()
			if was, again := first[id]; !again {
				first[id] = b
			} else {
				r := p.Report(b.place(), "call id %s is already used at %s", id, was.place())
				if answered[id] && was.Text("name") != name {
					r.Consequence = string(specs.Degraded)
				}
				if open[id] || names[id] == name {
					r.Refuse(invalid("messages.%d.content.%d: `tool_use` ids must be unique", b.message, b.index))
				}
			}
			names[id], open[id] = name, true
		}
	}
}

// answeredOnce: the provider looks at one turn at a time.
func answeredOnce(c *call, p *rule.Pass) {
	calls, results := map[string]int{}, map[string]int{}
	for _, t := range c.turns {
		inTurn := map[string]bool{}
		for _, b := range t.blocks {
			id := b.toolID()
			switch {
			case id == "":
			case b.kind == "tool_use":
				calls[id]++
			case b.kind == "tool_result":
				p.Observe()
				if results[id]++; calls[id] > 0 && results[id] > calls[id] {
					r := p.Report(b.place(), "tool call %s is answered again", id)
					if inTurn[id] {
						r.Refuse(invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.message, b.index, id))
					}
				}
				inTurn[id] = true
			}
		}
	}
}

// serverCallsAnswered lets the last turn be without results: it may have paused. So
// may a turn with a call of the client: the server's tool goes on when that is
// answered, and its result comes later.
func serverCallsAnswered(c *call, _ rule.Env) *rule.Refusal {
	for i, t := range c.turns {
		if t.role != "assistant" || i == len(c.turns)-1 ||
			slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == "tool_use" }) {
			continue
		}
		for _, b := range t.blocks {
			id := b.Text("id")
			if b.kind != "server_tool_use" || slices.ContainsFunc(t.blocks, func(r block) bool {
				return strings.HasSuffix(r.kind, "_tool_result") && r.Text("tool_use_id") == id
			}) {
				continue
			}
			name := b.Text("name")
			return invalid("messages.%d.content.%d: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", b.message, b.index, name, id, name)
		}
	}
	return nil
}

var turnRules = []anthropicRule{
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("A-40", "reported", "a message does not end with thinking", nil), endsInSpeech)),
	sureRule("A-38", "reported", "with a thinking budget, the turn of an open tool loop starts with thinking",
		loopThinks),
	judged("PAR-003/history", likelyRule("A-54", "reported",
		"with a thinking budget, a prefilled answer starts with thinking", nil), prefillThinks),
	judged("PAR-003/history", likelyRule("A-39", "reported",
		"while thinking is off, a last message of the assistant has no thinking", nil), finalThoughtless),
	everywhere(judged("ORD-016/user-ends",
		sureRule("A-14", "recorded", "from 4.6 on the last message is not the assistant's", nil), noPrefill)),
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("A-13", "reported", "a prefilled answer does not end in white space", nil), prefillTrimmed)),
}

// endsInSpeech: the provider joins messages of one role before it looks. The last message
// may have been cut.
func endsInSpeech(c *call, p *rule.Pass) {
	for _, t := range c.turns {
		for k, b := range t.blocks {
			isEnd := k == len(t.blocks)-1
			if t.role != "assistant" || !b.isThinking() || !isEnd && t.blocks[k+1].message == b.message {
				continue
			}
			var refusal *rule.Refusal
			if isEnd {
				refusal = invalid("messages.%d: The final block in an assistant message cannot be `%s`.",
					b.message, b.kind)
			}
			if b.message == len(c.said)-1 {
				p.Refuse(refusal)
			} else {
				p.Report(b.place(), "assistant message ends with a %s block", b.label()).Refuse(refusal)
			}
		}
	}
}

// loopThinks looks at the first reply after the user last said something: with
// thinking between calls the later ones may do without.
func loopThinks(c *call, _ rule.Env) *rule.Refusal {
	n := len(c.turns)
	if n > 0 && c.turns[n-1].role == "assistant" {
		n-- // the answer is prefilled
	}
	if c.askedThinking() != thinkEnabled || n < 2 || len(leadingResults(c.turns[n-1])) == 0 {
		return nil
	}
	t := c.turns[n-2]
	for i := n - 3; i > 0 && onlyResults(c.turns[i]); i -= 2 {
		t = c.turns[i-1]
	}
	if len(t.blocks) == 0 || t.blocks[0].isThinking() {
		return nil
	}
	return thoughtFirst(t, " (preceeding the lastmost set of `tool_use` and `tool_result` blocks)") //nolint:misspell // the API spells it so
}

// thoughtFirst refuses a turn that does not start with thinking.
func thoughtFirst(t turn, where string) *rule.Refusal {
	return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
		"When `thinking` is enabled, a final `assistant` message must start with a thinking block%s. "+
		"We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."+
		thinkingDocs, t.message, t.blocks[0].kind, where)
}

// prefillThinks speaks of models that take a prefilled answer. An open tool loop has thought already, and a turn in
// which the provider's own tools ran may have paused.
func prefillThinks(c *call, p *rule.Pass) {
	n := len(c.turns)
	if c.askedThinking() != thinkEnabled || c.takes.DoesRefuse("prefill") || n < 2 ||
		c.turns[n-1].role != "assistant" || len(leadingResults(c.turns[n-2])) > 0 {
		return
	}
	t := c.turns[n-1]
	if len(t.blocks) == 0 || slices.ContainsFunc(t.blocks, block.isProviders) {
		return
	}
	if p.Observe(); t.blocks[0].kind == "text" && strings.TrimSpace(t.blocks[0].text) != "" {
		p.Report(t.blocks[0].place(), "the answer is prefilled with text, and thinking has a budget").
			Refuse(thoughtFirst(t, ""))
	}
}

// onlyResults reports whether the user only answers calls in a turn.
func onlyResults(t turn) bool {
	return t.role == "user" && len(t.blocks) > 0 &&
		!slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind != "tool_result" })
}

// finalThoughtless reports thinking in a turn that goes on behind results as well: the model
// does without it there.
func finalThoughtless(c *call, p *rule.Pass) {
	n := c.latestAssistantTurn()
	if n < 0 || slices.ContainsFunc(c.said[c.turns[n].last+1:], message.startsTurn) {
		return
	}
	t, last := c.turns[n], c.turns[n].last == len(c.said)-1
	knowsModel := slices.Contains(c.takes.Thinking, thinkEnabled)
	if knowsModel {
		p.Observe()
	}
	k := slices.IndexFunc(t.blocks, block.isThinking)
	var refusal *rule.Refusal
	if at := slices.IndexFunc(c.lastMessage().blocks, block.isThinking); last && at >= 0 && c.thinkingForm() == "" {
		refusal = invalid("messages.%d.content.%d: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.", len(c.said)-1, at)
	}
	if form := c.askedThinking(); k < 0 || !knowsModel || form != "" && form != thinkDisabled {
		if refusal != nil {
			p.Refuse(refusal)
		}
		return
	}
	b := p.Report(t.blocks[k].place(), "the turn that goes on holds %s, and the request does not ask for thinking",
		t.blocks[k].label()).Refuse(refusal)
	if !last {
		b.Consequence = string(specs.Degraded)
	}
}

// startsTurn reports whether the user says something in the message, rather than to answer
// calls.
func (m message) startsTurn() bool {
	return len(m.blocks) > 0 && !slices.ContainsFunc(m.blocks, func(b block) bool { return b.kind == "tool_result" })
}

// isPaused reports whether the message is the reply that the provider paused, sent back as it is.
func (m message) isPaused(env rule.Env) bool {
	return env.Paused != nil && m.role == "assistant" && slices.ContainsFunc(m.blocks, func(b block) bool {
		return env.Paused(b.text) || env.Paused(strings.TrimSpace(b.text))
	})
}

// noPrefill lets a turn pass that paused while the provider's own tools ran (ANT-S2).
func noPrefill(c *call, p *rule.Pass) {
	last := c.lastMessage()
	if last == nil || !c.takes.DoesRefuse("prefill") || c.paused || last.isPaused(p.Env) {
		return
	}
	if p.Observe(); last.role != "assistant" {
		return
	}
	b := p.Report(fmt.Sprintf("messages[%d]", len(c.said)-1),
		"the last message is the assistant's, which %s does not continue", c.name)
	if slices.ContainsFunc(last.blocks, block.isProviders) {
		b.Consequence = string(specs.Degraded) // the turn may have paused
		return
	}
	b.Refuse(invalid("This model does not support assistant message prefill. The conversation must end with a user message."))
}

// isProviders reports whether the provider's own tools, or its compaction, made the block.
func (b block) isProviders() bool {
	return b.kind == "server_tool_use" || b.kind == "mcp_tool_use" || b.kind == "compaction" ||
		strings.HasSuffix(b.kind, "_tool_result")
}

func prefillTrimmed(c *call, p *rule.Pass) {
	last := c.lastMessage()
	if last == nil || last.role != "assistant" || len(last.blocks) == 0 {
		return
	}
	end := last.blocks[len(last.blocks)-1]
	if end.kind == "text" && end.text != strings.TrimRight(end.text, " \t\r\n") {
		p.Report(fmt.Sprintf("messages[%d].content", len(c.said)-1),
			"the text that the model is to continue ends in white space").
			Refuse(invalid("messages: final assistant content cannot end with trailing whitespace"))
	}
}

var limitRules = []anthropicRule{
	sureRule("A-45", "recorded", "the prompt fits the context window", promptFits),
}

// promptFits goes by an estimate of the tokens, so only what is far too long is
// refused for certain.
func promptFits(c *call, _ rule.Env) *rule.Refusal {
	if c.model == nil || len(c.body) < c.model.Context {
		return nil
	}
	n, most := inputTokens(c.root), c.model.Context
	output, _ := c.root.Get("max_tokens").Whole()
	switch {
	case n > most:
		return invalid("prompt is too long: %d tokens > %d maximum", n, most)
	case !c.takes.DoesRefuse("prefill") && n+output > most: // older models do not stop by themselves
		return invalid("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", n, output, most)
	}
	return nil
}
