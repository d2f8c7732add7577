package openai

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

var replyRules = []rule.ReplyRule[*sentReply]{
	rule.Owes("SV-H1", "", onExchange(rule.FormIsAsked)),
	rule.Owes("SV-H2", "STR-004/grammar", onExchange(rule.NamesFit)),
	rule.Owes("SV-H2", "", onExchange(rule.NamesEvents("degraded"))), // OpenAI's SDKs read the type in the data
	rule.Owes("SV-O1", "STR-004/grammar", createdComesFirst),
	rule.Owes("SV-O1", "", createdIsWhole),
	rule.Owes("SV-O2", "STR-004/grammar", sequenceCounts),
	rule.Owes("SV-O3", "STR-004/grammar", itemsAreAdded),
	rule.Owes("SV-O3", "", startsAreWhole),
	rule.Owes("SV-O4", "", partsOpenAndClose),
	rule.Owes("SV-O5", "STR-006/deltas", func(a *sentReply, p *rule.Pass) { a.compareDeltas(p, false) }),
	rule.Owes("SV-O5", "", textsAgree),
	rule.Owes("SV-O6", "", itemIDsStay),
	rule.Owes("SV-O7", "", callIDsStay),
	rule.Owes("SV-O8", "STR-006/deltas", func(a *sentReply, p *rule.Pass) { a.compareDeltas(p, true) }),
	rule.Owes("SV-O8", "", argumentsAgree),
	rule.Owes("SV-O9", "STR-004/grammar", itemsAreDone),
	rule.Owes("SV-O10", "STR-004/grammar", endsOnce),
	rule.Owes("SV-O10", "STR-002/terminal", onExchange(rule.EndsWhole)),
	rule.Owes("SV-O11", "", completedIsWhole),
	rule.Owes("SV-O12", "", usageAddsUp),
	rule.Owes("SV-O13", "", incompleteSaysWhy),
	rule.Owes("SV-O14", "", failureSaysWhy),
	rule.Owes("SV-O15", "", errorsStandAlone),
	rule.Owes("SV-O16", "", reasoningIsWhole),
	rule.Owes("SV-O17", "", customToolsAreCalled),
	rule.Owes("SV-O21", "", documentIsResponse),
	rule.Owes("SV-E3", "", envelopeFits),
}

// onExchange is a rule that needs the exchange alone.
func onExchange(run func(*rule.Exchange, *rule.Pass)) func(*sentReply, *rule.Pass) {
	return func(a *sentReply, p *rule.Pass) { run(a.Exchange, p) }
}

func judgeReply(x *rule.Exchange) []*rule.ReplyPass {
	return rule.JudgeReplies(replyRules, readSent(x))
}

func createdComesFirst(a *sentReply, p *rule.Pass) {
	if len(a.events) == 0 || a.events[0].JSON == nil {
		return
	}
	p.Observe()
	if t := a.events[0].Type(); strings.HasPrefix(t, "response.") && t != "response.created" &&
		t != "response.queued" && !a.resumed {
		p.ReportAt(a.EventPlace(0), "the stream starts with %s, not with response.created", t)
	}
}

func createdIsWhole(a *sentReply, p *rule.Pass) {
	for i, e := range a.events {
		if t := e.Type(); t == "response.created" || t == "response.in_progress" {
			p.Observe()
			a.CheckMembers(p, t, i, e.JSON.Get("response"), "response", "id created_at:number model output:array")
		}
	}
}

// sequenceCounts: old recordings have no numbers at all.
func sequenceCounts(a *sentReply, p *rule.Pass) {
	last := -1
	for i, e := range a.events {
		n := e.JSON.Get("sequence_number")
		switch {
		case e.JSON == nil:
		case n == nil && (a.SawAll || last >= 0) && e.Type() != "":
			p.ReportAt(a.EventPlace(i), "%s has no sequence_number", e.Type())
		case n == nil:
			p.Observe()
		default:
			if p.Observe(); last >= 0 && n.Int() != last+1 {
				p.ReportAt(a.EventPlace(i), "sequence_number %d follows %d", n.Int(), last)
				return // one break shows that the events are not counted
			}
			last = n.Int()
		}
	}
}

