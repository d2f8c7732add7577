package chat

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// replyRules judge what a server of Chat Completions owes its clients.
var replyRules = []rule.ReplyRule[*rule.Exchange]{
	rule.Owes("SV-H1", "", rule.FormIsAsked),
	rule.Owes("SV-C1", "", documentIsCompletion),
	rule.Owes("SV-C2", "", chunksAreChunks),
	rule.Owes("SV-C3", "", callsJoin),
	rule.Owes("SV-C4", "", argumentsAreJSON),
	rule.Owes("SV-C4", "", argumentsAreText),
	rule.Owes("SV-C5", "", stopsForReason),
	rule.Owes("SV-C5", "", openReasonIsNull),
	rule.Owes("SV-C6", "STR-002/terminal", rule.EndsWhole),
	rule.Owes("SV-C7", "", nothingAfterError),
	rule.Owes("SV-C8", "", usageAddsUp),
	rule.Owes("SV-C9", "", errorSaysWhat),
	rule.Owes("SV-C10", "", callsStopForCalls),
	rule.Owes("SV-C11", "", callsHaveIndexes),
	rule.Owes("SV-C12", "", usageIsSaid),
}

func judgeReply(x *rule.Exchange) []*rule.ReplyPass { return rule.JudgeReplies(replyRules, x) }

// documentIsCompletion judges that a reply in one piece has choices, each with a message.
func documentIsCompletion(x *rule.Exchange, p *rule.Pass) {
	if x.Status != http.StatusOK || x.Reply.Form != wire.Document || x.Reply.Err != nil {
		return
	}
	choices := x.Reply.Doc.Get("choices")
	if p.Observe(); len(choices.List()) == 0 {
		p.ReportAt(x.At(-1, x.Reply.Doc, "choices"), "the reply has no choice")
	}
	for i, c := range choices.List() {
		if p.Observe(); !c.Get("message").Is(tree.Object) {
			p.ReportAt(x.At(-1, c, "choices["+strconv.Itoa(i)+"].message"), "the choice has no message")
		}
	}
}

// chunksAreChunks judges that each event but [DONE] is an object with choices or an error.
func chunksAreChunks(x *rule.Exchange, p *rule.Pass) {
	if !x.IsStream() {
		return
	}
	for i, e := range x.Reply.Events {
		if !e.HasData || isDone([]byte(e.Data)) {
			continue
		}
		if p.Observe(); !e.JSON.Is(tree.Object) {
			p.ReportAt(wire.Place{Event: i, Off: e.DataOff}, "the event is no JSON object, and not [DONE]")
		}
	}
}

// eachPiece visits the pieces of calls in a stream, each with its place, the indexes of its choice and call, and its name.
func eachPiece(x *rule.Exchange, visit func(at wire.Place, key [2]int, call *tree.Node, name string)) {
	for i, e := range x.Reply.Events {
		for j, c := range e.JSON.List("choices") {
			for _, call := range c.List("delta", "tool_calls") {
				visit(x.At(i, call, "choices["+strconv.Itoa(j)+"].delta.tool_calls"),
					[2]int{c.Int("index"), call.Int("index")}, call, call.Any("function", "custom").Text("name"))
			}
		}
	}
}

// callsJoin judges that each piece of a call can be joined with the others, by an index or by an id, and that the
// first piece alone names the call: accumulators of OpenAI's SDKs put texts of a call behind one another.
func callsJoin(x *rule.Exchange, p *rule.Pass) {
	type named struct{ id, name string }
	begun := map[[2]int]*named{}
	eachPiece(x, func(at wire.Place, key [2]int, call *tree.Node, name string) {
		id, first := call.Text("id"), begun[key]
		p.Observe()
		switch {
		case call.Get("index").Null():
			if id == "" && signatureOf(call).Null() {
				p.ReportAt(at, "a piece of a call has neither index nor id")
			}
		case first == nil || id != "" && name != "" && id != first.id: // two calls with one index are SV-C11
			begun[key] = &named{id, name}
			if name == "" && id != "" {
				p.ReportAt(at, "the first piece of the call %s has no name",
					rule.Shorten(id)).Consequence = "degraded"
			}
		case id != "" && first.id != "" && id != first.id:
			p.ReportAt(at, "the id of the call changes from %s to %s between two pieces", rule.Shorten(first.id),
				rule.Shorten(id))
		case name != "" && first.name != "":
			p.ReportAt(at, "a later piece of the call of %s has a name again, %s", rule.Shorten(first.name),
				rule.Shorten(name))
		}
	})
	seen := map[string]bool{}
	for i := range x.Reply.Items {
		it := &x.Reply.Items[i]
		if it.What != wire.Call || it.Type == "function_call" || x.Reply.End != wire.Complete {
			continue
		}
		switch p.Observe(); {
		case it.ID == "" || it.Name == "":
			p.ReportAt(it.Place, "the call %s lacks its id or its name", rule.Shorten(it.Name+it.ID))
		case seen[it.ID]:
			p.ReportAt(it.Place, "two calls have the id %s", rule.Shorten(it.ID))
		}
		seen[it.ID] = true
	}
}

