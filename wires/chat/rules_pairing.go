package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// pairRules are about roles, and about calls and what answers them.
var pairRules = []rule.Rule[*request]{
	judged("ORD-015/roles", sureRule("C-3", "the roles are those that the host knows", reported), rolesKnown),
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("C-10", "a message of the assistant has a content or calls", documented), assistantSpeaks)),
	judged("PAR-007/range", sureRule("C-21", "a list of calls has a call", reported), callsGiven),
	everywhere(judged("ORD-001/answered",
		sureRule("C-17", "each call is answered by a tool message before any other role", reported), callsAnswered)),
	everywhere(judged("ORD-003/no-orphan",
		sureRule("C-18", "a tool message stands behind the message with its call", reported), resultsCalled)),
	everywhere(judged("ORD-002/single-result", likelyRule("C-19", "each call has one result", reported), answeredOnce)),
	judged("ORD-005/unique-calls",
		sureRule("C-20", "call ids are unique over the whole request where the host counts them", reported),
		callsUnique),
	judged("ORD-015/id-form", sureRule("C-24", "call ids have the form that the host takes", reported), idsFit),
	doubtfulRule(judged("", sureRule("C-6",
		"the assistant speaks between results and the user's words where the host wants that; models of 2026 do not",
		reported), userAfterAnswer)),
}

// roles are those of the API reference, and one of DeepSeek.
var roles = []string{"developer", "system", "user", "assistant", "tool", "function", "latest_reminder"}

func rolesKnown(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		switch p.Observe(); {
		case m.role == "":
		case m.role == "developer" && q.dialect.hasTrait(noDeveloper):
			p.Report(m.path+".role", "the host does not know the role developer").Refuse(q.newRefusal("", "",
				"Failed to deserialize the JSON body into the target type: messages[%d].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder` at line 1 column %d",
				i, m.Get("role").Offset()))
		case (m.role == "developer" || m.role == "system") && q.isOpenAIs() && strings.HasPrefix(q.model, "o1-mini"):
			p.Report(m.path+".role", "%s takes no message with the role %s", q.model,
				m.role).Refuse(q.newRefusal("unsupported_value", m.path+".role",
				"Unsupported value: '%s.role' does not support '%s' with this model.", m.path, m.role))
		case q.dialect.Name != "" && !slices.Contains(roles, m.role):
			b := p.Report(m.path+".role", "%.40q is no role of the API",
				m.role).Refuse(q.newRefusal("", paramOf(m.path)+".role",
				"'%s' is not one of ['system', 'assistant', 'user', 'function', 'tool', 'developer'] - '%s'", m.role,
				strings.TrimPrefix(paramOf(m.path), ".")+".role"))
			b.Rule = "C-2"
		}
	}
}

func assistantSpeaks(q *request, p *rule.Pass) {
	for _, m := range q.messages {
		if m.role != "assistant" {
			continue
		}
		p.Observe()
		if !m.Get("content").Null() || len(m.calls) > 0 || !m.Any("function_call", "audio").Null() ||
			m.Text("refusal") != "" {
			continue
		}
		refusal := q.newRefusal("", paramOf(m.path)+".content",
			"Invalid value for 'content': expected a string, got null.")
		if q.dialect.hasTrait(reasoningBack) {
			refusal.Message = "Invalid assistant message: content or tool_calls must be set"
		}
		p.Report(m.path+".content", "the assistant says nothing and calls nothing").Refuse(refusal)
	}
}

func callsGiven(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		if list := m.Get("tool_calls"); q.dialect.hasTrait(filledCalls) && list.Is(tree.Array) {
			if p.Observe(); len(list.List()) == 0 {
				path := fmt.Sprintf("messages[%d].tool_calls", i)
				p.Report(path, "the list of calls is empty; leave it out").Refuse(q.newRefusal("empty_array", path,
					"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", path))
			}
		}
	}
}

func callsAnswered(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		results := q.answersTo(i)
		var open []string
		first := ""
		for j, call := range m.calls {
			id := call.Text("id")
			if p.Observe(); slices.ContainsFunc(results, func(m message) bool { return m.answeredID() == id }) {
				continue
			}
			path := fmt.Sprintf("%s.tool_calls[%d]", m.path, j)
			if first == "" {
				first = path
			}
			open = append(open, id)
		}
		if open == nil {
			continue
		}
		next := i + 1 + len(results)
		p.Report(first, "no tool message answers call %s before another role speaks",
			strings.Join(open, ", ")).Refuse(q.openCalls(next, open))
	}
}

