// Package check holds the checks of the referee: pure functions from evidence
// to findings.
//
// Evidence is decoded once with [Decode]; the [Trace] it returns is immutable
// and goes to as many checks as the caller likes:
//
//	trace := check.Decode(&ev)
//	for _, c := range check.All() {
//		for _, f := range c.Run(trace).Findings {
//			fmt.Println(c.ID, f.Exchange, f.Path, f.Message)
//		}
//	}
//
// A [Check] judges one aspect of one requirement of package specs; its [Result]
// counts the places where the rule could have been broken and lists every
// [Finding]. Package report turns results into verdicts.
//
// # How a request is matched with earlier replies
//
// A request repeats what the model said before. Each run of model items between two
// of the client's is matched with the replies that emitted it, by evidence:
//
//	request 2                            replies
//	─────────────────────────────        ─────────────────────────────────────────
//	user   "Look at a."
//	model  thinking #sigA          ◀──── exchange 0: same token            1. ids,
//	       call call_1 read(a)     ◀──── exchange 0: same id                  tokens
//	user   result call_1
//	model  "It says heron."        ◀──── exchange 1: same content, and the 2. content
//	                                     client said the same before it       in context
//	user   "Go on."
//	model  "Invented words."       ◀──── exchange 2: nothing else can      3. position
//	                                     stand after exchange 1
//	user   "Thanks."
//
// What one step finds is not taken back by the next (matcher.matchRequest), and a run
// that nobody recorded stays without a reply: a recording may begin in the middle of
// a session, and users repeat themselves word by word. Ids and tokens that differ on
// both sides forbid a match in an opening that nothing else identifies. Within a
// match, items are paired the same way (link.alignItems), so that an altered block is
// compared with what it was.
//
// The match also says which exchange a request continues, and with that which
// conversation it belongs to and what part it has there ([Trace.Placements]): a
// retry, a fork, a sub-agent, or a request beside the conversation, such as one for
// a title, whose links are not judged. The rules have names (linkRule), and
// testdata/transcripts shows each of them: without it, a transcript comes out different.
//
// The checks read bytes with the decoders of wires/wire and share none with
// any agent: a bug that is on both sides would stay unseen. They keep no state
// between calls, read no clock and no file, and give the same result for the
// same evidence.
package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
)

// Check judges one aspect of one requirement.
type Check struct {
	// ID is "AREA-NNN/aspect", e.g. "SIG-001/signature-bytes".
	ID string
	// Requirement is the AREA-NNN it belongs to.
	Requirement string
	// Source is set when only the provider, a gateway or the recorder can break the
	// rule: a finding speaks of where the traffic came from, not of the agent.
	Source bool
	// Run judges a trace. It is deterministic and may be called concurrently.
	Run func(t *Trace) Result
}

// Result is what a Check found. Observed counts the places where the rule could
// have been broken: a result with Observed 0 proves nothing.
type Result struct {
	Observed int
	Findings []Finding
	// Unseen says why nothing was observed, where more is known about it.
	Unseen string
}

// Finding is one breach as a check reports it: where it is, which rule it breaks, how to fix it.
type Finding = decide.Finding

// rule is the body of a check: it reads a trace and reports.
type rule func(*Trace, *report)

// All returns every check in order of id. The slice is the caller's.
func All() []Check {
	var all []Check
	byWire := aspectRules()
	for _, area := range []map[string]rule{pairingRules, replayRules, anthropicRules, openAIRules, geminiRules,
		originRules, modelRules, resumeRules, endingRules, cassetteRules, errorRules, opaqueRules, schemaRules,
		redactorRules, toolRules, continuationRules, cacheRules,
		compactionRules, serverToolRules, recoveryRules, operationRules, budgetRules} {
		for id, run := range area {
			if judged := byWire[id]; judged != nil {
				run = inOrder(run, judged)
				delete(byWire, id)
			}
			all = append(all, newCheck(id, run))
		}
	}
	for id, run := range byWire {
		all = append(all, newCheck(id, run))
	}
	for id, run := range replyAspects() {
		c := newCheck(id, run)
		c.Source = true
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// inOrder is a check of several parts.
func inOrder(parts ...rule) rule {
	return func(t *Trace, r *report) {
		for _, run := range parts {
			run(t, r)
		}
	}
}

func newCheck(id string, run rule) Check {
	requirement, _, _ := strings.Cut(id, "/")
	stated, _ := specs.FindRequirement(requirement) // a check that belongs to none is reported with the catalogue
	return Check{ID: id, Requirement: requirement, Run: func(t *Trace) Result {
		if t.panicked != nil {
			panic(t.panicked)
		}
		r := report{check: id}
		run(t, &r)
		for i := range r.Findings {
			f := &r.Findings[i]
			f.Fix = stated.FixOf(id, f.Rule, f.Message)
			if f.Rule != "" && t.ruleRefused(f.Exchange) == f.Rule {
				f.Consequence = specs.Refused // whatever a breach of the rule leads to elsewhere
			}
		}
		return r.Result
	}}
}
