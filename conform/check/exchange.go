package check

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// PlaceOf says where the exchange with an index stands for a requirement, without
// a check. A finding about a process has no exchange: its place holds what all
// exchanges have in common.
func (s *Trace) PlaceOf(index int) specs.Place {
	if n, ok := s.ordinalOf(index); ok {
		x := s.x[n]
		return specs.Place{Provider: x.Provider, Model: x.modelAsked(), Date: x.Date, OtherHost: x.atOtherHost()}
	}
	if len(s.providers) == 1 {
		return specs.Place{Provider: s.providers[0]}
	}
	return specs.Place{}
}

// ordinalOf finds the exchange with an index.
func (s *Trace) ordinalOf(index int) (int, bool) {
	return slices.BinarySearchFunc(s.x, index, func(x *exchange, index int) int { return cmp.Compare(x.Index, index) })
}

// Calls counts the requests for an answer of a model.
func (s *Trace) Calls() (n int) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate {
			n++
		}
	}
	return n
}

// ThinkingCalls counts the calls that ask the model to think, and the plain ones that do not
// although their model thinks only when it is asked.
func (s *Trace) ThinkingCalls() (asked, plain int) {
	for _, x := range s.x {
		effort := x.req.Doc.Text("reasoning", "effort")
		switch form := thinkingType(x); {
		case x.req.Op != wire.Generate:
		case form != "" && form != "disabled", effort != "" && effort != "none":
			asked++
		case x.can.Thinking != nil && specs.ParseModel(x.modelAsked()).IsBefore(5, 0), x.can.Reasoning == "off":
			plain++
		}
	}
	return asked, plain
}

// ReadableRequests counts the calls whose request was kept and can be read. Of a recording
// without one nothing is known about its agent.
func (s *Trace) ReadableRequests() (n int) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate && x.req.Doc != nil {
			n++
		}
	}
	return n
}

// AnswerTo says what became of the request of an exchange.
func (s *Trace) AnswerTo(index int) decide.Answer {
	n, ok := s.ordinalOf(index)
	if !ok || s.x[n].Missed {
		return decide.AnswerNone
	}
	switch x := s.x[n]; {
	case x.reply.End == wire.Refused && x.refusal.Kind == RefusedForm && !x.isInjected():
		return decide.AnswerRefused
	case x.Provenance == evidence.ProvenanceSimulator && x.wasAccepted():
		return decide.AnswerSimulated
	case !x.wasAnswered():
		return decide.AnswerNone
	case x.ProviderAnswered():
		return decide.AnswerAccepted
	case x.Provenance == evidence.ProvenanceUndeclared && x.ownHost:
		return decide.AnswerRecorded
	}
	return decide.AnswerNone
}

// ruleRefused returns the rule whose words refused the request of an exchange, "" where the request was not refused
// for its form or the words name no rule.
func (s *Trace) ruleRefused(index decide.Ordinal) string {
	if n, ok := s.ordinalOf(int(index)); ok && s.AnswerTo(int(index)) == decide.AnswerRefused {
		return s.x[n].refusal.Rule
	}
	return ""
}

// IsScripted reports whether our simulator or a scenario gave the reply of an exchange.
func (s *Trace) IsScripted(index int) bool {
	n, ok := s.ordinalOf(index)
	return ok && (s.x[n].Provenance == evidence.ProvenanceSimulator || s.x[n].isInjected())
}

// wasAnswered reports whether the request was accepted and the model began to
// answer.
func (x *exchange) wasAnswered() bool {
	return x.wasAccepted() && (x.reply.End == wire.Complete || x.reply.End == wire.Pending || len(x.reply.Items) > 0)
}

// modelAsked is the model that the request names, else the one that replied.
func (x *exchange) modelAsked() string { return cmp.Or(x.named, x.reply.Model) }

// atOtherHost reports whether x went to a host that only speaks the provider's
// format. What stands in for the provider, as the simulator, does so at any address.
func (x *exchange) atOtherHost() bool {
	isStandIn := x.Provenance == evidence.ProvenanceSimulator || x.Provenance == evidence.ProvenanceSynthetic
	return !isStandIn && !x.ownHost
}

// isPublicAPI reports whether the request went to the public host of the API, or to that of a region; other hosts
// of the provider take other members.
func (x *exchange) isPublicAPI() bool {
	u, err := url.Parse(x.Request.URL)
	return x.Provenance == evidence.ProvenanceSimulator ||
		err == nil && strings.HasSuffix("."+strings.ToLower(u.Hostname()), "."+x.wire.Host)
}

