package gemini

import (
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// sentReply is a reply as the rules of replies read it: the chunks of a stream, or one document.
type sentReply struct {
	*rule.Exchange
	chunks []replyChunk
}

// replyChunk is one part of the reply. Its event is -1 for a document.
type replyChunk struct {
	event int
	node  *tree.Node
}

var replyRules = []rule.ReplyRule[*sentReply]{
	rule.Owes("SV-H2", "", eventsHaveNoName),
	rule.Owes("SV-H5", "", oneDataLine),
	rule.Owes("SV-H6", "", onExchange(rule.SendsNoDone)),
	rule.Owes("SV-G1", "", streamIsEvents),
	rule.Owes("SV-G3", "STR-002/terminal", onExchange(rule.EndsWhole)),
	rule.Owes("SV-G3", "", stopHasText),
	rule.Owes("SV-G4", "", callsAreWhole),
	rule.Owes("SV-G5", "STR-005/grammar", func(a *sentReply, p *rule.Pass) { a.checkSignatures(p, true) }),
	rule.Owes("SV-G5", "", func(a *sentReply, p *rule.Pass) { a.checkSignatures(p, false) }),
	rule.Owes("SV-G5", "", firstCallIsSigned),
	rule.Owes("SV-G7", "", usageIsThere),
	rule.Owes("SV-G7", "", usageGrows),
	rule.Owes("SV-G8", "STR-005/grammar", oneResponse),
	rule.Owes("SV-G8", "", responseIsNamed),
	rule.Owes("SV-G9", "", blockedHasNoCandidates),
	rule.Owes("SV-G10", "", errorIsWhole),
}

// onExchange is a rule that needs the exchange alone.
func onExchange(run func(*rule.Exchange, *rule.Pass)) func(*sentReply, *rule.Pass) {
	return func(a *sentReply, p *rule.Pass) { run(a.Exchange, p) }
}

func judgeReply(x *rule.Exchange) []*rule.ReplyPass {
	a := &sentReply{Exchange: x}
	for i, e := range x.Reply.Events {
		if e.JSON != nil && x.IsStream() {
			a.chunks = append(a.chunks, replyChunk{i, e.JSON})
		}
	}
	if doc := x.Reply.Doc; !x.IsStream() && x.Status == http.StatusOK && doc.Is(tree.Object) &&
		wire.ErrorOf(doc).Null() {
		a.chunks = []replyChunk{{-1, doc}}
	}
	return rule.JudgeReplies(replyRules, a)
}

// eachPart visits the parts of the first candidate, in their order.
func (a *sentReply) eachPart(visit func(c replyChunk, part *tree.Node)) {
	for _, c := range a.chunks {
		for _, candidate := range c.node.List("candidates") {
			for _, part := range candidate.List("content", "parts") {
				visit(c, part)
			}
			break
		}
	}
}

func eventsHaveNoName(a *sentReply, p *rule.Pass) {
	for i, e := range a.Reply.Events {
		if p.Observe(); e.Name != "" {
			p.ReportAt(a.EventPlace(i), "the event has the name %q", rule.Shorten(e.Name))
		}
	}
}

func oneDataLine(a *sentReply, p *rule.Pass) {
	for i, e := range a.Reply.Events {
		if a.Reply.Form != wire.SSE {
			return
		}
		p.Observe()
		block := string(a.Body[e.Off:min(e.End, len(a.Body))])
		if i == 0 {
			block = strings.TrimPrefix(block, "\xEF\xBB\xBF")
		}
		if !strings.HasPrefix(block, "data:") || strings.Contains(e.Data, "\n") {
			p.ReportAt(wire.Place{Event: i, Off: e.Off}, "the event is not one data line: it begins with %q",
				rule.Shorten(block))
		}
	}
}

func streamIsEvents(a *sentReply, p *rule.Pass) {
	if a.Asked.Op != wire.Generate || a.Status != http.StatusOK || len(a.Body) == 0 || a.URL == "" {
		return
	}
	mayAsk := a.Asked.WantsStream && !a.SawAll // recordings lose queries
	switch asksEvents := strings.Contains(a.URL, "alt=sse"); {
	case asksEvents && (a.Reply.Form == wire.Document || a.Reply.Form == wire.Array):
		p.ReportAt(a.EventPlace(-1), "a stream of events was asked for, and the body is JSON")
	case !asksEvents && !mayAsk && len(a.Reply.Events) > 0 && a.Reply.Form == wire.SSE:
		p.ReportAt(a.EventPlace(0), "no stream of events was asked for, and the body is one")
	default:
		p.Observe()
	}
}

// stopHasText: a model that stops of itself said or called something that clients show or run.
func stopHasText(a *sentReply, p *rule.Pass) {
	if doc := a.Reply.Doc; len(a.chunks) == 1 && doc.Has("candidates") && len(doc.List("candidates")) == 0 &&
		doc.Any("promptFeedback", "prompt_feedback") == nil {
		p.ReportAt(a.At(-1, doc, "candidates"), "the reply has no candidate, and no promptFeedback that says why")
	}
	if a.Reply.End != wire.Complete || a.Reply.Stop != "STOP" || a.Cut || len(a.chunks) == 0 {
		return
	}
	shows := false
	a.eachPart(func(_ replyChunk, part *tree.Node) {
		text := part.Get("text")
		shows = shows || text == nil || !part.True("thought") && text.Text() != ""
	})
	if p.Observe(); !shows {
		end := a.chunks[len(a.chunks)-1]
		p.ReportAt(a.At(end.event, end.node, "candidates"),
			"the model stops, and the reply holds no text that is not thought and no call")
	}
}

func callsAreWhole(a *sentReply, p *rule.Pass) {
	ids := map[string]bool{}
	a.eachPart(func(c replyChunk, part *tree.Node) {
		call := part.Any("functionCall", "function_call")
		if call == nil || call.Any("willContinue", "will_continue", "partialArgs", "partial_args") != nil {
			return
		}
		p.Observe()
		args, id := call.Get("args"), call.Text("id")
		switch {
		case id != "" && ids[id]:
			p.ReportAt(a.At(c.event, call, "functionCall.id"), "two calls have the id %s", rule.Shorten(id))
		case call.Text("name") == "" && len(call.Names()) > 0: // an empty call ends one that came in pieces
			p.ReportAt(a.At(c.event, call, "functionCall.name"), "a call has no name")
		case !args.Null() && !args.Is(tree.Object):
			p.ReportAt(a.At(c.event, args, "functionCall.args"), "the arguments of a call are %s, not an object",
				rule.Shorten(args.Raw()))
		}
		ids[id] = true
	})
}

// checkSignatures judges that signatures are base64 and stand beside the call.
func (a *sentReply) checkSignatures(p *rule.Pass, streamed bool) {
	a.eachPart(func(c replyChunk, part *tree.Node) {
		if c.event >= 0 != streamed {
			return
		}
		if seal := part.Any("thoughtSignature", "thought_signature"); seal != nil {
			if p.Observe(); !tree.IsBase64(seal.Text()) {
				p.ReportAt(a.EventPlace(c.event), "signature %s is not base64", rule.Mask(seal.Text()))
			}
		}
		if call := part.Any("functionCall", "function_call"); call.Any("thoughtSignature", "thought_signature") != nil {
			p.ReportAt(a.EventPlace(c.event), "the signature stands inside the call, not beside it")
		}
	})
}

// firstCallIsSigned: models from the third on want the signature of the first call of a step back.
func firstCallIsSigned(a *sentReply, p *rule.Pass) {
	model := specs.ParseModel(a.Reply.Model)
	if model.Family != "gemini" || model.IsBefore(3, 0) || a.Reply.End != wire.Complete {
		return
	}
	isFirst, signed := true, false
	a.eachPart(func(c replyChunk, part *tree.Node) {
		signed = signed || part.Any("thoughtSignature", "thought_signature") != nil
		if part.Any("functionCall", "function_call") == nil || !isFirst {
			return
		}
		isFirst = false
		if p.Observe(); !signed {
			p.ReportAt(a.EventPlace(c.event), "the first call of the step has no thoughtSignature")
		}
	})
}

// usageIsThere: a whole reply says what the prompt cost. Replies of 2024, which name no model
// version, may not.
func usageIsThere(a *sentReply, p *rule.Pass) {
	if a.Reply.End != wire.Complete || a.Cut || len(a.chunks) == 0 || a.Reply.Model == "" {
		return
	}
	p.Observe()
	for _, c := range a.chunks {
		blocked := c.node.Any("promptFeedback", "prompt_feedback") != nil
		if blocked || c.node.Any("usageMetadata", "usage_metadata").Any("promptTokenCount",
			"prompt_token_count").Is(tree.Number) {
			return
		}
	}
	end := a.chunks[len(a.chunks)-1]
	p.ReportAt(a.At(end.event, end.node, "usageMetadata"), "the reply has no usageMetadata with promptTokenCount")
}

// usageGrows: the counts are running totals, and the total is not below its parts.
func usageGrows(a *sentReply, p *rule.Pass) {
	last := 0
	searches := slices.ContainsFunc(a.Asked.Doc.List("tools"), func(tool *tree.Node) bool {
		return tool.Any("functionDeclarations",
			"function_declarations") == nil // the provider's own tools begin the counts anew
	})
	for _, c := range a.chunks {
		usage := c.node.Any("usageMetadata", "usage_metadata")
		count := func(camel, snake string) int { return max(0, usage.Any(camel, snake).Int()) }
		said, total := count("candidatesTokenCount", "candidates_token_count"),
			count("totalTokenCount", "total_token_count")
		if said == 0 {
			continue
		}
		p.Observe()
		if said < last && !searches {
			p.ReportAt(a.At(c.event, usage, "usageMetadata.candidatesTokenCount"),
				"candidatesTokenCount falls from %d to %d", last, said)
		}
		if parts := count("promptTokenCount", "prompt_token_count") + said; total > 0 && total < parts {
			p.ReportAt(a.At(c.event, usage, "usageMetadata.totalTokenCount"),
				"totalTokenCount %d is below the %d of prompt and candidates", total, parts)
		}
		last = said
	}
}

// responseIsNamed: gateways lose what the provider has sent since 2025. Recordings are older.
func responseIsNamed(a *sentReply, p *rule.Pass) {
	if !a.SawAll || a.Reply.End != wire.Complete || len(a.chunks) == 0 {
		return
	}
	p.Observe()
	for _, member := range [][2]string{{"responseId", a.Reply.ID}, {"modelVersion", a.Reply.Model}} {
		if member[1] == "" {
			p.ReportAt(a.At(a.chunks[0].event, a.chunks[0].node, member[0]), "the reply has no %s",
				member[0]).Consequence = string(specs.Cosmetic)
		}
	}
}

// oneResponse: every chunk is a reply or an error, and all are of one reply of the model.
func oneResponse(a *sentReply, p *rule.Pass) {
	id := ""
	for _, c := range a.chunks {
		if c.event < 0 {
			return
		}
		p.Observe()
		if !c.node.Is(tree.Object) {
			p.ReportAt(a.EventPlace(c.event), "chunk is not an object")
		}
		got := c.node.Any("responseId", "response_id").Text()
		if id != "" && got != "" && got != id {
			p.ReportAt(a.EventPlace(c.event), "responseId changes from %s to %s inside one stream", rule.Mask(id),
				rule.Mask(got))
		}
		if got != "" {
			id = got
		}
		for _, candidate := range c.node.List("candidates") {
			if role := candidate.Get("content", "role"); role != nil && role.Text() != "model" {
				p.ReportAt(a.EventPlace(c.event), "candidate has role %q, not model", role.Text())
			}
		}
	}
}

func blockedHasNoCandidates(a *sentReply, p *rule.Pass) {
	for _, c := range a.chunks {
		reason := c.node.Any("promptFeedback", "prompt_feedback").Any("blockReason", "block_reason")
		if reason.Null() {
			continue
		}
		if p.Observe(); len(c.node.List("candidates")) > 0 {
			p.ReportAt(a.At(c.event, reason, "promptFeedback.blockReason"),
				"the prompt is blocked, and candidates answer it")
		}
	}
}

// errorIsWhole: an error has its three members, alone or in a list.
func errorIsWhole(a *sentReply, p *rule.Pass) {
	failure := a.Reply.Err
	if failure.Null() || a.Reply.End != wire.Refused && a.Reply.End != wire.Failed {
		if a.Status >= http.StatusBadRequest && a.Reply.Doc != nil {
			p.ReportAt(a.EventPlace(-1),
				"the error with status %d is not {\"error\":{\"code\",\"message\",\"status\"}}: %s", a.Status,
				rule.Shorten(a.Reply.Doc.Raw()))
		}
		return
	}
	switch code := failure.Get("code"); {
	case !code.Is(tree.Number) || failure.Text("message") == "" || failure.Text("status") == "":
		p.ReportAt(wire.Place{Event: -1, Path: "error"},
			"the error with status %d is not {\"error\":{\"code\",\"message\",\"status\"}}: %s", a.Status,
			rule.Shorten(failure.Raw()))
	case a.Status >= http.StatusBadRequest && code.Int() != a.Status:
		p.ReportAt(a.At(-1, code, "error.code"), "the error with status %d has the code %d", a.Status, code.Int())
	default:
		p.Observe()
	}
}
