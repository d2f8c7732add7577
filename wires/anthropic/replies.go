package anthropic

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var replyRules = []rule.ReplyRule[*sentReply]{
	rule.Owes("SV-H1", "", onExchange(rule.FormIsAsked)),
	rule.Owes("SV-H2", "STR-003/grammar", onExchange(rule.NamesFit)),
	rule.Owes("SV-H2", "", onExchange(rule.NamesEvents(""))),
	rule.Owes("SV-H6", "", onExchange(rule.SendsNoDone)),
	rule.Owes("SV-A1", "STR-003/grammar", startsAndStopsOnce),
	rule.Owes("SV-A1", "", startIsNotRepeated),
	rule.Owes("SV-A2", "STR-003/grammar", indexesCount),
	rule.Owes("SV-A3", "STR-003/grammar", deltasFit),
	rule.Owes("SV-A4", "STR-003/grammar", deltasFindTheirBlock),
	rule.Owes("SV-A5", "STR-003/grammar", blocksAreClosed),
	rule.Owes("SV-A5", "STR-002/terminal", onExchange(rule.EndsWhole)),
	rule.Owes("SV-A5", "", reasonComesBeforeStop),
	rule.Owes("SV-A6", "", noEmptyTextFirst),
	rule.Owes("SV-A7", "", messageIsWhole),
	rule.Owes("SV-A8", "", totalsComeLast),
	rule.Owes("SV-A9", "", startHasUsage),
	rule.Owes("SV-A11", "", reasonFits),
	rule.Owes("SV-A12", "", callsAreNamed),
	rule.Owes("SV-A13", "", inputsAreObjects),
	rule.Owes("SV-A14", "", thinkingIsSigned),
	rule.Owes("SV-A16", "", noEmptySignature),
	rule.Owes("SV-A17", "", nothingComesTwice),
	rule.Owes("SV-A18", "", failuresAreErrors),
	rule.Owes("SV-A19", "", errorsAreKnown),
	rule.Owes("SV-A20", "", oneMessageDelta),
	rule.Owes("SV-A21", "", documentIsMessage),
	rule.Owes("SV-E1", "", envelopeFits),
	rule.Owes("SV-E2", "", statusFitsType),
}

// onExchange is a rule that needs the exchange alone.
func onExchange(run func(*rule.Exchange, *rule.Pass)) func(*sentReply, *rule.Pass) {
	return func(a *sentReply, p *rule.Pass) { run(a.Exchange, p) }
}

func judgeReply(x *rule.Exchange) []*rule.ReplyPass {
	return rule.JudgeReplies(replyRules, readSent(x))
}

// startsAndStopsOnce: message_start, the rest, message_stop. A start that is repeated word by word
// before anything else is startIsNotRepeated's.
func startsAndStopsOnce(a *sentReply, p *rule.Pass) {
	started, stopped := false, false
	for i, e := range a.events {
		t := e.Type()
		if !slices.Contains(messageEvents, t) {
			continue // clients ignore what they do not know
		}
		p.Observe()
		if !started && t != "message_start" && t != "ping" && t != "error" {
			p.ReportAt(a.EventPlace(i), "%s comes before message_start", t)
		}
		if stopped {
			p.ReportAt(a.EventPlace(i), "%s comes after message_stop", t)
			return // the other events after it have the same cause
		}
		if t == "message_start" && started && !a.repeatsStart(i) {
			p.ReportAt(a.EventPlace(i), "message_start comes a second time")
		}
		started, stopped = started || t == "message_start", stopped || t == "message_stop"
	}
}

// repeatsStart reports whether a message_start names the same message as the one before, and no
// block was started: some gateways repeat the first event, and many clients do not mind.
func (a *sentReply) repeatsStart(i int) bool {
	return a.events[i].JSON.Text("message", "id") == a.message.Text("id") &&
		(len(a.blocks) == 0 || a.blocks[0].start > i)
}

func startIsNotRepeated(a *sentReply, p *rule.Pass) {
	for _, i := range a.starts {
		if p.Observe(); i > a.at && a.repeatsStart(i) {
			p.ReportAt(a.EventPlace(i), "message_start is repeated")
		}
	}
}

// messageEvents are the events that are documented.
var messageEvents = []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop",
	"message_delta", "message_stop", "ping", "error"}