func itemsAreAdded(a *sentReply, p *rule.Pass) {
	if a.resumed {
		return
	}
	if a.lost != nil {
		p.ReportAt(a.EventPlace(a.lost[0]), "%s has no output_index", a.events[a.lost[0]].Type())
	}
	for _, it := range a.items {
		if it.first < 0 {
			return // of a document
		}
		p.Observe()
		for _, i := range it.strays[:min(1, len(it.strays))] { // the first one says why
			state := "which was not added"
			if it.added >= 0 && it.done >= 0 && i > it.done {
				state = "which is done"
			}
			p.ReportAt(a.EventPlace(i), "%s for item %d, %s", a.events[i].Type(), it.index, state)
		}
		if it.first == it.done && it.done >= 0 {
			p.ReportAt(a.EventPlace(it.done), "item %d is done and was never added", it.index)
		}
	}
}

// startsAreWhole: what clients open an item with.
func startsAreWhole(a *sentReply, p *rule.Pass) {
	for _, it := range a.items {
		if it.added < 0 {
			continue
		}
		p.Observe()
		switch t := it.start.Text("type"); t {
		case "message":
			a.CheckMembers(p, "the start of a message", it.added, it.start, "item", "role")
		case "function_call":
			a.CheckMembers(p, "the start of a call", it.added, it.start, "item", "name call_id")
			if args := it.start.Get("arguments"); args.Text() != "" && it.argumentDeltas() > 0 {
				p.ReportAt(a.At(it.added, args, "item.arguments"),
					"the start of a call has arguments already, and deltas follow")
			}
		case "":
			p.ReportAt(a.EventPlace(it.added), "the start of item %d has no type", it.index)
		}
	}
}

func (it *sentItem) argumentDeltas() (n int) {
	for _, part := range it.parts {
		if isArgument(part.stem) {
			n += part.deltas
		}
	}
	return n
}

// partsOpenAndClose: content_part.added, deltas, text.done, content_part.done.
func partsOpenAndClose(a *sentReply, p *rule.Pass) {
	if a.resumed {
		return
	}
	for _, it := range a.items {
		for _, name := range it.order {
			part := it.parts[name]
			if isArgument(part.stem) {
				if p.Observe(); part.done < 0 && it.done >= 0 {
					p.ReportAt(a.EventPlace(part.first), "%s.done is missing for item %d", part.stem, it.index)
				}
				continue
			}
			p.Observe()
			isOver := it.done >= 0 && it.end.Text("status") != "incomplete"
			switch {
			case part.opened < 0 || part.opened > part.first:
				p.ReportAt(a.EventPlace(part.first), "%s for item %d comes before its part was added",
					a.events[part.first].Type(), it.index)
			case isOver && part.done < 0:
				p.ReportAt(a.EventPlace(it.done), "item %d is done without %s.done", it.index, part.stem)
			case isOver && part.closed < 0:
				p.ReportAt(a.EventPlace(it.done), "item %d is done while a part of it is open", it.index)
			case isOver && (part.done > part.closed || part.closed > it.done):
				p.ReportAt(a.EventPlace(part.closed), "the part of item %d closes out of order", it.index)
			}
		}
		if it.end.Text("type") == "message" && len(it.order) == 0 && it.done >= 0 && len(it.end.List("content")) > 0 {
			p.ReportAt(a.EventPlace(it.done), "message %d is done, and none of its parts was added", it.index)
		}
	}
}

