package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

func historyKept(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if isCompactedSince(then, now) || s.isShortenedSince(then, now) {
			return
		}
		r.comparePrefix(then, now)
	})
}

// isCompactedSince reports whether now holds a compaction that then did not: the
// provider's own summary replaces what stood before it.
func isCompactedSince(then, now *exchange) bool {
	had := map[string]bool{}
	for _, text := range then.compactions() {
		had[text] = true
	}
	return slices.ContainsFunc(now.compactions(), func(text string) bool { return !had[text] })
}

// isShortenedSince reports whether the provider refused the conversation as too long after
// then, and now is shorter than what was refused: to leave out a part of it is the remedy,
// for a summary of it as well. State that is bound to what stands before it must go, too.
func (s *Trace) isShortenedSince(then, now *exchange) bool {
	return !now.bindsPrefix() && slices.ContainsFunc(s.x[then.n:now.n], func(x *exchange) bool {
		return x.Provider == now.Provider && x.reply.End == wire.Refused && x.refusal.Kind == RefusedLength &&
			x.lastReply() == then && len(now.Request.Body) < len(x.Request.Body)
	})
}

// compactions lists what the compactions of the request hold.
func (x *exchange) compactions() (list []string) {
	for it := range wire.Each(x.req.Items) {
		if strings.HasPrefix(it.Type, "compaction") {
			list = append(list, it.Text+it.Node.Text("encrypted_content"))
		}
	}
	return list
}

// element is one thing in a history: an item of the client's or one that nobody
// recorded, or all of one reply. in is the exchange that holds it.
type element struct {
	item      *wire.Item
	reply, in *exchange
}

// elements lists what the request holds in order. Hidden state is left to the SIG
// checks, which know when it may go, and what became of a reply to those that
// compare it with what was emitted.
func (x *exchange) elements() (list []element) {
	n := 0
	for i := range x.req.Items {
		it := &x.req.Items[i]
		for n < len(x.runs) && x.runs[n].to <= i {
			n++
		}
		var owner *exchange
		if n < len(x.runs) && x.runs[n].from <= i {
			owner = x.owners[n][i-x.runs[n].from]
		}
		switch k := len(list) - 1; {
		case it.Continuity() && owner == nil:
		case owner != nil && k >= 0 && list[k].reply == owner:
		default:
			list = append(list, element{it, owner, x})
		}
	}
	return list
}

// history lists what the provider reads before it answers: the request, behind what the
// provider holds itself under the response that it names. isWhole is false where that was
// not recorded.
func (x *exchange) history() (list []element, isWhole bool) {
	switch {
	case !x.wire.Has(wires.StoresReplies) || !x.req.Stateful:
		return x.elements(), true
	case x.base == nil:
		return nil, false
	}
	if list, isWhole = x.base.history(); len(x.base.reply.Items) > 0 {
		list = append(list, element{&x.base.reply.Items[0], x.base, x.base})
	}
	return append(list, x.elements()...), isWhole
}

// comparePrefix adds a finding where the history of now does not begin with that of
// then. What the provider alone knows is not compared.
func (r *report) comparePrefix(then, now *exchange) {
	was, isWhole := then.history()
	is, isKnown := now.history()
	if !isWhole || !isKnown {
		return
	}
	r.addObserved(len(then.req.Items))
	for k, a := range was {
		if k >= len(is) {
			at := wire.At(nil, a.item.Place.Path)
			r.addPrefixFinding(now, at, "%s that exchange %d sent at %s is gone, with everything after it", a.item.What,
				a.in.Index, a.item.Place.Path)
			return
		}
		if begun := then.begunAnswer(); begun != "" && k == len(was)-1 && is[k].reply == then &&
			strings.HasPrefix(is[k].item.Text, begun) {
			return // the client joined the reply to the beginning that it had given
		}
		if difference := elementDifference(now.Provider, a, is[k]); difference != nil {
			if shift := describeShift(now.Provider, was[k:], is[k:]); shift != "" {
				r.addPrefixFinding(now, is[k].item.Place, "%s", shift).Form = "shifted"
				return
			}
			f := r.addPrefixFinding(now, is[k].item.Place,
				"%s that exchange %d sent at %s is not what stands there now: %s", a.item.What, a.in.Index,
				a.item.Place.Path, difference)
			if !now.bindsPrefix() && a.in.standsForRefused(a.item) {
				f.Consequence = specs.Degraded
			}
			return
		}
	}
}

// mostShifted is how many elements may be inserted or lost at one place and still be named as that.
const mostShifted = 8

