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
	"unicode/utf8"

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
		return Reply{}, s.checkExpectation(req, -1,
			fmt.Sprintf("a conversation for one of its %s", countWord(len(s.Scenario.Turns), "turn")),
			fmt.Sprintf("one that holds %s of the model and %s", countWord(req.Turns, "turn"),
				countWord(req.Prompts, "prompt")))
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
	return s.answerTurn(req, i, asked, func() int {
		if turn.Refuse != nil || turn.Times > 0 {
			return s.Attempts.countAttempt(req, i)
		}
		return 0
	})
}

// answerTurn is turn i as an answer to req, or the search for its tool before it. A fault that happened often enough
// is left out.
func (s *Script) answerTurn(req Request, i int, asked Intent, countAttempt func() int) (Reply, *Refusal) {
	if search, ok := s.searchFirst(req, i, asked); ok {
		reply := Generated(req, nil, "", s.Key, s.Now())
		reply.Blocks, reply.Stop = searchBlocks(req, search), specs.StopTool
		return reply, nil
	}
	blocks, refusal := s.resolveBlocks(req, i, asked)
	if refusal != nil {
		return Reply{}, refusal
	}
	turn, attempt := s.Scenario.Turns[i], countAttempt()
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
	}, nil
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

// fitLimit is as much of blocks as limit tokens hold, and why it ends there: ""
// when all of it fits. A limit of 0 is none. A thought is kept whole or counts
// as much as there is; nothing behind it is left then.
func fitLimit(blocks []specs.Block, limit int) ([]specs.Block, specs.Stop) {
	if limit <= 0 {
		return blocks, ""
	}
	var out []specs.Block
	for _, b := range blocks {
		cost, _ := Reply{Blocks: []Block{{Kind: b.Kind, Parts: b.Parts, Text: b.Text, Name: b.Role,
			Args: b.Args}}}.OutputTokens()
		if cost <= limit {
			out, limit = append(out, b), limit-cost
			continue
		}
		if b, ok := shortenText(b, limit); ok {
			out = append(out, b)
		}
		return out, specs.StopMaxTokens
	}
	return out, ""
}

// shortenText is the beginning of a block that so many tokens hold; false when
// that is nothing.
func shortenText(b specs.Block, limit int) (specs.Block, bool) {
	room := 4 * (limit - 4)
	switch b.Kind {
	case specs.KindThinking:
		text := firstTokens(strings.Join(b.Parts, "\n\n"), max(1, 4*(limit-16)))
		b.Parts = []string{text}
		return b, text != ""
	case specs.KindCall:
		room -= 4 * Tokens(b.Role)
		b.Args = []byte(firstTokens(string(b.Args), min(room, len(b.Args)-1)))
		b.Partial = true
		return b, room > 0 && len(b.Args) > 0
	default:
		b.Text = strings.TrimRight(firstTokens(b.Text, room), " ")
		return b, b.Text != ""
	}
}

// firstTokens is at most n bytes of text, whole characters.
func firstTokens(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(0, n)]
}

// Mismatch is a request that its scenario did not expect. The client gets what
// Error returns, in the provider's error envelope, and Config.Mismatch of the
// simulator is called.
type Mismatch struct {
	// Scenario is its name, Provider the one that was asked.
	Scenario, Provider string
	// Turn counts from 1; 0 when none answers the request. Line is where it
	// stands in the scenario's file, 0 with Turn.
	Turn, Line int
	// Expected and Got complete "expected …" and "got …".
	Expected, Got string
	// NoTools says that the request offers no tool at all, where a turn calls one. The
	// client was answered, without the call.
	NoTools bool
}

// Error names the scenario and the turn, then what was expected.
func (m *Mismatch) Error() string {
	at := fmt.Sprintf("scenario %s", m.Scenario)
	if m.Turn > 0 {
		at += fmt.Sprintf(", turn %d (line %d)", m.Turn, m.Line)
	}
	return fmt.Sprintf("%s: expected %s, got %s", at, m.Expected, m.Got)
}

// checkExpectation is the refusal of a request that turn i did not expect, -1 for none.
func (s *Script) checkExpectation(req Request, i int, expected, got string) *Refusal {
	m := &Mismatch{Scenario: s.Scenario.Name, Provider: req.Provider, Expected: expected, Got: got}
	if i >= 0 {
		m.Turn, m.Line = i+1, s.Scenario.Turns[i].Line
	}
	return &Refusal{Kind: RefuseInvalid, Message: m.Error(), Mismatch: m}
}

// newMismatch holds the request against what turn i expects of it; nil when it
// holds all of that.
func (s *Script) newMismatch(req Request, i int, asked Intent) *Refusal {
	e := s.Scenario.Turns[i].Expect
	if e == nil {
		return nil
	}
	if want := specs.Fresh(e.Prompt, s.Seed); !strings.Contains(asked.Prompt, want) {
		return s.checkExpectation(req, i, fmt.Sprintf("a prompt with %q", want), excerptOf(asked.Prompt))
	}
	if e.Results == nil {
		return nil
	}
	if len(e.Results) != len(asked.Results) {
		return s.checkExpectation(req, i, countWord(len(e.Results), "result"), countWord(len(asked.Results), "result"))
	}
	for n, part := range e.Results {
		want, got := specs.Fresh(part, s.Seed), asked.Results[n]
		if !strings.Contains(got.Result, want) {
			return s.checkExpectation(req, i, fmt.Sprintf("%q in result %d, of %s", want, n+1, got.Name),
				excerptOf(got.Result))
		}
	}
	return nil
}

func countWord(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// excerptOf is the beginning of a text, quoted.
func excerptOf(text string) string {
	const most = 120
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
