// Package simulator imitates the HTTP APIs of Anthropic, OpenAI and Gemini, and Chat Completions, so
// that an agent can be tested without a network, a key or costs.
//
// [New] returns an http.Handler from a [Config]. [Open] serves a handler on
// loopback behind a [ListenConfig], with TLS if asked for:
//
//	scenarios, err := specs.Scenarios()
//	server, err := simulator.Start("", simulator.New(simulator.Config{Scenario: scenarios[0], Seed: "1"}))
//	defer server.Close()
//	// point the agent at server.URL
//
// One address answers for all wires that package wires/all registers. The simulator checks a request
// by the rules of its provider ([Rules] lists them) and refuses what the real
// API refuses, in its words. It answers an accepted request with the matching
// turn of the scenario or, without a scenario, with a reply made from the
// prompt. A scenario can also ask for cut streams, errors and odd chunks.
//
// The package promises: equal seeds and requests give equal bytes. Continuity
// tokens are verified without a memory of the conversation. The only state is
// the responses that OpenAI's clients ask to be stored, and the last response of each
// WebSocket.
package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all" // every simulator serves the built-in wires
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// maxRequest is the largest request body that a provider takes, in bytes.
const maxRequest = 32 << 20

// Config says what to serve. The zero Config serves every provider, strictly,
// with a conversation of its own.
type Config struct {
	// Scenario gives the replies. Nil: replies are made from the prompts.
	Scenario *specs.Scenario
	// OwnTools are the client's own tools by role, see [script.Script].
	OwnTools map[string]string
	// Seed is that of every id, token and padding. Equal seeds give equal
	// bytes.
	Seed string
	// Providers are those served. Nil: all.
	Providers []string
	// Dialect is spoken, by the wires that have it, to clients that name no host whose dialect is known.
	Dialect string
	// Level is how much is refused.
	Level rule.Level
	// Off holds the ids of rules that are not enforced.
	Off []string
	// ForeignTokens accepts continuity tokens that were issued elsewhere.
	ForeignTokens bool
	// AnyModel lets the scenario answer whatever model of its provider is asked for.
	AnyModel bool
	// Mismatch, if not nil, is called for each request that the scenario did not
	// expect. It is called from several goroutines.
	Mismatch func(*script.Mismatch)
	// Sent, if not nil, gets each turn of the scenario when all that it sends is sent: at
	// the end of the reply, or where it falls silent. It is called from several
	// goroutines.
	Sent func(specs.Turn)
	// Note, if not nil, is told what rule.Live accepts and rule.Strict refuses. It
	// is called from several goroutines.
	Note func(Note)
	// Now is the provider's clock. Nil: a fixed time.
	Now func() time.Time
	// Pace is the pause between two writes, so that they arrive as two.
	Pace time.Duration
}

// Mark is the header of every reply. Whatever records the reply keeps the proof that no
// provider gave it, and whatever judges the recording must not take it for a
// provider's word. Its value ends in "injected" where a scenario asked for a refusal.
const Mark = "X-Simulator"

const (
	markSimulated = "meerkat"
	markInjected  = "meerkat; injected"
)

// clientTimeout is longer than a pause in a debugger, and ends connections whose
// client has died.
const clientTimeout = 5 * time.Minute

// epoch is the time a provider has by default.
var epoch = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// New returns a handler that is the providers' side. It is safe for concurrent
// use.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = func() time.Time { return epoch }
	}
	h := &handler{Config: c, off: map[string]bool{}, key: seal.NewKey(c.Seed), stored: newTable(),
		clientTimeout: clientTimeout}
	for _, id := range c.Off {
		h.off[id] = true
	}
	return h
}

type handler struct {
	Config
	off    map[string]bool
	key    seal.Key
	stored *table
	// clientTimeout is how long a client may take to send a request, and how long to
	// take in a reply that is not paced.
	clientTimeout time.Duration
	// attempts are of requests that the script turns down at first.
	attempts script.Attempts
}

