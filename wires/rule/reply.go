package rule

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Chunk is one piece of a body, complete At after the headers.
type Chunk struct {
	At     time.Duration
	Length int
}

// Exchange is one request with its reply, as the caller of [JudgeReply] saw them.
type Exchange struct {
	// Wire is the name of the wire that both speak.
	Wire string
	// Method, URL, RequestHeader and Request are what was asked. Request is nil if unknown.
	Method, URL   string
	RequestHeader http.Header
	Request       []byte
	// Status, Header and Body are what came back, the body without its Content-Encoding.
	Status int
	Header http.Header
	Body   []byte
	// Sent is the body as it came, with its Content-Encoding; nil if that is unknown.
	Sent []byte
	// Chunks are the pieces in which the body came; nil if that is unknown.
	Chunks []Chunk
	// WebSocket says that the events came as messages of a WebSocket, which have no names.
	WebSocket bool
	// SawAll says that no header was lost: the caller read the reply from a connection. What
	// only a recording lacks is unknown, and no breach.
	SawAll bool
	// StandsIn says that the server stands in for the provider itself, at whatever address.
	StandsIn bool
	// Cut says that the reply was broken off from outside, by the client or a fault that was put in.
	Cut bool
	// Asked and Reply are both sides decoded. JudgeReply decodes them where they are nil.
	Asked *wire.Request
	Reply *wire.Reply
}

// IsStream reports whether the reply came as a stream with status 200.
func (x *Exchange) IsStream() bool {
	w := wires.Find(x.Wire)
	return x.Status == http.StatusOK &&
		(x.Reply.Form == wire.SSE || x.Reply.Form == wire.Array && w != nil && w.Ending.IsWholeArray != nil)
}

// At returns the place of a value inside an event of the reply. The event -1 stands for a body
// that is one document.
func (x *Exchange) At(event int, n *tree.Node, path string) wire.Place {
	off := n.Offset()
	if event >= 0 {
		off = x.Reply.Events[event].OffsetOf(n)
	}
	return wire.Place{Event: event, Off: off, Path: path}
}

// EventPlace is where an event of the reply begins. The event -1 stands for a body that is one document.
func (x *Exchange) EventPlace(event int) wire.Place {
	if event < 0 {
		return wire.Place{Event: -1}
	}
	return wire.Place{Event: event, Off: x.Reply.Events[event].DataOff}
}

var memberKinds = map[string]tree.Kind{"array": tree.Array, "number": tree.Number, "object": tree.Object}

// CheckMembers reports the members that a value of the reply lacks, such as "id content:array usage:object". A member
// without a kind is a text that is not empty.
func (x *Exchange) CheckMembers(p *Pass, what string, event int, n *tree.Node, path, members string) {
	for member := range strings.FieldsSeq(members) {
		name, kind, _ := strings.Cut(member, ":")
		if v := n.Get(name); kind == "" && v.Text() == "" || kind != "" && !v.Is(memberKinds[kind]) {
			p.ReportAt(x.At(event, n, strings.TrimPrefix(path+"."+name, ".")), "%s has no %s", what, name)
		}
	}
}

// HeaderPlace is the place of a header, of the status or of the address.
func HeaderPlace(name string) wire.Place { return wire.Place{Event: -1, Off: -1, Path: name} }

// ReplyInfo states a rule of replies.
type ReplyInfo struct {
	// Duty is the id of the duty in specs/duties: "SV-A7". Several rules may judge one duty.
	Duty string
	// Aspect is the aspect of a requirement that the referee judges by this rule when it judges an
	// agent, like "STR-003/grammar"; "" for a rule that it reports under the id of the duty.
	Aspect string
}

// ReplyRule judges one reply, which a wire reads as R, by one duty of servers.
type ReplyRule[R any] struct {
	ReplyInfo
	// Run reports the places at which the reply breaks the rule. It is pure and safe for
	// concurrent use with a Pass of its own.
	Run func(reply R, p *Pass)
}

// Owes is the rule by which a function judges a duty, for the aspect of a requirement or for "".
func Owes[R any](duty, aspect string, run func(reply R, p *Pass)) ReplyRule[R] {
	return ReplyRule[R]{ReplyInfo{duty, aspect}, run}
}

// ReplyInfos states rules in their order.
func ReplyInfos[R any](rules []ReplyRule[R]) (infos []ReplyInfo) {
	for i := range rules {
		infos = append(infos, rules[i].ReplyInfo)
	}
	return infos
}

// ReplyRules states the rules of replies of all wires.
func ReplyRules() []ReplyInfo {
	all := ReplyInfos(transportRules)
	for _, name := range slices.Sorted(maps.Keys(Books())) {
		all = append(all, Books()[name].Replies...)
	}
	return all
}

// ReplyPass is what one rule saw in one reply.
type ReplyPass struct {
	*specs.Duty
	Aspect string
	// Observed counts the places where the rule could have been broken. Of a rule without a pass the
	// reply shows nothing.
	Observed int
	// Breaches are the places at which the rule is broken, in their order. A breach has a
	// Consequence of its own, or that of the duty, and a place in At.
	Breaches []*Breach
}

// Message is the breach in our words.
func (b *Breach) Message() string { return fmt.Sprintf(b.Form, b.Args...) }