// describeShift says what was inserted into a history, or lost from it, where the rest of it goes on unchanged; empty
// where the histories differ in another way. Both begin where they differ.
func describeShift(provider string, was, is []element) string {
	goesOn := func(was, is []element) bool {
		n := min(len(was), len(is), 3)
		for j := range n {
			if elementDifference(provider, was[j], is[j]) != nil {
				return false
			}
		}
		return n == 3 || n > 0 && n == len(was)
	}
	name := func(list []element) string {
		if more := len(list) - 1; more > 0 {
			return fmt.Sprintf("%s and %d more", list[0], more)
		}
		return list[0].String()
	}
	for d := 1; d <= mostShifted; d++ {
		switch {
		case d < len(is) && goesOn(was, is[d:]):
			return fmt.Sprintf("inserted into the history: %s, before what exchange %d sent at %s", name(is[:d]),
				was[0].in.Index, was[0].item.Place.Path)
		case d < len(was) && goesOn(was[d:], is):
			return fmt.Sprintf("lost from the history: %s, which exchange %d sent at %s", name(was[:d]),
				was[0].in.Index, was[0].item.Place.Path)
		}
	}
	return ""
}

// String names the element for a report.
func (e element) String() string {
	if e.reply != nil {
		return fmt.Sprintf("the reply of exchange %d", e.reply.Index)
	}
	return "the " + e.item.Role + "'s " + e.item.What.String()
}

// standsForRefused reports whether a result of x was put in the place of one with a medium
// that the provider refused. Its words are the client's, and not what a tool returned.
func (x *exchange) standsForRefused(result *wire.Item) bool {
	if x.previous == nil || result.What != wire.Result || result.ID == "" {
		return false
	}
	return slices.ContainsFunc(x.previous.followers, func(refused *exchange) bool {
		if refused.reply.End != wire.Refused {
			return false
		}
		named := refused.refusedMedium()
		return named != nil && slices.ContainsFunc(refused.req.Items, func(it wire.Item) bool {
			return it.ID == result.ID && it.What == wire.Result && strings.HasPrefix(named.Place.Path, it.Place.Path)
		})
	})
}

// elementDifference says how b differs from a, nil when it does not: a text or a
// difference to show. Cache marks do not count; A-43 is about their number.
func elementDifference(provider string, a, b element) any {
	switch was, is := a.item, b.item; {
	case a.reply != nil && a.reply == b.reply, is.Type == referenceType:
		return nil
	case a.reply != nil && b.reply != nil:
		return "the reply of another exchange"
	case was.What != is.What || was.Role != is.Role:
		return is.What.String() + " of the " + is.Role
	case was.What == wire.Text && was.Text != is.Text:
		return describeTextDifference(was.Text, is.Text)
	case was.What == wire.Text || was.Node == nil || is.Node == nil:
		return nil
	default:
		if path, what := diffMembers(provider, was.Node, is.Node, "cache_control", "thoughtSignature",
			"thought_signature", "thought"); path != "=" {
			return strings.TrimSpace(path + " " + what)
		}
		return nil
	}
}

// keepsPrompt reports whether now should hold the system prompt and the tools that
// then held: the provider keeps neither, and no other agent took over.
func keepsPrompt(then, now *exchange) bool {
	return !now.req.Stateful && !then.req.Stateful && (now.bindsPrefix() || !isHandoff(then, now))
}

// isHandoff reports whether another agent, with a system prompt and tools of its own, goes on
// with the conversation: the model called a tool that is gone, or the agent only reads along.
func isHandoff(then, now *exchange) bool {
	if sameSystem(then.req.System, now.req.System) {
		return false
	}
	return now.beginsSideBranch() && isOtherAgent(then, now) ||
		slices.ContainsFunc(then.reply.Items, func(it wire.Item) bool {
			return it.What == wire.Call && offersTool(then, it.Name) && !offersTool(now, it.Name)
		})
}

// isOtherAgent reports whether both have tools, not the same ones, and system prompts that
// differ from their first half on: a prompt that was only edited is still that of one agent.
func isOtherAgent(then, now *exchange) bool {
	was, is := textOf(then.req.System), textOf(now.req.System)
	return hasTools(then) && hasTools(now) && diffTools(then, now) != "" &&
		2*decide.FirstDifference(was, is) < min(len(was), len(is))
}

func offersTool(x *exchange, name string) bool {
	return slices.ContainsFunc(toolDefinitions(x.req.Tools), func(t *tree.Node) bool { return toolName(t) == name })
}

func systemConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if !keepsPrompt(then, now) {
			return
		}
		r.addObserved(1)
		if path, what := diffSystem(then.req.System, now.req.System); path != "=" {
			r.addPrefixFinding(now, wire.At(now.req.System, "system"),
				"the system prompt is not that of exchange %d: system%s %s", then.Index, path, what)
		}
	})
}

func toolsConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if !keepsPrompt(then, now) {
			return
		}
		r.addObserved(1)
		if what := diffTools(then, now); what != "" {
			r.addPrefixFinding(now, wire.At(now.req.Tools, "tools"), "the tools are not those of exchange %d: %s",
				then.Index, what)
		}
	})
}