// call is one request on its way to an answer.
type call struct {
	*http.Request
	route
	body     []byte
	env      rule.Env
	asked    script.Parsed // of a model; nil before it is read
	socket   *socket       // that the request came by; nil for plain HTTP
	isWarmUp bool          // it asks for no output
}

// ServeHTTP answers one request, whatever it holds, in the shape of the provider
// that it is for.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := routeOf(r, h.Dialect)
	if !(h.Providers == nil || slices.Contains(h.Providers, to.Name)) {
		to.op = ""
	}
	if to.op == script.Generate && to.OpenMessage != nil && websocket.IsUpgrade(r) {
		h.serveWebSocket(w, r, to)
		return
	}
	if r.Method == http.MethodOptions && to.op != "" {
		openToBrowsers(w.Header(), to)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if refusal := refuseRoute(r, to); refusal != nil {
		if refusal.Status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", strings.Join(to.op.Methods(), ", "))
		}
		h.writePlan(w, r, rejectionPlan(to, refusal))
		return
	}
	body, err := h.bodyOf(w, r)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		h.writePlan(w, r, rejectionPlan(to, to.RefusalOf("too_large", "limit", strconv.Itoa(maxRequest))))
	case errors.Is(err, errUnknownCoding):
		h.writePlan(w, r, rejectionPlan(to, to.RefusalOf("coding")))
	case err != nil:
		panic(http.ErrAbortHandler) // the client is gone
	default:
		h.writePlan(w, r, h.planAnswer(&call{Request: withPath(r, to.path), route: to, body: body,
			env: h.ruleEnv(to.Name), socket: socketOf(r)}))
	}
}

// maxTrusted is how much memory a request gets because of its Content-Length
// alone, in bytes.
const maxTrusted = 64 << 10

// bodyOf reads the body and unpacks it. One that says that it is too large is not read.
func (h *handler) bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxRequest {
		w.Header().Set("Connection", "close")
		return nil, &http.MaxBytesError{Limit: maxRequest}
	}
	in := http.NewResponseController(w)
	_ = in.SetReadDeadline(time.Now().Add(h.clientTimeout)) // a recorder has none
	defer func() { _ = in.SetReadDeadline(time.Time{}) }()
	body := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), maxTrusted)+bytes.MinRead))
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest)); err != nil {
		return nil, err
	}
	return decodeBody(r.Header, body.Bytes())
}

// refusalPlan plans a refusal with the headers of a reply.
func (h *handler) refusalPlan(c *call, r *script.Refusal) script.Plan {
	plan := c.Refused(r)
	header := h.replyHeader(c, script.FormUnary)
	maps.Copy(header, plan.Header)
	plan.Header = header
	if id := header.Get("Request-Id"); id != "" { // Anthropic says it in the body, too
		plan.Writes[0] = script.WithMembers(script.ParseOwn(plan.Writes[0]), "request_id", `"`+id+`"`)
	}
	return plan
}

// withPath is r with another path, as rules and voices are to see it.
func withPath(r *http.Request, path string) *http.Request {
	if r.URL.Path == path {
		return r
	}
	seen, u := *r, *r.URL
	u.Path, u.RawPath = path, ""
	seen.URL = &u
	return &seen
}

func (h *handler) ruleEnv(provider string) rule.Env {
	env := rule.Env{Key: h.key, Now: h.Now(), Level: h.Level, SkipsLow: h.isLenient(), Off: h.off,
		ForeignTokens: h.ForeignTokens}
	if h.Scenario != nil {
		env.Paused = func(said string) bool {
			return slices.ContainsFunc(h.Scenario.Turns, func(t specs.Turn) bool {
				return t.Stop == specs.StopPause && slices.ContainsFunc(t.Emit, func(b specs.Block) bool {
					return b.Kind == specs.KindText && b.For(provider) && specs.Fresh(b.Text, h.Seed) == said
				})
			})
		}
	}
	return env
}

