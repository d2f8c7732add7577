package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/wire"
)

// modelRules judge which models are asked (R41).
var modelRules = map[string]rule{
	"MOD-001/allowed":    modelAllowed,
	"MOD-002/constant":   modelConstant,
	"MOD-003/no-traffic": refusedModelSilent,
	"BET-004/same-betas": betasStay,
}

// knowsModels reports whether it is known which models the agent may ask for. Somebody
// else's recording does not say.
func (s *Trace) knowsModels() bool {
	return s.ev.Models != nil || s.ev.Source != evidence.SourceRecording
}

func (s *Trace) allowsModel(model string) (bool, string) {
	policy, err := s.ev.Models, error(nil)
	if policy == nil {
		policy, err = specs.Models()
	}
	if err != nil {
		return false, err.Error()
	}
	return policy.Allows(strings.TrimPrefix(model, "models/"))
}

func modelAllowed(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		model := x.modelAsked()
		if !s.knowsModels() || s.ev.Models == nil && x.wire.Scripts.ByClient { // the built-in list is of rkat's models
			return
		}
		r.addObserved(1)
		if ok, why := s.allowsModel(model); !ok {
			r.addFinding(x, modelPlace(x), "", "model %q is not on the allowlist: %s", model, why)
		}
	})
}

func modelPlace(x *exchange) wire.Place { return wire.At(x.req.Doc.Get("model"), "model") }

// modelConstant: within one conversation the model changes only if the process
// that asks was started with the new one. Of somebody else's recording it is known
// only that a process resumed: what its user asked for is not.
func modelConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := then.req.Model, now.req.Model
		if was == "" || is == "" || !s.knowsModels() && !s.isResumption(then, now) {
			return
		}
		r.addObserved(1)
		switch {
		case was == is:
		case !s.knowsModels():
			r.addFinding(now, modelPlace(now), "",
				"the conversation was with %q until exchange %d and is resumed with %q", was, then.Index,
				is).Consequence = specs.Degraded
		case !s.isModelDeclared(now.Process, is):
			r.addFinding(now, modelPlace(now), "",
				"the conversation was with %q until exchange %d and is now with %q, which was not asked for", was,
				then.Index, is)
		}
	})
}

// isResumption reports whether now belongs to a process that resumed what the process
// of then began.
func (s *Trace) isResumption(then, now *exchange) bool {
	n := now.Process
	return then.Process >= 0 && then.Process < n && n < len(s.ev.Process) && s.ev.Process[n].Resumed
}

// isModelDeclared reports whether somebody asked for the model: the command line of
// process n, or the allowlist that was given for a recording.
func (s *Trace) isModelDeclared(n int, model string) bool {
	if slices.Contains(declaredModels(s.ev, n), model) {
		return true
	}
	ok, _ := s.allowsModel(model)
	return ok && s.ev.Source == evidence.SourceRecording
}

// declaredModels returns the models the arguments of process n name.
func declaredModels(ev *evidence.Evidence, n int) (models []string) {
	if n < 0 || n >= len(ev.Process) {
		return nil
	}
	args := ev.Process[n].Args
	for i, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		switch {
		case flag != "--model" && flag != "-m":
		case joined:
			models = append(models, value)
		case i+1 < len(args):
			models = append(models, args[i+1])
		}
	}
	return models
}

// refusedModelSilent: a process told to use a model outside the allowlist says
// so, fails, and sends nothing.
func refusedModelSilent(s *Trace, r *report) {
	for n := range s.ev.Process {
		for _, model := range declaredModels(s.ev, n) {
			ok, why := s.allowsModel(model)
			if ok {
				continue
			}
			r.addObserved(1)
			p := &s.ev.Process[n]
			if p.ExitCode == 0 {
				r.addProcessFinding(n,
					"process %d was told to use %q, which is not on the allowlist (%s), and exited 0", n, model, why)
			}
			if !strings.Contains(string(p.Stderr), model) {
				r.addProcessFinding(n, "process %d refuses %q without naming it on stderr", n, model)
			}
			for _, x := range s.x {
				if x.Process == n {
					r.addFinding(x, modelPlace(x), "",
						"process %d was told to use %q, which is not on the allowlist, and sent a request", n, model)
				}
			}
		}
	}
}

