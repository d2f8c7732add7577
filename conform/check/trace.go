package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Trace is the evidence of one case, decoded: the exchanges in order with both
// sides read, and which request sends back which reply. Make it with [Decode]
// and judge it with any number of checks. It is immutable and may be used from
// any goroutine.
type Trace struct {
	linking
	ev        *evidence.Evidence // a copy; its byte slices are shared with the caller
	providers []string
	x         []*exchange
	// links are ordered by request, then by place in it.
	links []*link
	// issued says where each token was issued first.
	issued map[string]issue
	// panicked is the value with which decoding panicked, nil when it did not.
	panicked any
}

// Decode reads the bodies of ev once, for all checks. The trace keeps its own
// copy of ev's lists, so that the caller may replace exchanges and processes
// afterwards; the bytes of bodies and streams are shared and must not be
// written to.
//
// Decode takes any bytes. Should a decoder panic all the same, then the checks
// panic with that value when they run on the trace, so that package report
// names it as an error of the referee.
func Decode(ev *evidence.Evidence) *Trace {
	return bodyReader{request: wire.ReadRequest, reply: wire.ReadReply}.decodeEvidence(ev)
}

// Evidence returns what was decoded. The lists are the caller's; bytes and
// headers are shared and must not be changed.
func (s *Trace) Evidence() evidence.Evidence { return copyLists(s.ev) }

// Case is the name of the case that was decoded.
func (s *Trace) Case() string { return s.ev.Case }

// Source says where the evidence came from.
func (s *Trace) Source() evidence.Source { return s.ev.Source }

// Providers lists whose traffic was decoded, in lexical order. The slice is the
// caller's.
func (s *Trace) Providers() []string { return slices.Clone(s.providers) }

// Replays lists which request sends back which earlier reply, as the indexes of
// the two exchanges: the links that the checks build on.
func (s *Trace) Replays() (pairs [][2]int) {
	for _, l := range s.links {
		pairs = append(pairs, [2]int{l.from.Index, l.to.Index})
	}
	return pairs
}

// exchange is one exchange with both sides decoded.
type exchange struct {
	*evidence.Exchange
	n     int // ordinal in the trace
	wire  *wires.Wire
	req   *wire.Request
	reply *wire.Reply
	// runs are the stretches of model items in the request, each between two
	// stretches of the client's own items.
	runs []span
	// turn is the ordinal of the first item of the current turn: what stands
	// after the last thing the user, and not a tool, said. Providers check the
	// hidden state of that turn and are lenient before it (A-37, G-17).
	turn int
	// outline and contents are what linking compares of the request and of the
	// reply.
	outline  *outline
	contents map[uint64]bool
	// owners gives for each item of each run the reply it comes from, nil where
	// nobody recorded it; mainOwners the reply that most of the run comes from.
	owners     [][]*exchange
	mainOwners []*exchange
	// base is the recorded exchange whose response the request names as the one that it
	// goes on with, nil for none.
	base *exchange
	// previous is the exchange that the request continues, nil at the start of a
	// conversation; followers are those that continue this one.
	previous  *exchange
	followers []*exchange
	kind      Kind
	// asksForSummary says that the last prompt asks for a summary, or the system prompt of a
	// request without tools.
	asksForSummary bool
	// conversation is the ordinal of the conversation it belongs to.
	conversation int
	// replays are the links whose request this is, sentBack those whose reply.
	replays, sentBack []*link
	// ownHost is what the exchange's IsOwnHost says; many checks ask.
	ownHost bool
	// named is what modelNamed returns.
	named string
	// refusal is read where the reply is one.
	refusal Refusal
	// can is what is known of the model asked, seen what the rules of the wire see.
	can  specs.Capability
	seen rules.Seen
	// aspects are the passes of the wire's rules over the request, by aspect.
	aspects map[string][]*rules.Pass
	// replyPasses are the passes of the rules of replies over the reply.
	replyPasses []*rules.ReplyPass
}

// span is the half-open range [from, to) of items.
type span struct{ from, to int }