// isLenient reports whether the scenario is for a client of which nothing is known.
func (h *handler) isLenient() bool { return h.Scenario != nil && h.Scenario.IsLenient }

// planAnswer plans the response.
func (h *handler) planAnswer(c *call) script.Plan {
	switch {
	case realKeyPrefix(c.Request) != "":
		return h.refusalPlan(c, &script.Refusal{Kind: script.RefuseAuth,
			Message: fmt.Sprintf("the simulator refuses a key that looks real:"+
				" it begins with %q and has %d bytes or more; set a made-up one, such as test-key",
				realKeyPrefix(c.Request), minRealKey)})
	case slices.ContainsFunc(sentKeys(c.Request), wrongWord().MatchString):
		return rejectionPlan(c.route, c.RefusalOf("wrong_key"))
	case c.op == script.Generate && c.socket != nil:
		return h.planMessage(c)
	case c.op == script.Generate, c.op == script.Compact, c.op == script.Count:
		return h.planModel(c)
	case !hasKey(c):
		return h.refusalPlan(c, &script.Refusal{Kind: script.RefuseAuth, Message: c.Wire.Credentials.Missing})
	}
	switch c.op {
	case script.Models:
		return h.bodyPlan(c, c.ListModels(queryOf(c.Request)))
	case script.Model:
		if info, ok := c.ShowModel(c.id); ok {
			return h.bodyPlan(c, info)
		}
		return rejectionPlan(c.route, c.RefusalOf("no_model", "id", c.id))
	default:
		var form script.Form
		var writes [][]byte
		var refusal *rule.Refusal
		isStored := h.stored.get(c.id, c.accountOf(), func(kept *script.Kept) {
			form, writes, refusal = c.Storage.Answer(c.op, c.id, c.Request, kept)
			if c.Method == http.MethodDelete {
				h.stored.removeEntry(c.id)
			}
		})
		if !isStored {
			form, writes, refusal = c.Storage.Answer(c.op, c.id, c.Request, nil)
		}
		if refusal != nil {
			return rejectionPlan(c.route, refusal)
		}
		return script.Plan{Status: http.StatusOK, Header: h.replyHeader(c, form), Writes: writes}
	}
}

// planModel checks a request to a model, and answers the request if no rule is broken.
func (h *handler) planModel(c *call) script.Plan {
	c.asked = c.Parse(c.Request, c.body)
	if refusal := c.asked.Check(c.env); refusal != nil {
		return rejectionPlan(c.route, refusal)
	}
	if c.op == script.Count {
		return h.bodyPlan(c, c.asked.CountTokens())
	}
	return withNotes(h.planAccepted(c), h.strictNotes(c))
}

// planAccepted answers a model call that has passed the rules: by the script, or with a compacted conversation,
// whatever the script says.
func (h *handler) planAccepted(c *call) script.Plan {
	if refusal := h.expandPrevious(c); refusal != nil {
		return rejectionPlan(c.route, refusal)
	}
	req, refusal := c.asked.Turn()
	if refusal != nil {
		return h.refusalPlan(c, refusal)
	}
	if c.op == script.Compact {
		return h.bodyPlan(c, c.Compacted(script.Generated(req, nil, "", c.env.Key, c.env.Now)))
	}
	reply, refusal := h.composeReply(req, c)
	if refusal != nil {
		return h.refusalPlan(c, refusal)
	}
	return h.storeReply(c, reply, c.PlanReply(reply))
}

