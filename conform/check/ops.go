package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// operationRules judge agents that run other agents beside their own conversation: what
// several conversations on one wire must keep apart.
var operationRules = map[string]rule{
	"OPS-001/own-replies": ownRepliesOnly,
	"OPS-002/own-answer":  answersReachTheirCall,
	"OPS-003/once":        agentsStartOnce,
	"OPS-004/own-task":    agentsGetTheirTask,
}

// ownRepliesOnly: a conversation holds the replies that were given to it. A reply of
// another one is known by an id or token that nothing else issued.
func ownRepliesOnly(s *Trace, r *report) {
	issuers := s.markIssuers()
	begun := map[int]bool{}
	for _, x := range s.x {
		if !x.canBeSentBack() || x.conversation < 0 {
			continue
		}
		begun[x.conversation] = true
	}
	for _, x := range s.x {
		if x.conversation < 0 || len(x.runs) == 0 {
			continue
		}
		if len(begun) > 1 {
			r.addObserved(1)
		}
		allowed, reported := x.ownConversations(), map[*exchange]bool{}
		for _, run := range x.runs {
			for i := run.from; i < run.to; i++ {
				it := &x.req.Items[i]
				from := onlyIssuer(issuers, x.Provider, it)
				if from != nil && !reported[from] && it.Continuity() && x.quotesSummaryOf(from) {
					reported[from] = true
					r.addFinding(x, it.Place, "",
						"the reasoning of exchange %d, which was asked beside the conversation or for a summary of it, stands in the conversation", from.Index).
						Consequence = specs.Degraded
				}
				// What came from another provider has been handed over, see SIG-018.
				if from == nil || from.Provider != x.Provider || from.conversation < 0 || allowed[from.conversation] ||
					reported[from] {
					continue
				}
				reported[from] = true
				r.addFinding(x, it.Place, "",
					"the reply of exchange %d, which was given to another conversation, stands in this one", from.Index)
			}
		}
	}
}

// quotesSummaryOf reports whether x can only quote the reply of from, a request beside the
// conversation or for a summary of it: x does not go on with that request.
func (x *exchange) quotesSummaryOf(from *exchange) bool {
	return from.Provider == x.Provider && (from.kind.isSide() || from.asksForSummary) && !x.holdsPrompt(from)
}

// ownConversations are the conversation of x and those whose replies it began with: a
// summary or an excerpt of another conversation may open one.
func (x *exchange) ownConversations() map[int]bool {
	own := map[int]bool{x.conversation: true}
	first := x
	for first.previous != nil && first.previous.n < first.n && first.previous.conversation == x.conversation {
		first = first.previous
	}
	for _, owners := range first.owners {
		for _, from := range owners {
			if from != nil {
				own[from.conversation] = true
			}
		}
	}
	return own
}

// markIssuers says which replies issued each id and token.
func (s *Trace) markIssuers() map[mark][]*exchange {
	issuers := map[mark][]*exchange{}
	for _, x := range s.x {
		for i := range x.reply.Items {
			for _, m := range marksOf(x.Provider, &x.reply.Items[i]) {
				if !slices.Contains(issuers[m], x) {
					issuers[m] = append(issuers[m], x)
				}
			}
		}
	}
	return issuers
}

// onlyIssuer returns the one reply that can have made the item, nil when there are
// several or none.
func onlyIssuer(issuers map[mark][]*exchange, provider string, it *wire.Item) *exchange {
	for _, m := range marksOf(provider, it) {
		if list := issuers[m]; len(list) == 1 {
			return list[0]
		}
	}
	return nil
}

// spawn is a call that gives a task: a long text in its arguments with which another
// conversation opens.
type spawn struct {
	by   *exchange
	call *wire.Item
	task string
}

// allSpawns lists the tasks in calls of whole replies, in order.
func (s *Trace) allSpawns() (list []spawn) {
	for _, x := range s.x {
		if !x.canBeSentBack() || x.kind.isSide() {
			continue
		}
		for it := range wire.Each(x.reply.Items) {
			if it.What == wire.Call {
				for _, task := range tasksIn(it.Args) {
					list = append(list, spawn{x, it, task})
				}
			}
		}
	}
	return list
}

// tasksIn lists the long texts in the arguments of a call.
func tasksIn(args string) (tasks []string) {
	doc, err := tree.Parse([]byte(args))
	if err != nil || !doc.Is(tree.Object) {
		return nil
	}
	for _, text := range doc.Texts() {
		if len(text) >= longText {
			tasks = append(tasks, strings.TrimSpace(text))
		}
	}
	return tasks
}

// agentRun is a conversation that opens with the task of a call.
type agentRun struct {
	start *exchange
	task  string
	calls []spawn // that gave the task before
}

// allAgentRuns lists the conversations that open with a task, in order. What is asked a
// second time is listed twice.
func (s *Trace) allAgentRuns(spawns []spawn) (list []agentRun) {
	for _, x := range s.x {
		if !x.asksForAnswer() || len(x.runs) > 0 || x.kind.isSide() || x.Missed {
			continue
		}
		run := agentRun{start: x, task: openingWords(x)}
		for _, sp := range spawns {
			if sp.task == run.task && sp.by.n < x.n && sp.by.Provider == x.Provider {
				run.calls = append(run.calls, sp)
			}
		}
		if run.calls != nil {
			list = append(list, run)
		}
	}
	return list
}