// compareDeltas judges that what the deltas of a part add up to is what its end says.
func (a *sentReply) compareDeltas(p *rule.Pass, arguments bool) {
	if a.resumed {
		return
	}
	for _, it := range a.items {
		for _, name := range it.order {
			part := it.parts[name]
			if isArgument(part.stem) != arguments || part.done < 0 {
				continue
			}
			p.Observe()
			sum, whole := part.text.String(), part.whole.Text()
			if sum != whole && !(part.stem == "response.reasoning_summary_text" && isRestart(sum, whole)) {
				p.ReportAt(a.EventPlace(part.done), "%s is not what its deltas add up to: it %s",
					a.events[part.done].Type(), rule.Difference{Was: sum, Is: whole})
			}
		}
	}
}

// isRestart reports whether deltas hold a text that the provider gave up, and from its first
// words on began anew: a recording of OpenAI's own stream shows a summary of that kind. A
// piece that was sent twice stands in the text, one that was put in is the shorter part.
func isRestart(deltas, whole string) bool {
	begun := 0
	for begun < len(whole) && begun < len(deltas) && whole[begun] == deltas[begun] {
		begun++
	}
	end := begun + len(deltas) - len(whole)
	return min(end, len(whole)) > 2*begun && strings.HasSuffix(deltas, whole[begun:]) && !strings.Contains(whole,
		deltas[begun:end])
}

// textsAgree: text.done, part.done, item.done and the completed response say the same.
func textsAgree(a *sentReply, p *rule.Pass) {
	if a.resumed {
		return
	}
	for _, it := range a.items {
		said := ""
		for _, name := range it.order {
			part := it.parts[name]
			if isArgument(part.stem) {
				continue
			}
			if part.done < 0 {
				said += part.text.String()
				continue
			}
			if p.Observe(); part.closing != nil && part.closing.Text() != part.whole.Text() {
				p.ReportAt(a.EventPlace(part.closed), "the part says another text than %s.done: it %s", part.stem,
					rule.Difference{Was: part.whole.Text(), Is: part.closing.Text()})
			}
			if part.stem != "response.reasoning_summary_text" && part.stem != "response.reasoning_text" {
				said += part.whole.Text()
			}
		}
		for _, whole := range []struct {
			n     *tree.Node
			event int
			what  string
		}{{it.end, it.done, "output_item.done"}, {it.final, a.at, "the completed response"}} {
			if whole.n.Text("type") != "message" || len(it.order) == 0 || whole.event < 0 {
				continue
			}
			if text := joinTexts(whole.n.Get("content")); text != said {
				p.ReportAt(a.At(whole.event, whole.n, ""), "%s has another text than the events of item %d: it %s",
					whole.what, it.index, rule.Difference{Was: said, Is: text})
			}
		}
	}
}

// itemIDsStay: the id of an item is the same wherever it stands.
func itemIDsStay(a *sentReply, p *rule.Pass) {
	if a.resumed {
		return
	}
	owner := map[string]int{}
	for _, it := range a.items {
		p.Observe()
		id := it.end.Text("id")
		if it.end == nil {
			id = it.start.Text("id")
		}
		if id == "" {
			if it.start.Get("id") != nil || it.end.Get("id") != nil || len(it.ids) > 0 {
				p.ReportAt(a.itemPlace(it), "item %d has no id", it.index)
			}
			continue
		}
		if other, taken := owner[id]; taken && other != it.index {
			p.ReportAt(a.itemPlace(it), "items %d and %d have the id %s", other, it.index, rule.Shorten(id))
		}
		owner[id] = it.index
		if it.start != nil && it.start.Text("id") != id {
			p.ReportAt(a.itemPlace(it), "item %d is added as %s and done as %s", it.index,
				rule.Shorten(it.start.Text("id")), rule.Shorten(id))
		}
		for _, i := range it.ids {
			if got := a.events[i].JSON.Text("item_id"); got != id {
				p.ReportAt(a.EventPlace(i), "item_id is %q, and item %d has the id %s", rule.Shorten(got), it.index,
					rule.Shorten(id))
				break
			}
		}
		if it.final != nil && a.at >= 0 && it.final.Text("id") != id {
			p.ReportAt(a.At(a.at, it.final, "response.output"), "item %d is done as %s and completed as %s",
				it.index, rule.Shorten(id), rule.Shorten(it.final.Text("id")))
		}
	}
}