func indexesCount(a *sentReply, p *rule.Pass) {
	next := 0
	for k, b := range a.blocks {
		if b.start < 0 {
			return
		}
		if k > 0 && a.blocks[k-1].stop > b.start {
			p.ReportAt(a.EventPlace(b.start), "block %d starts before block %d stops", b.index,
				a.blocks[k-1].index).Consequence = string(specs.Degraded)
		}
		if p.Observe(); b.index != next {
			p.ReportAt(a.EventPlace(b.start), "content_block_start has index %d where %d is next", b.index, next)
		}
		next = b.index + 1
	}
	for _, i := range a.strays {
		if e := a.events[i]; e.Type() == "content_block_stop" {
			p.ReportAt(a.EventPlace(i), "content_block_stop for block %d, which is not open", e.JSON.Int("index"))
		}
	}
}

// deltasOf says which deltas a kind of block takes; kinds not named are free.
var deltasOf = map[string][]string{
	"text":              {"text_delta", "citations_delta"},
	"thinking":          {"thinking_delta", "signature_delta"},
	"redacted_thinking": {},
	"tool_use":          {"input_json_delta"},
	"server_tool_use":   {"input_json_delta"},
}

// knownDeltas are the kinds of delta that belong to one kind of block only.
var knownDeltas = []string{"text_delta", "citations_delta", "thinking_delta", "signature_delta", "input_json_delta"}

func deltasFit(a *sentReply, p *rule.Pass) {
	for _, b := range a.blocks {
		for _, i := range b.deltas {
			p.Observe()
			t := a.events[i].JSON.Text("delta", "type")
			if takes, known := deltasOf[b.kind]; known && slices.Contains(knownDeltas, t) &&
				!slices.Contains(takes, t) {
				p.ReportAt(a.EventPlace(i), "%s for block %d, which is a %s block", t, b.index, b.kind)
			}
		}
	}
}

func deltasFindTheirBlock(a *sentReply, p *rule.Pass) {
	for _, b := range a.blocks {
		p.Observed += len(b.deltas)
	}
	for _, i := range a.strays {
		if e := a.events[i]; e.Type() == "content_block_delta" {
			p.ReportAt(a.EventPlace(i), "%s for block %d, which is not open",
				e.JSON.Text("delta", "type"), e.JSON.Int("index"))
		}
	}
}

func blocksAreClosed(a *sentReply, p *rule.Pass) {
	for _, b := range a.blocks {
		if len(a.stops) == 0 || b.start < 0 {
			return
		}
		if p.Observe(); b.stop < 0 {
			p.ReportAt(a.EventPlace(a.stops[0]), "message_stop while block %d (%s) is open", b.index, b.kind)
		}
	}
}

// reasonComesBeforeStop: a message_delta with the reason stands before message_stop.
func reasonComesBeforeStop(a *sentReply, p *rule.Pass) {
	if len(a.stops) == 0 {
		return
	}
	if p.Observe(); a.Reply.Stop == "" {
		p.ReportAt(a.EventPlace(a.stops[0]), "message_stop comes without a message_delta that has a stop_reason")
	}
}

func noEmptyTextFirst(a *sentReply, p *rule.Pass) {
	if len(a.blocks) < 2 || !a.isWhole() {
		return
	}
	if p.Observe(); a.blocks[0].kind == "text" && a.blocks[0].text+a.blocks[0].node.Text("text") == "" {
		p.ReportAt(a.place(a.blocks[0]), "an empty text block stands before %d other blocks", len(a.blocks)-1)
	}
}

// messageIsWhole: the members that clients read without looking whether they are there.
func messageIsWhole(a *sentReply, p *rule.Pass) {
	if a.message == nil {
		return
	}
	p.Observe()
	path := ""
	if a.at >= 0 {
		path = "message"
	}
	a.CheckMembers(p, "the message", a.at, a.message, path, "id type role model content:array usage:object")
	if usage := a.message.Get("usage"); usage.Is(tree.Object) {
		a.CheckMembers(p, "usage of the message", a.at, usage, path+".usage",
			"input_tokens:number output_tokens:number")
	}
}

// totalsComeLast: what message_delta counts are totals of the whole message; after a compaction those
// of its last part.
func totalsComeLast(a *sentReply, p *rule.Pass) {
	start := a.message.Get("usage")
	for _, i := range a.deltas {
		p.Observe()
		usage := a.events[i].JSON.Get("usage")
		if !usage.Get("output_tokens").Is(tree.Number) {
			p.ReportAt(a.At(i, usage, "usage.output_tokens"),
				"message_delta has no usage.output_tokens that is a number")
		}
		for _, name := range allCounters {
			was, is := start.Get(name), usage.Get(name)
			if was.Is(tree.Number) && is.Is(tree.Number) && is.Int() < was.Int() && usage.Get("iterations") == nil {
				p.ReportAt(a.At(i, is, "usage."+name), "%s falls from %s in message_start to %s", name, was.Raw(),
					is.Raw())
			}
		}
	}
}

