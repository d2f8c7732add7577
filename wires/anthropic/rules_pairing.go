package anthropic

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

var pairingRules = []anthropicRule{
	sureRule("A-15", "reported", "each call is answered in the very next message", callsAnswered(allResults)),
	sureRule("A-16", "documented", "results stand before anything else in that message", callsAnswered(leadingResults)),
	sureRule("A-17", "reported", "there is no result without its call in the message before", resultsCalled),
	sureRule("A-18", "reported", "an id stands on one call, unless it was answered and the tool is another", callsUnique),
	sureRule("A-19", "reported", "a call has one result", answeredOnce),
	likelyRule("ANT-S1", "reported", "a call of a server tool has its result", serverCallsAnswered),
}

// callsAnswered holds a turn of calls against results of the next.
func callsAnswered(results func(turn) []string) func(*call, rule.Env) *rule.Refusal {
	return func(c *call, _ rule.Env) *rule.Refusal {
		for i, t := range c.turns {
			var ids []string
			if i+1 < len(c.turns) {
				ids = results(c.turns[i+1])
			}
			if at, missing := unansweredCalls(t, ids); len(missing) > 0 {
				return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, strings.Join(missing, ", "))
			}
		}
		return nil
	}
}

// unansweredCalls are the calls of a turn that have no result, and the message that
// holds the last of them.
func unansweredCalls(t turn, results []string) (at int, missing []string) {
	for _, b := range t.blocks {
		id := b.Get("id").Text()
		if b.kind == "tool_use" && t.role == "assistant" && !slices.Contains(results, id) && !slices.Contains(missing, id) {
			at, missing = b.message, append(missing, id)
		}
	}
	return at, missing
}

// allResults are the ids of the results of a turn.
func allResults(t turn) []string {
	var ids []string
	for _, b := range t.blocks {
		if b.kind == "tool_result" {
			ids = append(ids, b.Get("tool_use_id").Text())
		}
	}
	return ids
}

// leadingResults are the ids of the results that stand before anything else in a
// turn.
func leadingResults(t turn) []string {
	var ids []string
	for _, b := range t.blocks {
		if b.kind != "tool_result" {
			break
		}
		ids = append(ids, b.Get("tool_use_id").Text())
	}
	return ids
}

func resultsCalled(c *call, _ rule.Env) *rule.Refusal {
	for i, t := range c.turns {
		if t.role != "user" {
			continue
		}
		for _, b := range t.blocks {
			id := b.Get("tool_use_id").Text()
			if b.kind != "tool_result" || i > 0 && hasCall(c.turns[i-1], id) {
				continue
			}
			return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.message, b.index, id)
		}
	}
	return nil
}

func hasCall(t turn, id string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == "tool_use" && b.Get("id").Text() == id })
}

// callsUnique lets pass what was recorded with status 200.
func callsUnique(c *call, _ rule.Env) *rule.Refusal {
	names := map[string]string{} // by id
	for _, t := range c.turns {
		open := map[string]bool{}
		for _, b := range t.blocks {
			id, name := b.Get("id").Text(), b.Get("name").Text()
			if b.kind != "tool_use" {
				continue
			}
			if was, again := names[id]; again && (open[id] || was == name) {
				return invalid("messages.%d.content.%d: `tool_use` ids must be unique", b.message, b.index)
			}
			names[id], open[id] = name, true
		}
	}
	return nil
}

func answeredOnce(c *call, _ rule.Env) *rule.Refusal {
	for _, t := range c.turns {
		seen := map[string]bool{}
		for _, b := range t.blocks {
			if b.kind != "tool_result" {
				continue
			}
			id := b.Get("tool_use_id").Text()
			if seen[id] {
				return invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.message, b.index, id)
			}
			seen[id] = true
		}
	}
	return nil
}