const maxCallID = 64

func callIDsStay(a *sentReply, p *rule.Pass) {
	owner := map[string]int{}
	for _, it := range a.items {
		n := it.end
		if n == nil {
			n = it.start
		}
		if t := n.Text("type"); t != "function_call" && t != "custom_tool_call" {
			continue
		}
		p.Observe()
		id := n.Text("call_id")
		other, taken := owner[id]
		switch {
		case id == "" || len(id) > maxCallID:
			p.ReportAt(a.itemPlace(it), "call_id %q of item %d is not 1 to %d characters", rule.Shorten(id),
				it.index, maxCallID)
		case taken:
			p.ReportAt(a.itemPlace(it), "items %d and %d have the call_id %s", other, it.index, id)
		case it.start != nil && it.start.Text("call_id") != id, it.final != nil && it.final.Text("call_id") != id:
			p.ReportAt(a.itemPlace(it), "the call_id of item %d changes from %s to %s", it.index,
				rule.Shorten(it.start.Text("call_id")), rule.Shorten(it.final.Text("call_id")))
		}
		owner[id] = it.index
	}
}

// argumentsAgree: arguments.done, item.done and the completed response have the same arguments,
// which are one JSON object.
func argumentsAgree(a *sentReply, p *rule.Pass) {
	for _, it := range a.items {
		t := it.end.Text("type")
		if t != "function_call" && t != "custom_tool_call" {
			continue
		}
		p.Observe()
		args := it.end.Any("arguments", "input")
		for _, part := range it.parts {
			if isArgument(part.stem) && part.done >= 0 && part.whole.Text() != args.Text() {
				p.ReportAt(a.itemPlace(it),
					"the arguments of item %d differ between %s.done and output_item.done: it %s", it.index,
					part.stem, rule.Difference{Was: part.whole.Text(), Is: args.Text()})
			}
		}
		if it.final != nil && it.final.Any("arguments", "input").Text() != args.Text() {
			p.ReportAt(a.itemPlace(it),
				"the arguments of item %d differ between output_item.done and the completed response: it %s",
				it.index, rule.Difference{Was: args.Text(), Is: it.final.Any("arguments", "input").Text()})
		}
		if n, err := tree.Parse(args.Text()); t == "function_call" && it.end.Text("status") != "incomplete" &&
			(err != nil || !n.Is(tree.Object)) {
			p.ReportAt(a.itemPlace(it), "the arguments of item %d are not a JSON object: %q", it.index,
				rule.Shorten(args.Text()))
		}
	}
}

// itemsAreDone: an item that was added is done; the results of MCP servers may stand in the completed
// response only.
func itemsAreDone(a *sentReply, p *rule.Pass) {
	if !a.completes() || a.at < 0 {
		return
	}
	for _, it := range a.items {
		isListed := it.final != nil && strings.HasPrefix(it.final.Text("type"), "mcp_")
		if p.Observe(); it.done < 0 && !isListed {
			p.ReportAt(a.EventPlace(a.at), "item %d was added and is not done", it.index)
		}
	}
	for i, n := range a.response.List("output") {
		if a.byIndex[i] == nil && a.lost == nil && !strings.HasPrefix(n.Text("type"), "mcp_") {
			p.ReportAt(a.At(a.at, n, fmt.Sprintf("response.output[%d]", i)),
				"no event speaks of item %d of the completed response", i)
		}
	}
}

func endsOnce(a *sentReply, p *rule.Pass) {
	end := ""
	for i, e := range a.events {
		if e.JSON == nil {
			continue
		}
		t := e.Type()
		if p.Observe(); end != "" && (end != "error" || t != "response.failed") {
			p.ReportAt(a.EventPlace(i), "%s comes after %s", t, end)
			return // the other events after it have the same cause
		}
		if slices.Contains(a.ends, i) {
			end = t
		}
	}
}