var inputCounters = []string{"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}

var allCounters = append([]string{"output_tokens"}, inputCounters...)

// startHasUsage: the first event has what the prompt cost already.
func startHasUsage(a *sentReply, p *rule.Pass) {
	usage := a.message.Get("usage")
	if a.at < 0 || len(a.goesOn()) > 0 || !usage.Get("input_tokens").Is(tree.Number) {
		return
	}
	p.Observe()
	total := 0
	for _, name := range inputCounters {
		total += max(0, usage.Int(name))
	}
	if at := a.At(a.at, usage.Get("input_tokens"), "message.usage.input_tokens"); total == 0 {
		p.ReportAt(at, "message_start counts 0 tokens of input")
		return
	}
	for _, i := range a.deltas {
		for _, name := range inputCounters[1:] {
			if later := a.events[i].JSON.Get("usage", name); later.Int() > 0 && usage.Int(name) <= 0 &&
				!a.usesServers() {
				p.ReportAt(a.At(i, later, "usage."+name), "%s is %s at the end and missing in message_start", name,
					later.Raw())
			}
		}
	}
}

// goesOn returns the blocks with which message_start goes on with an earlier reply: a program in a
// container got its results, and the prompt was counted before.
func (a *sentReply) goesOn() []*tree.Node {
	if a.at < 0 {
		return nil
	}
	return a.message.List("content")
}

// usesServers reports whether the provider ran a tool itself, after which it read the prompt again.
func (a *sentReply) usesServers() bool {
	return slices.ContainsFunc(a.blocks, func(b *sentBlock) bool {
		return strings.HasPrefix(b.kind, "server_") || strings.HasPrefix(b.kind, "mcp_")
	})
}

// stopReasons are the reasons that are documented.
var stopReasons = []string{"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal",
	"model_context_window_exceeded", "compaction"}

func reasonFits(a *sentReply, p *rule.Pass) {
	if !a.isWhole() {
		return
	}
	at, sequence := a.At(-1, a.message.Get("stop_reason"), "stop_reason"), a.message.Get("stop_sequence")
	for _, i := range a.deltas {
		delta := a.events[i].JSON.Get("delta")
		at, sequence = a.At(i, delta.Get("stop_reason"), "delta.stop_reason"), delta.Get("stop_sequence")
	}
	stop := a.Reply.Stop
	if p.Observe(); stop == "" {
		return
	}
	calls, programs := 0, 0 // of the model, and of a program that it wrote
	count := func(n *tree.Node) {
		if caller := n.Text("caller", "type"); n.Text("type") == "tool_use" && caller != "" && caller != "direct" {
			programs++
		} else if n.Text("type") == "tool_use" {
			calls++
		}
	}
	for _, b := range a.blocks {
		count(b.node)
	}
	for _, n := range a.goesOn() {
		count(n)
	}
	switch {
	case !slices.Contains(stopReasons, stop):
		p.ReportAt(at, "the stop reason %q is not one of %s", rule.Shorten(stop), strings.Join(stopReasons, ", "))
	case calls > 0 && (stop == "end_turn" || stop == "stop_sequence"):
		p.ReportAt(at, "the stop reason is %s although a tool is called", stop)
	case calls+programs == 0 && stop == "tool_use":
		p.ReportAt(at, "the stop reason is tool_use and no tool is called")
	case sequence.Null() == (stop == "stop_sequence"):
		p.ReportAt(at, "the stop reason is %s and stop_sequence is %s", stop,
			sequenceOrNone(sequence)).Consequence = string(specs.Degraded)
	}
}

func sequenceOrNone(n *tree.Node) string {
	if n.Null() {
		return "null"
	}
	return rule.Shorten(n.Raw())
}

var callIDForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func callsAreNamed(a *sentReply, p *rule.Pass) {
	seen := map[string]bool{}
	for _, b := range a.blocks {
		if b.kind != "tool_use" {
			continue
		}
		p.Observe()
		id := b.node.Text("id")
		switch {
		case !callIDForm.MatchString(id):
			p.ReportAt(a.place(b), "the id %q of a call is not 1 to 64 letters, digits, - and _", rule.Shorten(id))
		case seen[id]:
			p.ReportAt(a.place(b), "two calls have the id %s", id)
		case b.node.Text("name") == "":
			p.ReportAt(a.place(b), "a call has no name")
		case b.start >= 0 && !b.node.Get("input").Is(tree.Object):
			p.ReportAt(a.place(b), "the start of a call has no input {}").Consequence = string(specs.Degraded)
		case b.start >= 0 && len(b.node.Get("input").Items()) > 0 && b.input != "":
			p.ReportAt(a.place(b), "the input of a call stands in its start and in deltas")
		}
		seen[id] = true
	}
}

// inputsAreObjects: a call that max_tokens cut, and one of a tool whose input streams eagerly, may
// be anything.
func inputsAreObjects(a *sentReply, p *rule.Pass) {
	for _, b := range a.blocks {
		if b.kind != "tool_use" || !a.isWhole() || slices.Contains(cutReasons, a.Reply.Stop) || a.streamsEagerly() {
			continue
		}
		p.Observe()
		if b.input == "" {
			if b.start >= 0 && b.stop >= 0 && b.deltas == nil && len(b.node.Get("input").Items()) == 0 && a.needsInput(b) {
				p.ReportAt(a.place(b), "no input_json_delta brings the input of call %s, whose tool requires some",
					rule.Shorten(b.node.Text("id")))
			}
			continue
		}
		if n, err := tree.Parse(b.input); err != nil || !n.Is(tree.Object) {
			p.ReportAt(a.place(b), "the input of call %s is not a JSON object: %q",
				rule.Shorten(b.node.Text("id")), rule.Shorten(b.input))
		}
	}
}

// needsInput reports whether the schema of a called tool requires members.
func (a *sentReply) needsInput(b *sentBlock) bool {
	return slices.ContainsFunc(a.Asked.Tools.List(), func(tool *tree.Node) bool {
		return tool.Text("name") == b.node.Text("name") && len(tool.List("input_schema", "required")) > 0
	})
}

// cutReasons are those after which a block may be unfinished.
var cutReasons = []string{"max_tokens", "model_context_window_exceeded", "refusal"}

func (a *sentReply) streamsEagerly() bool {
	return strings.Contains(a.RequestHeader.Get("Anthropic-Beta"), "fine-grained-tool-streaming") ||
		slices.ContainsFunc(a.Asked.Tools.List(),
			func(tool *tree.Node) bool { return tool.True("eager_input_streaming") })
}

// thinkingIsSigned: each thinking block of Anthropic's models ends with its signature. Open models
// have none.
func thinkingIsSigned(a *sentReply, p *rule.Pass) {
	for k, b := range a.blocks {
		if b.kind != "thinking" || b.start >= 0 && b.stop < 0 {
			continue
		}
		p.Observe()
		switch {
		case b.signatures > 1:
			p.ReportAt(a.place(b), "thinking block %d has %d signature_delta events", b.index, b.signatures)
		case b.signatures == 1 &&
			!(a.events[b.deltas[len(b.deltas)-1]].JSON.Text("delta", "type") == "signature_delta"):
			form := "thinking goes on after the signature_delta of block %d"
			if len(b.deltas) > 0 && a.events[b.deltas[len(b.deltas)-1]].JSON.Has("delta", "signature") {
				form = "the signature of block %d stands in a thinking_delta"
			}
			p.ReportAt(a.place(b), form, b.index)
		case b.seal == "" && b.node.Text("signature") == "" && specs.ParseModel(a.Reply.Model).Family == "claude" &&
			b.signatures == 0:
			if cut := slices.Contains(cutReasons, a.Reply.Stop) && k == len(a.blocks)-1; !cut {
				p.ReportAt(a.place(b), "thinking block %d has no signature", b.index)
			}
		}
	}
}

func noEmptySignature(a *sentReply, p *rule.Pass) {
	for _, b := range a.blocks {
		if b.kind != "thinking" || b.signatures == 0 {
			continue
		}
		if p.Observe(); b.seal == "" {
			p.ReportAt(a.place(b), "thinking block %d has a signature_delta that is empty", b.index)
		}
	}
}

func nothingComesTwice(a *sentReply, p *rule.Pass) {
	thoughts := map[string]bool{}
	for _, b := range a.blocks {
		switch b.kind {
		case "redacted_thinking":
			if p.Observe(); b.node.Text("data") == "" {
				p.ReportAt(a.place(b), "redacted_thinking block %d has no data", b.index)
			}
		case "thinking", "text":
			p.Observe()
			begun := b.node.Any("text", "thinking").Text()
			if b.start >= 0 && begun != "" && strings.HasPrefix(b.text, begun) {
				p.ReportAt(a.place(b), "the text of %s block %d stands in its start and in its deltas", b.kind, b.index)
			}
			if b.kind == "thinking" && b.text != "" && thoughts[b.text] {
				p.ReportAt(a.place(b), "thinking block %d says what an earlier one said", b.index)
			}
			thoughts[b.text] = true
		}
	}
}

// failuresAreErrors: a failure is an error event with words, the last event; not an empty success.
func failuresAreErrors(a *sentReply, p *rule.Pass) {
	for _, i := range a.errs {
		p.Observe()
		failure := a.events[i].JSON.Get("error")
		if failure.Text("type") == "" || failure.Text("message") == "" {
			p.ReportAt(a.At(i, failure, "error"), "the error event has no type and message")
		}
		if i < len(a.events)-1 {
			p.ReportAt(a.EventPlace(i+1), "events follow the error event")
		}
	}
	if !a.isWhole() || a.at < 0 {
		return
	}
	p.Observe()
	counted := a.message.Int("usage", "output_tokens")
	for _, i := range a.deltas {
		counted = max(counted, a.events[i].JSON.Int("usage", "output_tokens"))
	}
	if len(a.blocks) == 0 && a.Reply.Stop == "end_turn" && counted <= 0 {
		p.ReportAt(a.EventPlace(a.at), "the message ends with end_turn, without content and without a token")
	}
}

// errorTypes are those that are documented, with the statuses that they belong to.
var errorTypes = map[string][]int{
	"invalid_request_error": {400, 405, 415, 422}, "authentication_error": {401}, "billing_error": {402, 400,
		429}, "permission_error": {403},
	"not_found_error": {404}, "conflict_error": {409}, "request_too_large": {413}, "rate_limit_error": {429},
	"api_error":     {500, 502, 503},
	"timeout_error": {504, 408}, "overloaded_error": {529, 503}, "not_supported": {501},
}

func errorsAreKnown(a *sentReply, p *rule.Pass) {
	for _, i := range a.errs {
		p.Observe()
		if t := a.events[i].JSON.Get("error", "type"); t.Text() != "" && errorTypes[t.Text()] == nil {
			p.ReportAt(a.At(i, t, "error.type"), "the type %q of the error is not one that clients know",
				rule.Shorten(t.Text()))
		}
	}
}

func oneMessageDelta(a *sentReply, p *rule.Pass) {
	if len(a.deltas) > 0 {
		p.Observe()
	}
	for _, i := range a.deltas[min(1, len(a.deltas)):] {
		p.ReportAt(a.EventPlace(i), "message_delta comes a second time")
	}
}

// documentIsMessage: the members of a message in one piece.
func documentIsMessage(a *sentReply, p *rule.Pass) {
	if a.message == nil || a.at >= 0 {
		return
	}
	p.Observe()
	if role := a.message.Get("role"); role.Text() != "assistant" {
		p.ReportAt(a.At(-1, role, "role"), "the message has the role %s, not assistant", sequenceOrNone(role))
	}
	if stop := a.message.Get("stop_reason"); stop.Text() == "" {
		p.ReportAt(a.At(-1, stop, "stop_reason"), "the message has no stop_reason")
	}
}

// envelopeFits: an error is told from a reply by its type. Clouds have envelopes of their own, and Azure before Claude
// answers itself with a code.
func envelopeFits(a *sentReply, p *rule.Pass) {
	u, err := url.Parse(a.URL)
	isCloud := err == nil && (cloudOf(u) != nil ||
		strings.HasSuffix(u.Hostname(), ".azure.com") && a.Reply.Doc.Text("error", "code") != "")
	if doc := a.Reply.Doc; a.Status >= 400 && doc != nil && !isCloud {
		if p.Observe(); doc.Text("type") != "error" || doc.Text("error", "type") == "" ||
			doc.Text("error", "message") == "" {
			p.ReportAt(a.EventPlace(-1),
				"the error with status %d is not {\"type\":\"error\",\"error\":{\"type\",\"message\"}}: %s", a.Status,
				rule.Shorten(doc.Raw()))
		}
	}
}

func statusFitsType(a *sentReply, p *rule.Pass) {
	t := a.Reply.Doc.Get("error", "type")
	statuses := errorTypes[t.Text()]
	if a.Status < 400 || statuses == nil {
		return
	}
	if p.Observe(); !slices.Contains(statuses, a.Status) {
		p.ReportAt(a.At(-1, t, "error.type"), "an error of type %s has status %d, not %d", t.Text(), a.Status,
			statuses[0])
	}
}