// argumentsAreJSON judges the joined arguments of each call of a whole reply. Empty ones are of a tool without parameters.
func argumentsAreJSON(x *rule.Exchange, p *rule.Pass) {
	for i := range x.Reply.Items {
		it := &x.Reply.Items[i]
		if it.What != wire.Call || x.Reply.End != wire.Complete || x.Reply.Stop == "length" || it.Type == "custom" ||
			it.Args == "" {
			continue
		}
		p.Observe()
		if n, err := tree.Parse(it.Args); err != nil {
			p.ReportAt(it.Place, "the arguments of %s are no JSON once they are joined",
				rule.Shorten(it.Name)).Consequence = "degraded"
		} else if !n.Is(tree.Object) {
			p.ReportAt(it.Place, "the arguments of %s hold %s, not an object", rule.Shorten(it.Name),
				rule.Shorten(it.Args)).Consequence = "wrong"
		}
	}
}

// argumentsAreText judges that the arguments of a call are a text that holds JSON, not the JSON itself.
func argumentsAreText(x *rule.Exchange, p *rule.Pass) {
	judge := func(event int, doc *tree.Node) {
		for _, c := range doc.List("choices") {
			for _, call := range c.Any("delta", "message").List("tool_calls") {
				args := call.Get("function", "arguments")
				if args.Null() {
					continue
				}
				if p.Observe(); !args.Is(tree.String) {
					p.ReportAt(x.At(event, args, "function.arguments"), "the arguments of %s are no text: %s",
						rule.Shorten(call.Text("function", "name")), rule.Shorten(args.Raw())).Consequence = "wrong"
				}
			}
		}
	}
	judge(-1, x.Reply.Doc)
	for i, e := range x.Reply.Events {
		judge(i, e.JSON)
	}
}

// stopsForReason judges that a reply says why the model stopped. OpenAI's own models that speak do not say so in
// recordings.
func stopsForReason(x *rule.Exchange, p *rule.Pass) {
	if x.Reply.End != wire.Complete || strings.Contains(x.Asked.Model, "audio") {
		return
	}
	at := wire.Place{Event: len(x.Reply.Events) - 1, Off: len(x.Body)}
	switch p.Observe(); {
	case x.Reply.Stop == "":
		p.ReportAt(at, "the reply has no finish_reason").Consequence = "degraded"
	case slices.Contains(foreignReasons, x.Reply.Stop):
		p.ReportAt(at, "the finish_reason %s is one of another API", x.Reply.Stop).Consequence = "degraded"
	}
}

// openReasonIsNull judges that finish_reason is null while the model goes on: typed clients know no empty reason, and
// take the first for the end or the last. Some repeat the one that they gave.
func openReasonIsNull(x *rule.Exchange, p *rule.Pass) {
	ends := map[int]string{}
	for i, e := range x.Reply.Events {
		for _, c := range e.JSON.List("choices") {
			reason := c.Get("finish_reason")
			if p.Observe(); reason.Is(tree.String) && reason.Text() == "" {
				p.ReportAt(x.At(i, reason, "choices[0].finish_reason"),
					"the finish_reason is an empty text, not null").Consequence = "degraded"
				return
			}
			index, delta := c.Int("index"), c.Get("delta")
			last, isLater := ends[index]
			if isLater && (reason.Text() != "" && reason.Text() != last ||
				delta.Any("content", "reasoning_content", "reasoning").Text() != "" || len(delta.List("tool_calls")) > 0) {
				p.ReportAt(x.At(i, c, "choices[0].finish_reason"),
					"the reply goes on behind finish_reason %s", rule.Shorten(last)).Consequence = "degraded"
				return
			}
			if reason.Text() != "" {
				ends[index] = reason.Text()
			}
		}
	}
}

// foreignReasons are what other wires call the end of a reply. Vendors of Chat Completions have reasons of their own,
// which are not judged.
var foreignReasons = []string{"end_turn", "stop_sequence", "max_tokens", "tool_use", "STOP", "MAX_TOKENS", "completed",
	"incomplete"}