// isProvidersModel reports whether the name is of the provider's own family: an address may be that of a
// gateway that was written over.
func isProvidersModel(x *exchange) bool {
	own := x.wire.Models.Families
	return own == nil || x.req.Model == "" || slices.Contains(own, specs.ParseModel(x.req.Model).Family)
}

// member returns a member of the request and its place; snake is its other spelling.
func (x *exchange) member(path ...string) (*tree.Node, wire.Place) {
	n, at := x.req.Doc, wire.Place{Event: -1, Off: 0}
	for _, name := range path {
		v := n.Any(name, tree.Snake(name))
		if v != nil {
			at.Off = v.Offset()
		}
		n, at.Path = v, strings.TrimPrefix(at.Path+"."+name, ".")
	}
	return n, at
}

// forcedTool returns the name of the tool that the model must call because no other is
// allowed, "" for none.
func (x *exchange) forcedTool() string {
	kind, names := x.req.Choice.Kind, x.req.Choice.Names
	if kind == "any" && names == nil {
		for _, d := range x.req.Declared {
			names = append(names, d.Name)
		}
	}
	if kind != "any" && kind != "tool" || len(names) != 1 {
		return ""
	}
	return names[0]
}

// offersOtherTools reports whether tools come from elsewhere than the request's list.
func (x *exchange) offersOtherTools() bool {
	return x.req.Doc.Get("mcp_servers") != nil || x.req.Doc.Get("prompt") != nil ||
		slices.ContainsFunc(x.req.Items, func(it wire.Item) bool {
			return it.Type == "additional_tools" || it.Type == "tool_search_output" || it.Type == "tool_addition" ||
				it.Type == "mcp_list_tools"
		})
}

// report collects what one check sees.
type report struct {
	check string
	Result
}

// addObserved counts n places where the rule could have been broken.
func (r *report) addObserved(n int) { r.Observed += n }

// addFinding adds a finding at a place in x's request or reply. It quotes the answer to this
// request, else the known answer to a breach of the rule.
func (r *report) addFinding(x *exchange, at wire.Place, rule, format string, args ...any) *Finding {
	return x.quoteRefusal(r.addBare(x, at, rule, format, args...), at, x.bookOf().QuoteOf(rule), false)
}

// quoteRefusal adds the answer to this request to the finding, else the text with which the provider answers. What
// all servers of a wire refuse, each says in its own words.
func (x *exchange) quoteRefusal(f *Finding, at wire.Place, text string, isShared bool) *Finding {
	if f.Refusal = refusalOf(x, at, f.Rule); f.Refusal != "" {
		f.Message += "; " + f.Refusal
	} else if text == "" || x.refusal.Kind == RefusedForm {
		return f // what the provider did say is a finding too
	} else if x.atOtherHost() || isShared && slices.Contains(x.wire.MoreHosts, x.host()) && x.host() != x.wire.Host {
		f.Message += fmt.Sprintf("; a server that refuses this may say %q (%s)", text, f.Rule)
	} else {
		f.Message += fmt.Sprintf("; where %s refuses this it says %q (%s)", x.vendorName(), text, f.Rule)
	}
	return f
}

// addBare is addFinding for messages that quote the provider themselves or about
// which the provider says nothing.
func (r *report) addBare(x *exchange, at wire.Place, rule, format string, args ...any) *Finding {
	f := Finding{Check: r.check, Exchange: decide.Ordinal(x.Index), Event: decide.Ordinal(at.Event),
		Offset: decide.Ordinal(at.Off),
		Path:   at.Path, Rule: rule, Message: fmt.Sprintf(format, args...), Form: format}
	for _, arg := range args {
		if d, ok := arg.(difference); ok {
			f.Compare = &d.Comparison
		}
	}
	r.Findings = append(r.Findings, f)
	return &r.Findings[len(r.Findings)-1]
}

// addLostItem adds a finding about item i of the linked reply, which the request does
// not hold where it should.
func (r *report) addLostItem(l *link, i int, rule, format string, args ...any) *Finding {
	return l.compareBlocks(r.addChange(l, l.sent(l.items[0]).Place, l.reply(i).Place, rule, format, args...), i)
}