// openCalls is what the host says to calls without results; the message at next is where the results should stand.
func (q *request) openCalls(next int, open []string) *rule.Refusal {
	const words = "ssistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	switch {
	case q.dialect.hasTrait(nineCharacters):
		r := q.newRefusal("3230", "", "Not the same number of function calls and responses")
		r.Type = "invalid_request_message_order"
		return r
	case q.dialect.hasTrait(reasoningBack):
		return q.newRefusal("", "", "An a"+words+" (insufficient tool messages following tool_calls message)")
	case q.dialect.hasTrait(reasoningKept):
		return q.newRefusal("", "", "an a"+words+" The following tool_call_ids did not have response messages: %s",
			strings.Join(open, ", "))
	}
	return q.newRefusal("", fmt.Sprintf("messages.[%d].role", next),
		"An a"+words+" The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
}

func resultsCalled(q *request, p *rule.Pass) {
	caller := -1
	for i, m := range q.messages {
		if !m.isResult() {
			if caller = -1; len(m.calls) > 0 {
				caller = i
			}
			continue
		}
		p.Observe()
		isCalled := caller >= 0 && slices.ContainsFunc(q.messages[caller].calls,
			func(c *tree.Node) bool { return c.Text("id") == m.answeredID() })
		if isCalled {
			continue
		}
		refusal := q.newRefusal("", paramOf(m.path)+".role",
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		switch {
		case q.dialect.hasTrait(nineCharacters):
			refusal = q.newRefusal("3230", "", "Unexpected role 'tool' after role '%s'", q.messages[max(i-1, 0)].role)
			refusal.Type = "invalid_request_message_order"
		case q.dialect.hasTrait(reasoningBack):
			refusal.Message = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
		case q.dialect.hasTrait(reasoningKept):
			refusal.Message = "tool_call_id is not found"
		}
		p.Report(m.path, "the result of %s answers no call of the assistant's message before it",
			rule.Shorten(m.answeredID())).Refuse(refusal)
	}
}

func answeredOnce(q *request, p *rule.Pass) {
	for i := range q.messages {
		results := q.answersTo(i)
		if len(q.messages[i].calls) == 0 {
			continue
		}
		for j := range results {
			m := &results[j]
			p.Observe()
			was := slices.IndexFunc(results[:j], func(r message) bool { return r.answeredID() == m.answeredID() })
			if was >= 0 && countCalls(q.messages[i].calls, m.answeredID()) < 2 {
				p.Report(m.path, "call %s is answered again",
					rule.Shorten(m.answeredID())).Refuse(q.newRefusal("", paramOf(m.path)+".tool_call_id",
					"Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in %s and %s.", m.answeredID(),
					results[was].path, m.path))
			}
		}
	}
}

func countCalls(calls []*tree.Node, id string) (n int) {
	for _, c := range calls {
		if c.Text("id") == id {
			n++
		}
	}
	return n
}

func callsUnique(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(uniqueCalls) {
		return
	}
	first := map[string]string{}
	for _, m := range q.messages {
		for j, call := range m.calls {
			id, path := call.Text("id"), fmt.Sprintf("%s.tool_calls[%d]", m.path, j)
			if p.Observe(); first[id] != "" {
				p.Report(path, "call id %s is already used at %s", rule.Shorten(id), first[id]).
					Refuse(q.newRefusal("", "", "Invalid request: tool call id %s is duplicated", id))
				continue
			}
			first[id] = path
		}
	}
}

var nineLetters = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func idsFit(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(nineCharacters) && !q.dialect.hasTrait(shortIDs) {
		return
	}
	for i, m := range q.messages {
		for j, call := range m.calls {
			id, path := call.Text("id"), fmt.Sprintf("%s.tool_calls[%d].id", m.path, j)
			switch p.Observe(); {
			case q.dialect.hasTrait(nineCharacters) && !nineLetters.MatchString(id):
				r := q.newRefusal("3280", "", "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
				r.Type = "invalid_function_call"
				p.Report(path, "the call id %.70q is not nine letters and digits", id).Refuse(r)
			case q.dialect.hasTrait(shortIDs) && len(id) > 64:
				b := p.Report(path, "the call id has %d characters, more than 64",
					len(id)).Refuse(q.newRefusal("string_above_max_length",
					fmt.Sprintf("messages[%d].tool_calls[%d].id", i, j),
					"Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", i, j, len(id)))
				b.Rule = "C-22"
			}
		}
	}
}

func userAfterAnswer(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(noUserAfterTool) {
		return
	}
	for i, m := range q.messages {
		if i == 0 || !q.messages[i-1].isResult() || m.isResult() {
			continue
		}
		if p.Observe(); m.role == "user" {
			r := q.newRefusal("3230", "", "Unexpected role 'user' after role 'tool'")
			r.Type = "invalid_request_message_order"
			p.Report(m.path, "the user speaks directly after a result, which the host refuses").Refuse(r)
		}
	}
}