func (r *report) compareBytes(then, now *exchange) {
	for i := range min(len(then.req.Items), len(now.req.Items)) {
		a, b := &then.req.Items[i], &now.req.Items[i]
		was, errWas := tree.Parse([]byte(a.Args))
		is, err := tree.Parse([]byte(b.Args))
		if errWas != nil || err != nil || a.ID != b.ID || !canBeRespelled(was) || !tree.Equal(was, is) {
			continue // another requirement's matter, or nothing that could be written differently
		}
		r.addObserved(1)
		if !tree.SameTokens(was, is) {
			r.addFinding(now, b.Place, "",
				"the arguments mean the same as in exchange %d and are written differently: %s", then.Index,
				describeTextDifference(a.Args, b.Args))
			return
		}
	}
}

// canBeRespelled reports whether arguments have an order or strings to write differently.
func canBeRespelled(args *tree.Node) bool {
	return len(args.Items()) > 1 || len(args.Items()) == 1 && args.Items()[0].Text() != ""
}

// diffTools says what tool definitions changed since then, "" for nothing. A deferred
// tool is not part of the prompt: it may be added and stand anywhere, and until the
// conversation loads it, it may change and go. A tool search may add others.
func diffTools(then, now *exchange) string {
	was, is := toolDefinitions(then.req.Tools), toolDefinitions(now.req.Tools)
	last := -1
	for _, t := range was {
		name := toolName(t)
		k := slices.IndexFunc(is, func(o *tree.Node) bool { return toolName(o) == name })
		if isDeferred(t) && (k < 0 || isDeferred(is[k])) &&
			!slices.ContainsFunc(now.req.Items, func(it wire.Item) bool {
				switch it.What {
				case wire.Call:
					return it.Name == name
				case wire.Result, wire.Opaque:
					return namesTool(it.Node, name)
				default:
					return false
				}
			}) {
			continue
		}
		if k < 0 {
			return "tool " + name + " is gone"
		}
		if path, what := diffMembers(now.Provider, t, is[k], "cache_control", "defer_loading"); path != "=" {
			return strings.TrimSpace("tool " + name + path + " " + what)
		}
		if isDeferred(t) {
			continue
		}
		if k < last {
			return "tool " + name + " stands in another place"
		}
		last = k
	}
	for _, t := range is {
		known := slices.ContainsFunc(was, func(o *tree.Node) bool { return toolName(o) == toolName(t) })
		if !known && !isDeferred(t) && !isLoadedBySearch(now, toolName(t)) {
			return "tool " + toolName(t) + " is new"
		}
	}
	return ""
}

func isDeferred(tool *tree.Node) bool { return tool.True("defer_loading") }

// toolDefinitions lists the tools one by one, as Gemini groups them.
func toolDefinitions(tools *tree.Node) (list []*tree.Node) {
	all := tools.List()
	if tools.Is(tree.Object) {
		all = []*tree.Node{tools}
	}
	for _, t := range all {
		if group := t.Any("functionDeclarations", "function_declarations"); group != nil {
			list = append(list, group.List()...)
			continue
		}
		list = append(list, t)
	}
	return list
}

// toolName returns what identifies a tool: its name, else its kind.
func toolName(t *tree.Node) string {
	for _, member := range []string{"name", "server_label", "type"} {
		if s := t.Text(member); s != "" {
			return s
		}
		if s := t.Get(t.Text("type")).Get(member).Text(); s != "" &&
			member == "name" { // {"type":"function","function":{"name":…}}
			return s
		}
	}
	if t.Is(tree.Object) && len(t.Names()) > 0 {
		return t.Names()[0]
	}
	return ""
}

// isLoadedBySearch reports whether a tool search of the conversation found the tool:
// the provider's own, or a client's whose result names it. A client's cannot add
// tools to a prefix that the provider has bound.
func isLoadedBySearch(x *exchange, name string) bool {
	for it := range wire.Each(x.req.Items) {
		switch {
		case name == "" || it.Node == nil:
		case it.What == wire.Result && !x.bindsPrefix() && strings.Contains(textOf(it.Node), name):
			return true
		case it.What == wire.Result || it.What == wire.Opaque:
			if namesTool(it.Node, name) {
				return true
			}
		default: // neither the question nor what is said about it loads a tool
		}
	}
	return false
}

// namesTool reports whether n holds a reference to the tool, or its definition.
func namesTool(n *tree.Node, name string) bool {
	if n == nil {
		return false
	}
	isIt := func(t *tree.Node) bool { return toolName(t) == name }
	return n.Text("tool_name") == name || slices.ContainsFunc(n.List("tools"), isIt) ||
		slices.ContainsFunc(n.Items(), func(v *tree.Node) bool { return namesTool(v, name) })
}
