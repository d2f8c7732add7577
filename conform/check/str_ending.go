package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// endingRules judge what an agent makes of a reply that did not end well
// (R30, R32, R34).
var endingRules = map[string]rule{
	"STR-007/partial-turn": partialTurn,
	"STR-008/exit-code":    exitCode,
	"STR-009/not-executed": notExecuted,
	"STR-010/exit-code":    unansweredExit,
	"STR-011/exit-code":    newExit,
}

// partialTurn: what a cut or failed stream brought is not history (D-32).
func partialTurn(s *Trace, r *report) {
	for i, x := range s.x {
		if x.reply.End != wire.Cut && x.reply.End != wire.Failed || len(x.reply.Items) == 0 {
			continue
		}
		for _, later := range s.x[i+1:] {
			if later.asksForAnswer() {
				r.addObserved(1)
				break
			}
		}
		for _, l := range x.sentBack {
			if x.Response.End == clientAbort && l.sent(l.items[0]).What == wire.Text {
				continue // the user has seen it and called the rest off
			}
			first, emitted, rule := l.sent(l.items[0]), x.reply.Items[0].Place, "§4"
			message, _, _ := strings.Cut(first.Place.Path, "]")
			at := placeOfRefusal(l.to).Path
			isIn := func(p pair) bool { return strings.HasPrefix(at, l.sent(p.q).Place.Path) }
			if at == message+"]" || slices.ContainsFunc(l.pairs, isIn) {
				rule = cmp.Or(l.to.refusal.Rule, rule)
			}
			f := r.addFinding(l.to, first.Place, rule, "%s of a %s stream is sent back as if the turn were whole (%s)",
				first.What, x.reply.End, emittedAt(x, emitted))
			if f.Emitted = emissionAt(x, emitted); f.Refusal != "" {
				f.Consequence = specs.Refused
			}
		}
	}
}

// exitCode: a process whose last reply never came whole did not succeed.
func exitCode(s *Trace, r *report) {
	s.judgeExits(r, func(x *exchange) bool { return x.reply.End == wire.Cut || x.reply.End == wire.Failed },
		func(x *exchange) string {
			if x.reply.Usable() {
				return ""
			}
			return "was " + x.reply.End.String()
		})
}

// judgeExits reports the processes that exit 0 although fails says something of their last reply, if
// isSuch holds for one of their replies. How a process with a negative code ended was not seen.
func (s *Trace) judgeExits(r *report, isSuch func(x *exchange) bool, fails func(x *exchange) string) {
	for n := range s.ev.Process {
		isSeen := slices.ContainsFunc(s.x, func(x *exchange) bool {
			return x.Process == n && x.asksForAnswer() && !x.kind.isSide() && isSuch(x)
		})
		if s.ev.Process[n].ExitCode < 0 || !isSeen {
			continue
		}
		r.addObserved(1)
		last := s.lastOfProcess(n)
		if why := fails(last); why != "" && s.ev.Process[n].ExitCode == 0 {
			r.addProcessFinding(n, "process %d exited 0 although its last reply (exchange %d) %s", n, last.Index, why)
		}
	}
}

// clientAbort is the end of a reply that the client itself broke off.
const clientAbort = "client_abort"

// unansweredExit: a process whose last reply is whole but not an answer did not succeed
// (R31). What an exit code means is for the agent to say.
func unansweredExit(s *Trace, r *report) {
	s.judgeExits(r, func(x *exchange) bool { return unansweredReason(x) != "" }, unansweredReason)
	for i := range r.Findings {
		if !s.ev.PromisesExit {
			r.Findings[i].Consequence = specs.Degraded
		}
	}
}

// unansweredReason says why a whole reply is not an answer, "" for one that is.
func unansweredReason(x *exchange) string {
	isRefused := func(it wire.Item) bool {
		return slices.ContainsFunc(it.Node.List("content"),
			func(part *tree.Node) bool { return part.Text("type") == "refusal" })
	}
	switch stop := x.reply.Stop; {
	case !x.reply.Usable():
		return ""
	case x.wire.Has(wires.ItemList) && slices.ContainsFunc(x.reply.Items, isRefused):
		return "is a refusal"
	case slices.Contains(x.wire.Stops.Unanswered, stop):
		return "ended with " + stop
	}
	return ""
}

// cutStops are those of them after which the model can go on with what it said.
var cutStops = []string{"max_tokens", "model_context_window_exceeded", "pause_turn", "incomplete", "MAX_TOKENS"}

// notExecuted: a call whose arguments are not a JSON object, or that a cut left
// unfinished, was not run: its result says so (D2, R29, R30). On Anthropic the mark is part
// of saying so, unless the agent put another tool in the place of the one that was called.
func notExecuted(s *Trace, r *report) {
	s.eachPair("", wire.Call, func(l *link, p pair, was, is *wire.Item) {
		malformed := !isRunnable(was) || l.from.reply.Stop == "MALFORMED_FUNCTION_CALL"
		if !malformed {
			return // nothing could go wrong
		}
		for q := l.items[len(l.items)-1] + 1; q < len(l.to.req.Items) && !l.sent(q).Model(); q++ {
			res := l.sent(q)
			if res.What != wire.Result || !res.Answers(is) {
				continue
			}
			r.addObserved(1)
			switch wasReplaced := is.Name != was.Name; {
			case res.IsMarkedError(), readsLikeError(res) && (wasReplaced || !l.to.wire.Has(wires.MarksErrors)):
			case readsLikeError(res):
				r.addChange(l, res.Place, was.Place, "R29",
					"tool call %s arrived with malformed arguments, and its result, which reads like an error, is not marked with is_error", is.Label()).Consequence = specs.Degraded
			default:
				r.addChange(l, res.Place, was.Place, "R29",
					"tool call %s arrived with malformed arguments and is answered as if it had run", is.Label())
			}
		}
	})
}