// composeReply returns what the model says. Side traffic gets a short answer. In
// the main loop the scenario decides, or the prompt when there is no scenario.
func (h *handler) composeReply(req script.Request, c *call) (script.Reply, *script.Refusal) {
	env := c.env
	if c.isWarmUp {
		return script.Generated(req, nil, specs.StopEnd, env.Key, env.Now), nil
	}
	if h.Scenario != nil && (len(req.Tools) > 0 || h.Scenario.IsLenient) {
		return h.scriptedReply(req, c)
	}
	asked := c.Intent(req.Document)
	said, stop, isAside := script.SideTraffic(asked)
	switch {
	case isAside:
	case h.Scenario != nil:
		return h.scriptedReply(req, c)
	default:
		said, stop = script.AutoReply(asked)
	}
	return script.Generated(req, said, stop, env.Key, env.Now), nil
}

func (h *handler) scriptedReply(req script.Request, c *call) (script.Reply, *script.Refusal) {
	s := script.Script{Scenario: h.Scenario, Seed: h.Seed, Key: c.env.Key, Now: h.Now, AnyModel: h.AnyModel,
		Attempts: &h.attempts,
		Intent:   func(req script.Request) script.Intent { return c.Intent(req.Document) }, OwnTools: h.OwnTools,
		Mismatch: h.Mismatch}
	reply, refusal := s.Reply(req)
	if refusal != nil && refusal.Mismatch != nil && h.Mismatch != nil {
		h.Mismatch(refusal.Mismatch)
	}
	return reply, refusal
}

// bodyPlan plans a response that is not a reply of a model, with the headers of one.
func (h *handler) bodyPlan(c *call, body []byte) script.Plan {
	return script.Plan{Status: http.StatusOK, Header: h.replyHeader(c, script.FormUnary), Writes: [][]byte{body}}
}

// replyHeader is that of a reply; what is random in it depends on the request.
func (h *handler) replyHeader(c *call, form script.Form) http.Header {
	sum := sha256.Sum256(append([]byte(c.Method+c.URL.RequestURI()), c.body...))
	header := c.Provider.Header(script.Reply{Request: script.Request{Form: form}, Seed: hex.EncodeToString(sum[:8]),
		At: c.env.Now})
	header.Set("Date", c.env.Now.UTC().Format(http.TimeFormat))
	return header
}

// Note says that a request was accepted although the strictest level refuses it.
type Note struct {
	// Provider is the name of the wire, Path what was asked.
	Provider, Path string
	// Rule is the id of the rule, Words are those of the refusal.
	Rule, Words string
}

// NoteHeader is the header of a reply that holds the notes on its request,
// "RULE: WORDS", separated by " | ".
const NoteHeader = "X-Simulator-Note"

// The most notes on one request, and the most bytes of one.
const (
	maxNotes    = 8
	maxNoteText = 300
)

// strictNotes are what rule.Strict would refuse, one for each rule. Only rule.Live
// notes: at other levels it is refused, or not asked for.
func (h *handler) strictNotes(c *call) []Note {
	if h.Level != rule.Live {
		return nil
	}
	env, asked := c.env, c.Parse(c.Request, c.body)
	env.Level, env.Off = rule.Strict, maps.Clone(c.env.Off)
	var notes []Note
	for len(notes) < maxNotes {
		refusal := asked.Check(env)
		if refusal == nil {
			break
		}
		env.Off[refusal.Rule] = true
		words := refusal.Message
		if len(words) > maxNoteText {
			words = strings.ToValidUTF8(words[:maxNoteText], "") + "…"
		}
		notes = append(notes, Note{c.Wire.Name, c.path, refusal.Rule, words})
	}
	if h.Note != nil {
		for _, n := range notes {
			h.Note(n)
		}
	}
	return notes
}

// withNotes is the plan with the notes in its header.
func withNotes(p script.Plan, notes []Note) script.Plan {
	if len(notes) == 0 {
		return p
	}
	var said []string
	for _, n := range notes {
		said = append(said, n.Rule+": "+n.Words)
	}
	header := maps.Clone(p.Header)
	header[NoteHeader] = []string{strings.Join(said, " | ")}
	p.Header = header
	return p
}