// serverCallsAnswered lets the last turn be without results: it may have paused. So
// may a turn with a call of the client: the server's tool goes on when that is
// answered, and its result comes later.
func serverCallsAnswered(c *call, _ rule.Env) *rule.Refusal {
	for i, t := range c.turns {
		if t.role != "assistant" || i == len(c.turns)-1 || slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == "tool_use" }) {
			continue
		}
		for _, b := range t.blocks {
			id := b.Get("id").Text()
			if b.kind != "server_tool_use" || slices.ContainsFunc(t.blocks, func(r block) bool {
				return strings.HasSuffix(r.kind, "_tool_result") && r.Get("tool_use_id").Text() == id
			}) {
				continue
			}
			name := b.Get("name").Text()
			return invalid("messages.%d.content.%d: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", b.message, b.index, name, id, name)
		}
	}
	return nil
}

var turnRules = []anthropicRule{
	sureRule("A-40", "reported", "a message does not end with thinking", endsInSpeech),
	sureRule("A-38", "reported", "with a thinking budget, the turn of an open tool loop starts with thinking", loopThinks),
	likelyRule("A-39", "reported", "while thinking is off, a last message of the assistant has no thinking", finalThoughtless),
	sureRule("A-14", "recorded", "from 4.6 on the last message is not the assistant's", noPrefill),
	sureRule("A-13", "reported", "a prefilled answer does not end in white space", prefillTrimmed),
}

func endsInSpeech(c *call, _ rule.Env) *rule.Refusal {
	for _, t := range c.turns {
		n := len(t.blocks)
		if t.role == "assistant" && n > 0 && t.blocks[n-1].isThinking() {
			return invalid("messages.%d: The final block in an assistant message cannot be `%s`.", t.blocks[n-1].message, t.blocks[n-1].kind)
		}
	}
	return nil
}

// loopThinks looks at the first reply after the user last said something: with
// thinking between calls the later ones may do without.
func loopThinks(c *call, _ rule.Env) *rule.Refusal {
	n := len(c.turns)
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
	return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."+thinkingDocs, t.message, t.blocks[0].kind) //nolint:misspell // the API spells it so
}

// onlyResults reports whether the user only answers calls in a turn.
func onlyResults(t turn) bool {
	return t.role == "user" && len(t.blocks) > 0 &&
		!slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind != "tool_result" })
}

func finalThoughtless(c *call, _ rule.Env) *rule.Refusal {
	last := c.lastMessage()
	if last == nil || last.role != "assistant" || c.thinkingForm() != "" {
		return nil
	}
	for _, b := range last.blocks {
		if b.isThinking() {
			return invalid("messages.%d.content.%d: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.", b.message, b.index)
		}
	}
	return nil
}

// noPrefill lets a turn pass that paused while the provider's own tools ran
// (ANT-S2).
func noPrefill(c *call, _ rule.Env) *rule.Refusal {
	last := c.lastMessage()
	if !c.takes.DoesRefuse("prefill") || last == nil || last.role != "assistant" {
		return nil
	}
	paused := slices.ContainsFunc(last.blocks, func(b block) bool {
		return b.kind == "server_tool_use" || b.kind == "mcp_tool_use" || b.kind == "compaction" || strings.HasSuffix(b.kind, "_tool_result")
	})
	return invalidIf(!paused, "This model does not support assistant message prefill. The conversation must end with a user message.")
}

func prefillTrimmed(c *call, _ rule.Env) *rule.Refusal {
	last := c.lastMessage()
	if last == nil || last.role != "assistant" || len(last.blocks) == 0 {
		return nil
	}
	end := last.blocks[len(last.blocks)-1]
	return invalidIf(end.kind == "text" && end.text != strings.TrimRight(end.text, " \t\r\n"), "messages: final assistant content cannot end with trailing whitespace")
}

var limitRules = []anthropicRule{
	sureRule("A-45", "recorded", "the prompt fits the context window", promptFits),
}

// promptFits goes by an estimate of the tokens, so only what is far too long is
// refused for certain.
func promptFits(c *call, _ rule.Env) *rule.Refusal {
	if c.model == nil || len(c.body) < c.model.context {
		return nil
	}
	n, most := inputTokens(c.root), c.model.context
	output, _ := c.root.Get("max_tokens").Whole()
	switch {
	case n > most:
		return invalid("prompt is too long: %d tokens > %d maximum", n, most)
	case !c.takes.DoesRefuse("prefill") && n+output > most: // older models do not stop by themselves
		return invalid("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", n, output, most)
	}
	return nil
}