// errorWords are what a result that reports a failure is likely to say.
var errorWords = []string{"error", "invalid", "malformed", "fail", "could not", "cannot", "not valid", "unable", "pars",
	"incomplete", "truncated", "missing", "required", "not run", "not executed", "refused", "denied"}

// readsLikeError reports whether what a result holds speaks of a failure.
func readsLikeError(res *wire.Item) bool {
	held := res.Held()
	return held != nil && containsAny(strings.ToLower(held.Raw()), errorWords)
}

// newExit: a process does not fail because its last reply, which is whole, holds something
// of a type that is not documented yet. Providers add types without a new version of their
// API (platform.claude.com/docs/en/api/versioning).
func newExit(s *Trace, r *report) {
	for n := range s.ev.Process {
		last, exit := s.lastOfProcess(n), s.ev.Process[n].ExitCode
		if last == nil || exit < 0 || !last.reply.Usable() || unansweredReason(last) != "" {
			continue
		}
		what := newIn(last)
		if what == "" {
			continue
		}
		r.addObserved(1)
		if hasFailed(exit) {
			r.addProcessFinding(n, "process %d exited %d after a reply (exchange %d) that is whole and holds %s",
				n, exit, last.Index, what)
		}
	}
}

// signalled is the exit code from which shells report the signal that ended a process.
const signalled = 128

// hasFailed reports whether an exit code is one that a program chose, other than success.
func hasFailed(exit int) bool { return exit > 0 && exit < signalled }

// lastOfProcess is the last request of the main conversation that a process sent, nil for
// none.
func (s *Trace) lastOfProcess(n int) *exchange {
	for _, x := range slices.Backward(s.x) {
		if x.Process == n && x.asksForAnswer() && !x.kind.isSide() && !x.isOnSideBranch() {
			return x
		}
	}
	return nil
}

// isOnSideBranch reports whether x, or a request of its process that it goes on from, asks on
// the side.
func (x *exchange) isOnSideBranch() bool {
	for q := x; q != nil && q.Process == x.Process; q = q.previous {
		if q.beginsSideBranch() {
			return true
		}
	}
	return false
}

// newIn names what in a reply is of a type that is not documented, "" if nothing is.
func newIn(x *exchange) string {
	var list []string
	add := func(what, name string) {
		if text := fmt.Sprintf("%s of the new type %q", what, name); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, e := range x.reply.Events {
		if e.JSON != nil && !isKnownEvent(x.wire, e) {
			add("an event", newName(e.JSON))
		}
	}
	for it := range wire.Each(x.reply.Items) {
		if it.What == wire.Opaque && !isKnownItem(x.wire, it) {
			add("a block", newName(it.Begun()))
		}
	}
	return strings.Join(list, " and ")
}

// newName is the type of a node, or the name of its first member.
func newName(n *tree.Node) string {
	if t := n.Text("type"); t != "" {
		return t
	}
	if n != nil && len(n.Names()) > 0 {
		return n.Names()[0]
	}
	return ""
}

// openAIEvents are what the types of OpenAI's events begin with, after "response."
// (reference §3.2).
var openAIEvents = []string{"created", "queued", "in_progress", "completed", "incomplete", "failed", "output_item.",
	"content_part.",
	"output_text.", "refusal.", "reasoning", "function_call_arguments.", "custom_tool_call_input.", "mcp_",
	"compaction.", "audio."}

// geminiChunk are the members of a chunk, of which each has one (reference §3.3).
var geminiChunk = []string{"candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata",
	"modelVersion", "model_version",
	"responseId", "response_id", "createTime", "create_time", "modelStatus", "model_status", "error"}

func isKnownEvent(w *wires.Wire, e wire.StreamEvent) bool {
	switch t := e.Type(); {
	case w.Has(wires.Blocks):
		return slices.Contains(w.Events, t)
	case w.Has(wires.ItemList):
		name, isResponse := strings.CutPrefix(t, "response.")
		return !isResponse || strings.Contains(name, "_call") ||
			slices.ContainsFunc(openAIEvents, func(known string) bool { return strings.HasPrefix(name, known) })
	}
	return !w.Has(wires.Contents) || !e.JSON.Is(tree.Object) || e.JSON.Any(geminiChunk...) != nil
}

// The opaque items that are documented, by provider. The results and calls of hosted tools
// are known by their endings.
var (
	anthropicBlocks = []string{"server_tool_use", "mcp_tool_use", "container_upload", "compaction", "fallback",
		"tool_addition", "tool_removal", "mcp_tool_listing"}
	openAIItems     = []string{"compaction", "compaction_summary", "mcp_list_tools", "mcp_approval_request", "program"}
	geminiPartNames = []string{"text", "thoughtSignature", "thought_signature", "executableCode", "executable_code",
		"codeExecutionResult", "code_execution_result",
		"toolCall", "tool_call", "toolResponse", "tool_response"}
)

func isKnownItem(w *wires.Wire, it *wire.Item) bool {
	switch {
	case w.Has(wires.Blocks):
		return slices.Contains(anthropicBlocks, it.Type) || strings.HasSuffix(it.Type, "_tool_result")
	case w.Has(wires.ItemList):
		return slices.Contains(openAIItems, it.Type) || strings.HasSuffix(it.Type, "_call") ||
			strings.HasSuffix(it.Type, "_output")
	}
	return !w.Has(wires.Contents) || len(it.Begun().Names()) == 0 || it.Begun().Any(geminiPartNames...) != nil
}
