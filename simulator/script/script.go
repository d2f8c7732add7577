// Package script turns the provider's side of a scenario into replies.
//
// A [Script] holds a scenario. [Script.Reply] decides which turn answers a
// [Request] and resolves what the turn says there into a [Reply]. The [Simulation] of
// a wire knows how a reply looks there, and [Simulation.PlanReply] arranges the
// bytes into the writes of a [Plan]. Without a
// scenario, [AutoReply] makes a reply from the [Intent] of the request.
//
// The package promises: a reply is a function of its request and the seed. What
// a real provider draws at random depends on the seed only.
package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Form is how a reply is framed.
type Form uint8

// The forms: server-sent events, one JSON document, and Gemini's stream
// without alt=sse, a JSON array in pieces (reference §1.3).
const (
	FormSSE Form = iota
	FormUnary
	FormArray
)

// Request is what a script needs to know of a model call.
type Request struct {
	Provider string
	Model    string
	Form     Form
	// Turns counts the provider's own turns in the request.
	Turns int
	// Continues says that the request ends with the provider's own words, which
	// it is to go on with.
	Continues bool
	// Prompts counts the messages in which the user said something.
	Prompts int
	// Tools are the names of the tools it offers, in order.
	Tools []string
	// Thinks says that the model thinks at all under the request's settings,
	// Shown that the text of its thoughts is shown.
	Thinks, Shown bool
	// IssuesTokens says that continuity tokens are handed out; OpenAI does so on
	// request only.
	IssuesTokens bool
	// Account is whose key the request carries (seal.Account).
	Account string
	Body    []byte
	// Document is Body, parsed; nil when it has not been parsed.
	Document *tree.Node
	// Parsed is what the Provider has read of the request, for its own Frames.
	Parsed any
}

// Refusal is a request the script does not answer with a reply. Kind is one of
// the Refuse constants; every provider has its own status and words for it.
type Refusal struct {
	Kind    string
	Message string
	// Mismatch says what a script expected, when that is the reason.
	Mismatch *Mismatch
}

// The kinds of refusals.
const (
	RefuseInvalid    = "invalid"
	RefuseAuth       = "auth"
	RefuseModel      = "model"
	RefuseOverloaded = "overloaded"
	RefuseServer     = "server"
)

// Error returns the kind and the message.
func (r *Refusal) Error() string { return r.Kind + ": " + r.Message }

// Invalid returns a Refusal of a malformed request.
func Invalid(format string, args ...any) *Refusal {
	return &Refusal{Kind: RefuseInvalid, Message: fmt.Sprintf(format, args...)}
}

// Script is the provider's side of one scenario, for every provider. It is
// read-only and safe for concurrent use.
type Script struct {
	Scenario *specs.Scenario
	// Seed is that of the nonces.
	Seed string
	Key  seal.Key
	// Now is the provider's clock.
	Now func() time.Time
	// AnyModel answers whatever model is asked for, not only that of the target.
	AnyModel bool
	// Attempts remembers what was turned down; nil turns down for ever.
	Attempts *Attempts
	// Intent reads what a request wants, for turns that depend on it. Nil finds
	// nothing.
	Intent func(Request) Intent
	// OwnTools are the client's own tools by role, for a lenient scenario and a
	// client that is not given ours.
	OwnTools map[string]string
	// Mismatch, if not nil, is called for a client without tools.
	Mismatch func(*Mismatch)
}

// Reply resolves the turn that answers req. Errors are *Refusal.
func (s *Script) Reply(req Request) (Reply, *Refusal) {
	if s.Scenario.IsLenient && s.Intent != nil {
		return s.replyLeniently(req)
	}
	target, ok := s.Scenario.Target(req.Provider)
	if !ok {
		return Reply{}, s.checkExpectation(req, -1, "a request for "+s.turnFor(), "one for "+req.Provider)
	}
	if req.Model != target.Model && !s.AnyModel {
		refusal := s.checkExpectation(req, -1, "the model "+target.Model, req.Model)
		refusal.Kind, refusal.Message = RefuseModel, req.Model
		return Reply{}, refusal
	}
	req = s.withoutOpening(req)
	var asked Intent
	searching := s.Intent != nil && slices.ContainsFunc(req.Tools, IsToolSearch)
	if searching {
		asked = s.Intent(req)
		req.Turns -= asked.Searches
	}
	i := pickTurn(s.Scenario.Turns, s.agentOf(req), req)
	if i < 0 {
		return Reply{}, s.checkExpectation(req, -1, fmt.Sprintf("a conversation for one of its %s", countWord(len(s.Scenario.Turns), "turn")),
			fmt.Sprintf("one that holds %s of the model and %s", countWord(req.Turns, "turn"), countWord(req.Prompts, "prompt")))
	}
	turn := s.Scenario.Turns[i]
	if s.Intent != nil && !searching && (turn.Expect != nil || slices.ContainsFunc(turn.Emit, func(b specs.Block) bool {
		return b.Fill != "" || b.Role == roleAny || b.Kind == specs.KindSearch || b.Kind == specs.KindCode
	})) {
		asked = s.Intent(req)
	}
	if refusal := s.newMismatch(req, i, asked); refusal != nil {
		return Reply{}, refusal
	}
	if search, ok := s.searchFirst(req, i, asked); ok {
		reply := Generated(req, nil, "", s.Key, s.Now())
		reply.Blocks, reply.Stop = searchBlocks(req, search), specs.StopTool
		return reply, nil
	}
	blocks, refusal := s.resolveBlocks(req, i, asked)
	if refusal != nil {
		return Reply{}, refusal
	}
	attempt := 0
	if turn.Refuse != nil || turn.Times > 0 {
		attempt = s.Attempts.countAttempt(req, i)
	}
	return s.newReply(req, i, blocks, attempt), nil
}