// addProcessFinding adds a finding about a process rather than an exchange.
func (r *report) addProcessFinding(n int, format string, args ...any) *Finding {
	r.Findings = append(r.Findings, Finding{Check: r.check, Exchange: -1, Event: -1, Offset: -1,
		Path: fmt.Sprintf("process[%d]", n), Message: fmt.Sprintf(format, args...), Form: format})
	return &r.Findings[len(r.Findings)-1]
}

// turnBetas are betas, without their dates, that decide how a turn goes on: whether the
// model thinks between calls, and how much it can read. Others come and go with the
// members that they belong to.
var turnBetas = []string{"interleaved-thinking-", "context-1m-"}

// betasStay: a turn goes on with the betas that it began with.
func betasStay(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := then.seen.Betas, now.seen.Betas
		if len(was) == 0 || is == nil || then.turn != now.turn || now.atOtherHost() || then.req.Model != now.req.Model {
			return
		}
		for _, b := range was {
			if !slices.ContainsFunc(turnBetas, func(prefix string) bool { return strings.HasPrefix(b, prefix) }) {
				continue
			}
			r.addObserved(1)
			if !slices.Contains(is, b) {
				r.addFinding(now, wire.At(nil, "anthropic-beta"), "",
					"the turn began with the beta %q, which its next request does not ask for (exchange %d)",
					cutText(b, 60), then.Index)
			}
		}
	})
}

// budgetRules judge that an agent stops where its budget ends.
var budgetRules = map[string]rule{
	"BUD-001/turns":      turnsWithinLimit,
	"BUD-002/same-bytes": shortReplyAskedAgain,
}

// turnsWithinLimit: a process that may call the model n times does not go on after the
// nth reply. Retries, sub-agents and requests beside the conversation do not count.
func turnsWithinLimit(s *Trace, r *report) {
	limit := s.ev.Limits.Turns
	if limit == 0 {
		return
	}
	replies, reported := map[int]int{}, map[int]bool{}
	for _, x := range s.x {
		if x.kind != Main && x.kind != Fork && x.kind != Compacted && x.kind != Retry || x.isAgentTask() {
			continue
		}
		r.addObserved(1)
		if replies[x.Process] >= limit && !reported[x.Process] {
			reported[x.Process] = true
			r.addFinding(x, wire.At(nil, ""), "",
				"the process may call the model %d times, and asks again after %d replies", limit, replies[x.Process])
		}
		if x.canBeSentBack() {
			replies[x.Process]++
		}
	}
}

// isAgentTask reports whether x belongs to the conversation of a sub-agent.
func (x *exchange) isAgentTask() bool {
	for x.previous != nil && x.previous.n < x.n && x.kind != SubAgent {
		x = x.previous
	}
	return x.kind == SubAgent
}

// shortReplyAskedAgain: a reply that its budget of tokens cut off is not asked for again
// with the same request, because it ends at the same place. What counts is the next
// request of the process: the reaction to that reply.
func shortReplyAskedAgain(s *Trace, r *report) {
	isShort := func(x *exchange) bool { return x.reply.Usable() && x.isCutByBudget() }
	s.eachReaction(isShort, func(x, later *exchange, isRepeated bool) {
		r.addObserved(1)
		if isRepeated {
			r.addFinding(later, wire.At(nil, ""), "",
				"the request is, byte for byte, the one of exchange %d, whose reply ended at its limit of tokens",
				x.Index)
		}
	})
}

// eachReaction calls f for every exchange that ended in a way and the next request of its
// process, and says whether that is the same again.
func (s *Trace) eachReaction(ended func(x *exchange) bool, f func(x, later *exchange, isRepeated bool)) {
	times := map[*exchange]int{}
	for _, x := range s.x {
		if !x.asksForAnswer() || !ended(x) {
			continue
		}
		for _, later := range s.x[x.n+1:] {
			if later.asksForAnswer() && later.Provider == x.Provider && later.Process == x.Process {
				if isRepetition(x, later) {
					times[later] = times[x] + 1
				}
				f(x, later, times[later] > later.unrelated())
				break
			}
		}
	}
}

// isCutByBudget reports whether the reply says that its limit of tokens ended it: by
// stop_reason, incomplete_details or finishReason.
func (x *exchange) isCutByBudget() bool {
	stops := &x.wire.Stops
	return stops.Budget != "" && x.reply.Stop == stops.Budget &&
		strings.Contains(string(x.Response.Body), stops.BudgetWord)
}