// JudgeReplies runs rules over a reply and returns the passes of those that saw anything.
func JudgeReplies[R any](rules []ReplyRule[R], reply R) (passes []*ReplyPass) {
	for i := range rules {
		r := &rules[i]
		p := &Pass{rule: r.Duty}
		r.Run(reply, p)
		if p.Observed == 0 && p.Breaches == nil {
			continue
		}
		pass := &ReplyPass{cmp.Or(specs.FindDuty(r.Duty), &specs.Duty{ID: r.Duty}), r.Aspect, p.Observed, p.Breaches}
		for _, b := range p.Breaches {
			b.Consequence = cmp.Or(b.Consequence, string(pass.Consequence))
		}
		passes = append(passes, pass)
	}
	return passes
}

// JudgeReply judges one reply by the rules of its wire and by those of every wire. It is pure:
// it asks nobody, and equal exchanges have equal passes. Of a wire without reply rules only
// those of every wire are judged.
func JudgeReply(x *Exchange) []*ReplyPass {
	own := *x
	if own.Asked == nil {
		own.Asked = wire.ReadRequest(own.Wire, own.Method, own.URL, own.Request)
	}
	if own.Reply == nil {
		own.Reply = wire.ReadReply(own.Wire, own.Status, own.Body)
	}
	passes := JudgeReplies(transportRules, &own)
	if b := Books()[own.Wire]; b != nil && b.JudgeReply != nil &&
		(own.bringsReply() || own.Status >= http.StatusBadRequest) {
		passes = append(passes, b.JudgeReply(&own)...)
	}
	return passes
}

// EndsWhole judges that a stream says that it is over: nothing else tells a client that it has the
// whole reply.
func EndsWhole(x *Exchange, p *Pass) {
	if !x.IsStream() {
		return
	}
	if p.Observe(); x.Reply.End == wire.Cut && !x.Cut {
		p.ReportAt(wire.Place{Event: len(x.Reply.Events) - 1, Off: len(x.Body)},
			"the stream ends after %d events without %s and is not marked as cut",
			len(x.Reply.Events), wires.Find(x.Wire).Ending.Words)
	}
}

// FormIsAsked judges that a request for a stream is answered by one, and any other request by one document: a client
// chooses its reader by what it asked for.
func FormIsAsked(x *Exchange, p *Pass) {
	if x.Asked.Doc == nil || x.Asked.Op != wire.Generate || x.Status != http.StatusOK || x.WebSocket ||
		!x.Reply.Err.Null() {
		return
	}
	switch isStream := x.IsStream() && len(x.Reply.Events) > 0; {
	case x.Asked.WantsStream && x.Reply.Form == wire.Document && x.Reply.Doc != nil:
		p.ReportAt(x.EventPlace(-1), "a stream was asked for, and the answer is one JSON document")
	case !x.Asked.WantsStream && isStream:
		p.ReportAt(x.EventPlace(0), "no stream was asked for, and the answer is one")
	case isStream || x.Reply.Doc != nil:
		p.Observe()
	}
}

// NamesFit judges that an event with a name has the name that its data say.
func NamesFit(x *Exchange, p *Pass) {
	for i, e := range x.Reply.Events {
		if e.JSON == nil || !x.IsStream() {
			continue
		}
		if p.Observe(); e.Name != "" && e.Name != e.Type() {
			p.ReportAt(x.EventPlace(i), "event %q holds JSON of type %q", e.Name, e.Type())
		}
	}
}

// NamesEvents judges that each event of a stream has a name. The lack leads to consequence, "" for that of the duty.
func NamesEvents(consequence string) func(*Exchange, *Pass) {
	return func(x *Exchange, p *Pass) {
		for i, e := range x.Reply.Events {
			if e.JSON != nil && x.IsStream() && !x.WebSocket {
				if p.Observe(); e.Name == "" {
					p.ReportAt(x.EventPlace(i), "the event %q has no name", Shorten(e.Type())).Consequence = consequence
				}
			}
		}
	}
}

// SendsNoDone judges that a stream does not end as those of OpenAI's older API.
func SendsNoDone(x *Exchange, p *Pass) {
	for i, e := range x.Reply.Events {
		if p.Observe(); strings.TrimSpace(e.Data) == Done {
			p.ReportAt(x.EventPlace(i), "the stream holds %s", Done)
		}
	}
}

// Difference is an argument of a breach: two texts that should be equal. It prints where they differ.
type Difference struct{ Was, Is string }

// String shows a little of both texts around the first difference.
func (d Difference) String() string {
	at := 0
	for at < min(len(d.Was), len(d.Is)) && d.Was[at] == d.Is[at] {
		at++
	}
	around := func(s string) string { return strings.ToValidUTF8(s[max(0, at-12):min(len(s), at+12)], "") }
	return fmt.Sprintf("differs from byte %d on: was %d bytes with %q there, is %d bytes with %q", at, len(d.Was),
		around(d.Was), len(d.Is), around(d.Is))
}

// Mask shows the ends of a token: enough to find it, too little to use it.
func Mask(token string) string {
	switch n := len(token); {
	case n == 0:
		return "(empty)"
	case n < 20:
		return token[:n/4] + "…"
	}
	return token[:6] + "…" + token[len(token)-4:]
}