// newReply is turn i as an answer to req. A fault that happened often enough is left
// out.
func (s *Script) newReply(req Request, i int, blocks []Block, attempt int) Reply {
	turn := s.Scenario.Turns[i]
	if turn.Times > 0 && attempt >= turn.Times {
		turn.Cut, turn.Fail, turn.Stall = nil, nil, nil
	}
	if turn.Refuse != nil && !holdsText(req, specs.Fresh(turn.Refuse.Holds, s.Seed)) {
		turn.Refuse = nil
	}
	return Reply{
		Request: req, Turn: turn, Ordinal: i, Blocks: blocks, Stop: stopOf(turn, blocks),
		Seed: replySeed(s.Scenario.Name+"/"+req.Provider, attempt), Key: s.Key, At: s.Now(),
		Attempt: attempt,
	}
}

// replySeed makes the ids and tokens of each attempt different. Clients put together
// what came under one id, and a provider never issues the same id twice.
func replySeed(seed string, attempt int) string {
	if attempt == 0 {
		return seed
	}
	return seed + "/" + strconv.Itoa(attempt)
}

// turnFor names the providers that the scenario has a target for.
func (s *Script) turnFor() string {
	var names []string
	for _, t := range s.Scenario.Targets {
		names = append(names, t.Provider)
	}
	return strings.Join(names, " or ")
}

// agentOf returns what the turns of the sub-agent that sends req are marked with, "" for
// the agent that the user talks to: the task stands in the first thing that is said.
func (s *Script) agentOf(req Request) string {
	isAgents := func(t specs.Turn) bool { return t.Agent != "" }
	if s.Intent == nil || !slices.ContainsFunc(s.Scenario.Turns, isAgents) {
		return ""
	}
	said := s.Intent(req).Messages
	for _, t := range s.Scenario.Turns {
		if isAgents(t) && len(said) > 0 && strings.Contains(said[0].Text, specs.Fresh(t.Agent, s.Seed)) {
			return t.Agent
		}
	}
	return ""
}

// withoutOpening leaves out of the counts what a client puts before the first prompt of the
// scenario and answers in the model's name, such as a context: no turn answers that. What it
// does not answer stays, because a summary stands there too, in the place of prompts.
func (s *Script) withoutOpening(req Request) Request {
	if s.Intent == nil || req.Turns == 0 || len(s.Scenario.Steps) == 0 {
		return req
	}
	prompt := specs.Fresh(s.Scenario.Steps[0].Prompt, s.Seed)
	said := s.Intent(req).Messages
	first := slices.IndexFunc(said, func(m Message) bool { return strings.Contains(m.Text, prompt) })
	opening := said[:max(first, 0)]
	if !slices.ContainsFunc(opening, func(m Message) bool { return len(m.Turns) > 0 }) {
		return req
	}
	for _, m := range opening {
		req.Turns -= len(m.Turns)
		if m.Text != "" {
			req.Prompts--
		}
	}
	return req
}

// pickTurn returns the index of the turn of an agent that answers req, -1 if none does. The turn
// behind one that paused goes on with it: it answers a request that ends with
// the provider's own words, and clients send both as one turn from then on.
func pickTurn(turns []specs.Turn, agent string, req Request) int {
	found, ordinal, goesOn, paused := -1, -1, false, false
	for i, t := range turns {
		if t.Agent != agent {
			continue
		}
		if t.Prompts == 0 {
			wentOn := goesOn
			if goesOn = paused; goesOn || !wentOn {
				ordinal++
			}
		}
		paused = t.Stop == specs.StopPause
		if ordinal != req.Turns || t.Prompts > req.Prompts || goesOn && !req.Continues {
			continue
		}
		if found < 0 || t.Prompts > 0 || !req.Continues {
			found = i
		}
	}
	return found
}

func stopOf(t specs.Turn, blocks []Block) specs.Stop {
	if t.Stop != "" {
		return t.Stop
	}
	for _, b := range blocks {
		if b.Kind == specs.KindCall {
			return specs.StopTool
		}
	}
	return specs.StopEnd
}

// Runs counts the maximal runs of true: adjacent messages of one side are one
// turn.
func Runs(own []bool) int {
	n := 0
	for i, is := range own {
		if is && (i == 0 || !own[i-1]) {
			n++
		}
	}
	return n
}