func completedIsWhole(a *sentReply, p *rule.Pass) {
	if !a.completes() {
		return
	}
	p.Observe()
	if output := a.response.Get("output"); len(a.items) == 0 && len(output.List()) == 0 &&
		a.response.Int("usage", "output_tokens") > 0 {
		p.ReportAt(a.At(a.at, output, "output"), "the response has no item, and counts %s tokens of output",
			a.response.Raw("usage", "output_tokens"))
	}
	if a.at < 0 {
		return
	}
	a.CheckMembers(p, "the completed response", a.at, a.response, "response", "id output:array")
	if status := a.response.Get("status"); status.Text() != "completed" {
		p.ReportAt(a.At(a.at, status, "response.status"), "the completed response has the status %q",
			rule.Shorten(status.Text()))
	}
	if id := a.response.Text("id"); a.created >= 0 && id != "" &&
		a.events[a.created].JSON.Text("response", "id") != id {
		p.ReportAt(a.At(a.at, a.response.Get("id"), "response.id"), "the response is created as %s and completed as %s",
			rule.Shorten(a.events[a.created].JSON.Text("response", "id")), rule.Shorten(id))
	}
	for i, n := range a.response.List("output") {
		if it := a.itemWithID(n.Text("id")); it != nil && it.index != i {
			p.ReportAt(a.At(a.at, n, fmt.Sprintf("response.output[%d]", i)),
				"the completed response has item %d in place %d", it.index, i)
			break // the others of a row that moved are no other cause
		}
	}
	if output := a.response.Get("output"); output.Is(tree.Array) && len(output.List()) < len(a.items) {
		p.ReportAt(a.At(a.at, output, "response.output"), "the completed response has %d of %d items",
			len(output.List()), len(a.items))
	}
}

// usageAddsUp: totals are there, and are sums.
func usageAddsUp(a *sentReply, p *rule.Pass) {
	if !a.completes() {
		return
	}
	p.Observe()
	usage := a.response.Get("usage")
	at := a.At(a.at, usage, "usage")
	if !usage.Is(tree.Object) {
		p.ReportAt(at, "the response is completed without usage")
		return
	}
	for _, name := range []string{"input_tokens", "output_tokens", "total_tokens"} {
		if !usage.Get(name).Is(tree.Integer) {
			p.ReportAt(at, "usage has no %s that is an integer", name)
			return
		}
	}
	if in, out, total := usage.Int("input_tokens"), usage.Int("output_tokens"),
		usage.Int("total_tokens"); in+out != total {
		p.ReportAt(at, "%d input and %d output tokens are %d in total, not %d", in, out, in+out, total)
	}
	for _, d := range [][2]string{{"input_tokens_details", "cached_tokens"},
		{"output_tokens_details", "reasoning_tokens"}} {
		if usage.Get(d[0]).Is(tree.Object) && !usage.Get(d[:]...).Is(tree.Integer) {
			p.ReportAt(at, "usage.%s has no %s that is an integer", d[0], d[1])
		}
	}
}

func incompleteSaysWhy(a *sentReply, p *rule.Pass) {
	if a.response.Text("status") != "incomplete" && a.endType() != "response.incomplete" {
		return
	}
	p.Observe()
	at, reason := a.At(a.at, a.response, "incomplete_details.reason"), a.response.Text("incomplete_details", "reason")
	if reason == "" {
		p.ReportAt(at, "the response is incomplete and does not say why")
	} else if reason != "max_output_tokens" && reason != "content_filter" {
		p.ReportAt(at, "the reason %.40q is none of max_output_tokens and content_filter", reason).Consequence = "degraded"
	}
	for i, it := range a.items {
		if it.end.Text("status") == "incomplete" && i < len(a.items)-1 {
			p.ReportAt(a.itemPlace(it), "item %d is incomplete, and others follow", it.index)
		}
	}
}