// nothingAfterError judges that no answer follows an error.
func nothingAfterError(x *rule.Exchange, p *rule.Pass) {
	failed := false
	for i, e := range x.Reply.Events {
		if failed {
			p.Observe()
			for _, c := range e.JSON.List("choices") {
				if reason := c.Text("finish_reason"); reason == "stop" || reason == "tool_calls" {
					p.ReportAt(x.At(i, c, "choices[0].finish_reason"), "the stream says %s after an error", reason)
				}
			}
		}
		failed = failed || !wire.ErrorOf(e.JSON).Null()
	}
}

// usageAddsUp judges that the total of the tokens is not below its parts.
func usageAddsUp(x *rule.Exchange, p *rule.Pass) {
	judge := func(event int, doc *tree.Node) {
		u := doc.Get("usage")
		in, okIn := u.Get("prompt_tokens").Number()
		out, okOut := u.Get("completion_tokens").Number()
		if total, ok := u.Get("total_tokens").Number(); okIn && okOut && ok {
			if p.Observe(); total < in || total < out {
				p.ReportAt(x.At(event, u, "usage.total_tokens"), "total_tokens %g is below its parts %g and %g", total,
					in, out).Consequence = "degraded"
			}
		}
	}
	judge(-1, x.Reply.Doc)
	for i, e := range x.Reply.Events {
		judge(i, e.JSON)
	}
}

// errorSaysWhat judges that a refusal has a message somewhere that clients look.
func errorSaysWhat(x *rule.Exchange, p *rule.Pass) {
	if x.Status < http.StatusBadRequest || x.Reply.Form != wire.Document {
		return
	}
	doc := x.Reply.Doc
	err := wire.ErrorOf(doc)
	if p.Observe(); err.Text() == "" && err.Text("message") == "" && doc.Any("message", "detail", "msg").Null() {
		p.ReportAt(wire.Place{Event: -1, Off: 0, Path: "error"}, "the error has no message").Consequence = "degraded"
	}
}

// callsStopForCalls judges that a reply with calls says so. OpenAI says stop where a named function was forced, and
// its models that speak do not say it in recordings.
func callsStopForCalls(x *rule.Exchange, p *rule.Pass) {
	isCall := func(it wire.Item) bool { return it.What == wire.Call && it.Type != "function_call" }
	if x.Reply.End != wire.Complete || x.Asked.Choice.Kind == "tool" || strings.Contains(x.Asked.Model, "audio") {
		return
	}
	at := wire.Place{Event: len(x.Reply.Events) - 1, Off: 0, Path: "choices[0].finish_reason"}
	switch hasCalls := slices.ContainsFunc(x.Reply.Items, isCall); {
	case !hasCalls && x.Reply.Stop == "tool_calls":
		p.ReportAt(at, "the reply says finish_reason tool_calls and calls no tool")
	case hasCalls && x.Reply.Stop == "stop":
		p.ReportAt(at, "the reply calls tools and says finish_reason stop")
		fallthrough
	case hasCalls:
		p.Observe()
	}
}

// callsHaveIndexes judges that no index belongs to two calls: clients that join pieces by index alone lose one.
func callsHaveIndexes(x *rule.Exchange, p *rule.Pass) {
	first := map[[2]int]string{}
	eachPiece(x, func(at wire.Place, key [2]int, call *tree.Node, name string) {
		id := call.Text("id")
		if id == "" || name == "" || call.Get("index").Null() {
			return
		}
		if p.Observe(); first[key] != "" && first[key] != id {
			p.ReportAt(at, "the calls %s and %s have one index", rule.Shorten(first[key]), rule.Shorten(id))
		}
		first[key] = id
	})
}

// usageIsSaid judges that a stream whose client asked for usage says it somewhere.
func usageIsSaid(x *rule.Exchange, p *rule.Pass) {
	if !x.IsStream() || x.Reply.End != wire.Complete || !x.Reply.Err.Null() ||
		!x.Asked.Doc.True("stream_options", "include_usage") {
		return
	}
	isSaid := func(e wire.StreamEvent) bool {
		return !e.JSON.Get("usage").Null() || !e.JSON.Get("x_groq", "usage").Null()
	}
	if p.Observe(); !slices.ContainsFunc(x.Reply.Events, isSaid) {
		p.ReportAt(wire.Place{Event: len(x.Reply.Events) - 1, Off: len(x.Body)},
			"usage was asked for, and no chunk has it")
	}
}