// bodyReader reads the two sides of an exchange, and links them. Tests count its calls
// and leave out rules of linking.
type bodyReader struct {
	request func(provider, method, url string, body []byte) *wire.Request
	reply   func(provider string, status int, body []byte) *wire.Reply
	linking
}

func (r bodyReader) decodeEvidence(ev *evidence.Evidence) (s *Trace) {
	own := copyLists(ev)
	s = &Trace{linking: r.linking, ev: &own, providers: own.Providers()}
	defer func() { s.panicked = recover() }()
	byID := map[string]*exchange{}
	for i := range own.Exchanges {
		x := r.decodeExchange(&own.Exchanges[i], i)
		x.base = byID[x.previousResponse()]
		x.outline = newOutline(x, r.linking)
		s.x = append(s.x, x)
		if x.reply.ID != "" {
			byID[x.reply.ID] = x
		}
	}
	s.findIssues()
	s.linkReplies()
	s.classifyExchanges()
	s.collectLinks()
	for _, x := range s.x {
		x.aspects, x.replyPasses = s.judgeRequest(x), s.judgeReply(x)
	}
	return s
}

func copyLists(ev *evidence.Evidence) evidence.Evidence {
	own := *ev
	own.Exchanges, own.Process = slices.Clone(ev.Exchanges), slices.Clone(ev.Process)
	return own
}

func (r bodyReader) decodeExchange(e *evidence.Exchange, n int) *exchange {
	x := &exchange{Exchange: e, n: n, wire: cmp.Or(wires.Find(e.Provider), &wires.Wire{}), ownHost: e.IsOwnHost()}
	x.req = r.request(e.Provider, e.Request.Method, e.Request.URL, e.Request.Body)
	x.reply = r.reply(e.Provider, e.Response.Status, e.Response.Body)
	x.named = rules.ModelAsked(x.req, e.Request.URL)
	x.runs = modelRuns(x.req.Items)
	x.turn = turnStart(x.wire, x.req)
	x.asksForSummary = mentionsSummary(lastPrompt(x)) || !hasTools(x) && mentionsSummary(textOf(x.req.System))
	x.contents = replyContents(x.reply.Items)
	x.can = specs.FindCapability(e.Provider, x.modelAsked())
	x.seen = x.readSeen()
	if x.isRefusedInReply() {
		x.reply.End = wire.Refused
	}
	if x.reply.End == wire.Refused {
		x.refusal = newRefusal(x)
	}
	return x
}

// collectLinks lists the links that checks judge: those of a side request are
// none, because it quotes a conversation and does not continue it, and a summary is quoted.
func (s *Trace) collectLinks() {
	for _, x := range s.x {
		if x.kind.isSide() {
			x.replays = nil
			continue
		}
		x.replays = slices.DeleteFunc(x.replays, func(l *link) bool { return x.quotesSummaryOf(l.from) })
		for _, l := range x.replays {
			s.links = append(s.links, l)
			l.from.sentBack = append(l.from.sentBack, l)
		}
	}
}

// asksForAnswer reports whether the exchange is a request to answer a conversation that
// can be read.
func (x *exchange) asksForAnswer() bool {
	return x.req.Op == wire.Generate && x.req.Doc != nil && !x.isWarmUp()
}

// isWarmUp reports whether a message over a WebSocket only brings what later ones go on
// with (O-25).
func (x *exchange) isWarmUp() bool {
	return x.WebSocket > 0 && x.req.Op == wire.Generate && x.req.Doc.False("generate")
}

func modelRuns(items []wire.Item) []span {
	var runs []span
	for i := range items {
		if !items[i].Model() {
			continue
		}
		if k := len(runs) - 1; k >= 0 && runs[k].to == i {
			runs[k].to++
			continue
		}
		runs = append(runs, span{i, i + 1})
	}
	return runs
}

// turnStart returns the ordinal of the first item after the last user prompt.
// On Anthropic a message that also answers tools continues the turn; on Gemini
// any part of a user's content that answers no tool starts one (G-17).
func turnStart(w *wires.Wire, q *wire.Request) int {
	start := 0
	for i := range q.Items {
		it := &q.Items[i]
		if it.Model() || it.What == wire.Result || w.Has(wires.ItemList) && it.Type != "message" {
			continue // outputs of a search or a computer are none of the user's words either
		}
		if w.Has(wires.ResultsInTurn) && answersTools(q.Items, it.Msg, i) {
			continue
		}
		start = i + 1
	}
	return start
}