func failureSaysWhy(a *sentReply, p *rule.Pass) {
	if a.endType() != "response.failed" {
		return
	}
	p.Observe()
	if failure := a.response.Get("error"); failure.Text("code") == "" || failure.Text("message") == "" {
		p.ReportAt(a.At(a.at, a.response, "response.error"),
			"response.failed has no response.error with code and message")
	}
}

func errorsStandAlone(a *sentReply, p *rule.Pass) {
	for i, e := range a.events {
		failure := e.JSON.Get("error")
		switch t := e.Type(); {
		case t == "error":
			if p.Observe(); e.JSON.Text("message") == "" && failure.Text("message") == "" {
				p.ReportAt(a.EventPlace(i), "the error event has no message")
			}
		case !failure.Null() && !failure.False():
			p.ReportAt(a.At(i, failure, "error"), "the event of type %q holds an error, and is neither error nor "+
				"response.failed", t)
		}
	}
}

// reasoningIsWhole: with the summary, and with the encrypted content if the request asks for it.
func reasoningIsWhole(a *sentReply, p *rule.Pass) {
	asked := slices.ContainsFunc(a.Asked.Doc.List("include"),
		func(n *tree.Node) bool { return n.Text() == "reasoning.encrypted_content" })
	for _, it := range a.items {
		if it.end.Text("type") != "reasoning" {
			continue
		}
		if p.Observe(); !it.end.Get("summary").Is(tree.Array) {
			p.ReportAt(a.itemPlace(it), "reasoning item %d has no summary", it.index)
		}
		if asked && it.end.Text("encrypted_content") == "" && it.end.Text("status") != "incomplete" {
			p.ReportAt(a.itemPlace(it), "reasoning item %d has no encrypted_content, which the request includes",
				it.index)
		}
	}
}

// customToolsAreCalled: a tool of type custom is not called as a function.
func customToolsAreCalled(a *sentReply, p *rule.Pass) {
	custom, functions := map[string]bool{}, map[string]bool{}
	for _, tool := range a.Asked.Tools.List() {
		name := tool.Text("name")
		custom[name] = custom[name] || tool.Text("type") == "custom"
		functions[name] = functions[name] || tool.Text("type") == "function"
	}
	for _, it := range a.items {
		n := it.end
		if n == nil {
			n = it.start
		}
		name, t := n.Text("name"), n.Text("type")
		if t != "function_call" && t != "custom_tool_call" || !custom[name] || functions[name] {
			continue
		}
		if p.Observe(); t == "function_call" {
			p.ReportAt(a.itemPlace(it), "the custom tool %s is called by a function_call", rule.Shorten(name))
		}
	}
}

// documentIsResponse: the members of a response in one piece.
func documentIsResponse(a *sentReply, p *rule.Pass) {
	if a.at >= 0 || a.response == nil {
		return
	}
	p.Observe()
	a.CheckMembers(p, "the response", -1, a.response, "", "id model status created_at:number output:array")
	if status := a.response.Get("status"); a.Reply.End == wire.Pending && a.Asked.Op == wire.Generate &&
		a.Asked.Doc != nil && !a.Asked.Doc.True("background") {
		p.ReportAt(a.At(-1, status, "status"),
			"the response has the status %q, and nobody asked for it in the background", rule.Shorten(status.Text()))
	}
	if object := a.response.Get("object"); object.Text() != "response" {
		p.ReportAt(a.At(-1, object, "object"), "the object of the response is %q, not response",
			rule.Shorten(object.Text())).Consequence = string(specs.Cosmetic)
	}
}

func envelopeFits(a *sentReply, p *rule.Pass) {
	if doc := a.Reply.Doc; a.Status >= http.StatusBadRequest && doc != nil {
		if p.Observe(); doc.Text("error", "message") == "" {
			p.ReportAt(a.EventPlace(-1),
				"the error with status %d is not {\"error\":{\"message\",\"type\",\"param\",\"code\"}}: %s", a.Status,
				rule.Shorten(doc.Raw()))
		}
	}
}