// addChange adds a finding about a field that differs from the one emitted.
func (r *report) addChange(l *link, at, emitted wire.Place, rule, format string, args ...any) *Finding {
	args = append(args, emittedAt(l.from, emitted))
	f := r.addFinding(l.to, at, rule, format+" (%s)", args...)
	f.Emitted = emissionAt(l.from, emitted)
	return f
}

// compareBlocks shows in a finding which blocks should stand in the request, those that were sent back and the lost one
// (-1 for none) in the order in which they were emitted, and which blocks do. What may be left out is not shown.
func (l *link) compareBlocks(f *Finding, lost int) *Finding {
	var expected []int
	for i := range l.from.reply.Items {
		if i == lost || slices.ContainsFunc(l.pairs, func(p pair) bool { return p.r == i }) {
			expected = append(expected, i)
		}
	}
	was, is := outlineOf(l.from.reply.Items, expected), outlineOf(l.to.req.Items, l.items)
	if slices.Equal(was, is) {
		return f
	}
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	c := compareIn(f, strings.Join(was, ", "), strings.Join(is, ", "), outlineContext).Compare
	block := len(strings.Join(append(slices.Clip(was[:same]), ""),
		", ")) // the mark stands under the block, not in its name
	c.Mark, c.Differs = max(0, c.Mark-c.Differs+block), block
	return f
}

// compareIn shows two values in a finding, with context bytes around their first difference.
func compareIn(f *Finding, was, is string, context int) *Finding {
	c := decide.Compare(was, is, context)
	f.Compare = &c
	return f
}

// outlineOf names blocks: thinking, tool call read c1.
func outlineOf(items []wire.Item, ordinals []int) (blocks []string) {
	for _, i := range ordinals {
		switch it := &items[i]; it.What {
		case wire.Call:
			blocks = append(blocks, "tool call "+it.Label())
		case wire.Opaque:
			blocks = append(blocks, it.Type)
		default:
			blocks = append(blocks, it.What.String())
		}
	}
	return blocks
}

func emissionAt(x *exchange, at wire.Place) *decide.Place {
	return &decide.Place{Exchange: decide.Ordinal(x.Index), Event: decide.Ordinal(at.Event),
		Offset: decide.Ordinal(at.Off)}
}

func emittedAt(x *exchange, at wire.Place) string {
	if at.Event < 0 {
		return fmt.Sprintf("emitted in exchange %d, byte %d", x.Index, at.Off)
	}
	return fmt.Sprintf("emitted in exchange %d, event %d, byte %d", x.Index, at.Event, at.Off)
}

// describeDifference says how two tokens differ without showing either whole.
func describeDifference(was, is string) difference {
	sentence := fmt.Sprintf("differs from byte %d on: was %d bytes %s, is %d bytes %s",
		decide.FirstDifference(was, is), len(was), rules.Mask(was), len(is), rules.Mask(is))
	return difference{sentence: sentence + describeEdit(was, is),
		Comparison: decide.Compare(was, is, min(tokenContext, len(was)/8))}
}

// describeTextDifference is describeDifference for text that may be read: it
// shows a little of both sides around the first difference.
func describeTextDifference(was, is string) difference {
	at := decide.FirstDifference(was, is)
	sentence := fmt.Sprintf("differs from byte %d on: was %d bytes with %#q there, is %d bytes with %#q",
		at, len(was), textAround(was, at), len(is), textAround(is, at))
	return difference{sentence: sentence + describeEdit(was, is), Comparison: decide.Compare(was, is, textContext)}
}

const window = 12 // bytes shown on each side of a difference

func textAround(s string, at int) string {
	from, to := max(0, at-window), min(len(s), at+window)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[from:to]
}

// refusalOf quotes the answer to a request that was refused for this very rule or at this
// very place.
func refusalOf(x *exchange, at wire.Place, rule string) string {
	if x.refusal.Kind == RefusedForm && !x.Missed &&
		(rule != "" && x.refusal.Rule == rule || at.Path != "" && placeOfRefusal(x).Path == at.Path) {
		words, steps := x.refusal.Words, tree.Steps(at.Path)
		for line := range strings.SplitSeq(wordsOf(x), "\n") { // Gemini has a line for each fault
			if len(steps) > 0 && strings.Contains(line, strconv.Quote(steps[len(steps)-1])) {
				words = presentWords(line)
				break
			}
		}
		return fmt.Sprintf("%s refused the request: %q", x.serverName(), cutText(words, 200))
	}
	return ""
}

func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