// answersTools reports whether the message msg, which holds item i, holds a
// tool result as well.
func answersTools(items []wire.Item, msg, i int) bool {
	for k := i; k >= 0 && items[k].Msg == msg; k-- {
		if items[k].What == wire.Result {
			return true
		}
	}
	for k := i; k < len(items) && items[k].Msg == msg; k++ {
		if items[k].What == wire.Result {
			return true
		}
	}
	return false
}

// itemsOfKind returns the items of kind w in a span of the request.
func (x *exchange) itemsOfKind(in span, w wire.What) []*wire.Item {
	return wire.OfKind(x.req.Items[in.from:in.to], w)
}

// eachRequest calls f for every request that asks for an answer, and for those that warm
// a WebSocket up for one.
func (s *Trace) eachRequest(f func(x *exchange)) {
	for _, x := range s.x {
		if x.asksForAnswer() || x.isWarmUp() {
			f(x)
		}
	}
}

// eachStep calls f for every step of every request: what the model said, and the client's answer.
func (s *Trace) eachStep(f func(x *exchange, said, answer []wire.Item)) {
	s.eachRequest(func(x *exchange) {
		for said, answer := range x.req.Steps() {
			f(x, said, answer)
		}
	})
}

// eachPair calls f for every item of kind w that was sent back for one of the
// same kind, whole: a reference to a stored item has nothing to compare, and of what came from
// another conversation OPS-001 speaks.
func (s *Trace) eachPair(of wires.Habit, w wire.What, f func(l *link, p pair, r, q *wire.Item)) {
	for _, l := range s.links {
		if of != "" && !l.to.wire.Has(of) {
			continue
		}
		for _, p := range l.pairs {
			if r, q := l.reply(p.r), l.sent(p.q); r.What == w && q.Type != referenceType &&
				(p.exact || !s.isOfOtherConversation(l.to, q)) {
				f(l, p, r, q)
			}
		}
	}
}

// attribution begins the block in which Claude Code tells of itself, with a
// checksum that differs in each request. The provider takes it out.
const attribution = "x-anthropic-billing-header:"

// systemBlocks writes a system prompt as a list of blocks without the volatile
// one: a client changes from a string to blocks when it adds a cache mark.
func systemBlocks(system *tree.Node) []*tree.Node {
	if system.Is(tree.String) {
		if strings.HasPrefix(system.Text(), attribution) {
			return nil
		}
		blocks, err := tree.Parse([]byte(`[{"type":"text","text":` + system.Raw() + `}]`))
		if err != nil {
			return nil
		}
		return blocks.Items()
	}
	list := system.List()
	if system.Is(tree.Object) {
		list = []*tree.Node{system}
	}
	var kept []*tree.Node
	for _, b := range list {
		if !strings.HasPrefix(b.Text("text"), attribution) {
			kept = append(kept, b)
		}
	}
	return kept
}

func sameSystem(a, b *tree.Node) bool {
	path, _ := diffSystem(a, b)
	return path == "="
}

// diffSystem is wire.Diff for system prompts. The path is that of b as it was sent.
func diffSystem(a, b *tree.Node) (path, what string) {
	was, is := systemBlocks(a), systemBlocks(b)
	switch {
	case len(was) == 0 && len(is) == 0:
		return "=", ""
	case len(was) == 0 || len(is) == 0:
		if len(was) == 0 {
			return "", "was absent"
		}
		return "", "is gone"
	}
	path, what = tree.Diff(tree.NewArray(was...), tree.NewArray(is...), "cache_control")
	kept, inBlock, isBlock := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if k, err := strconv.Atoi(kept); isBlock && err == nil {
		switch at := slices.Index(b.List(), is[k]); {
		case at >= 0:
			path = fmt.Sprintf("[%d]%s", at, inBlock) // as it was sent
		case b.Is(tree.String):
			path = ""
		default:
			path = inBlock
		}
	}
	return path, what
}