// finalAnswer returns the last words of the conversation that x starts and the exchange
// that has them; "" while it still calls tools, or said little.
func finalAnswer(x *exchange) (answer string, by *exchange) {
	for next := x; next != nil; {
		x, next = next, nil
		for _, f := range x.followers {
			if f.n > x.n && f.conversation == x.conversation && f.Process == x.Process && isAncestor(x, f) {
				next = f
			}
		}
	}
	if !x.canBeSentBack() {
		return "", x
	}
	var words []string
	for i := range x.reply.Items {
		switch it := &x.reply.Items[i]; it.What {
		case wire.Call:
			return "", x
		case wire.Text:
			words = append(words, strings.TrimSpace(it.Text))
		default: // says nothing
		}
	}
	if answer = strings.Join(words, "\n"); len(answer) < longText {
		return "", x
	}
	return answer, x
}

// answersReachTheirCall: the result of a call that started an agent does not hold the
// answer of another agent in place of its own.
func answersReachTheirCall(s *Trace, r *report) {
	answers := map[*wire.Item]string{} // by call
	var started []spawn
	for _, run := range s.allAgentRuns(s.allSpawns()) {
		if answer, _ := finalAnswer(run.start); answer != "" && len(run.calls) == 1 &&
			answers[run.calls[0].call] == "" {
			answers[run.calls[0].call] = answer
			started = append(started, run.calls[0])
		}
	}
	for _, sp := range started {
		x, result := s.resultOf(sp)
		if result == nil {
			continue
		}
		own, quoted := answers[sp.call], strings.Join(append(result.Node.Texts(), result.Text), "\n")
		for _, other := range started {
			if foreign := answers[other.call]; other.by == sp.by && other.call != sp.call && foreign != own {
				r.addObserved(1)
				if strings.Contains(quoted, foreign) && !strings.Contains(quoted, own) {
					r.addFinding(x, result.Place, "",
						"the call %s that started one agent is answered with what another one said, whose call is %s",
						sp.call.ID, other.call.ID)
				}
			}
		}
	}
}

// resultOf returns the first result of a call, and the request that holds it.
func (s *Trace) resultOf(sp spawn) (*exchange, *wire.Item) {
	for _, x := range s.x[sp.by.n+1:] {
		if x.conversation != sp.by.conversation {
			continue
		}
		for it := range wire.Each(x.req.Items) {
			if it.What == wire.Result && it.ID != "" && it.ID == sp.call.ID {
				return x, it
			}
		}
	}
	return nil, nil
}

// agentsStartOnce: a process that resumes does not start an agent again that had
// finished, unless another call asks for it.
func agentsStartOnce(s *Trace, r *report) {
	runs := s.allAgentRuns(s.allSpawns())
	for i, run := range runs {
		if answer, _ := finalAnswer(run.start); answer == "" {
			continue
		}
		if s.isResumedAfter(run.start.Process) {
			r.addObserved(1)
		}
		for _, again := range runs[i+1:] {
			if again.task == run.task && again.start.Process > run.start.Process && s.isResumed(again.start.Process) &&
				len(again.calls) == len(run.calls) {
				r.addFinding(again.start, wire.At(nil, ""), "",
					"the agent with this task had finished in the process before (exchange %d), and is started again",
					run.start.Index)
			}
		}
	}
}

func (s *Trace) isResumed(process int) bool {
	return process >= 0 && process < len(s.ev.Process) && s.ev.Process[process].Resumed
}

// isResumedAfter reports whether a later process goes on with the session.
func (s *Trace) isResumedAfter(process int) bool {
	for n := process + 1; n < len(s.ev.Process); n++ {
		if process >= 0 && s.isResumed(n) {
			return true
		}
	}
	return false
}

// agentsGetTheirTask: of calls that start agents in one reply, each agent gets the task
// of its own call. One task that two agents got, while that of another call is answered
// and nobody got it, was sent to the wrong one.
func agentsGetTheirTask(s *Trace, r *report) {
	spawns := s.allSpawns()
	runs := map[string][]agentRun{}
	for _, run := range s.allAgentRuns(spawns) {
		if again := run.start.kind == Retry && !run.start.previous.canBeSentBack(); !again {
			runs[run.task] = append(runs[run.task], run)
		}
	}
	for _, sp := range spawns {
		siblings := slices.DeleteFunc(slices.Clone(spawns), func(o spawn) bool {
			return o.by != sp.by || o.call == sp.call || o.call.Name != sp.call.Name || o.task == sp.task
		})
		if len(siblings) == 0 || len(runs[sp.task]) == 0 {
			continue
		}
		r.addObserved(1)
		for _, other := range siblings {
			twice := len(runs[sp.task]) > len(runs[sp.task][0].calls)
			if _, result := s.resultOf(other); twice && len(runs[other.task]) == 0 && result != nil && !result.IsError {
				again := runs[sp.task][1].start
				r.addFinding(again, wire.At(nil, ""), "",
					"two agents got the task of call %s, and none that of call %s, which is answered", sp.call.ID,
					other.call.ID)
			}
		}
	}
}
