package rule

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// transportRules judge how a reply is sent, whatever it says.
var transportRules = []ReplyRule[*Exchange]{
	Owes("SV-H1", "STR-001/content-type", streamTypeFits),
	Owes("SV-H1", "", documentTypeFits),
	Owes("SV-H3", "STR-001/framing", eventsHoldJSON),
	Owes("SV-H4", "STR-001/framing", eventsAreEnded),
	Owes("SV-H7", "", textIsUTF8),
	Owes("SV-H9", "", silenceIsBridged),
	Owes("SV-H10", "ERR-003/empty", bodyIsThere),
	Owes("SV-H10", "ERR-003/event", streamHasEvent),
	Owes("SV-H10", "ERR-003/whole-document", documentIsWhole),
	Owes("SV-H10", "ERR-003/provider-object", successIsReply),
	Owes("SV-H10", "", refusalHasStatus),
	Owes("SV-H14", "", requestIDIsThere),
	Owes("SV-H17", "", encodingIsTrue),
	Owes("SV-E4", "", rateLimitSaysWhen),
	Owes("SV-E8", "", errorIsJSON),
	Owes("SV-B7", "", countIsReal),
	Owes("SV-B10", "MOD-004/answers", askedModelAnswers),
	Owes("SV-B14", "", callsAreNoText),
	Owes("SV-B15", "", callIDsAreNew),
	Owes("GW-19", "", keysStayBehind),
}

// shown is how much of a body a finding quotes.
const shown = 24

func quoted(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), shown)]), "")
}

// streamTypeFits: a client chooses its reader by the content type.
func streamTypeFits(x *Exchange, p *Pass) {
	if !x.IsStream() {
		return
	}
	got, want := x.Header.Get("Content-Type"), "text/event-stream"
	if x.Reply.Form == wire.Array {
		want = "application/json"
	}
	if got == "" && !x.SawAll {
		return
	}
	if p.Observe(); !strings.HasPrefix(strings.ToLower(got), want) {
		p.ReportAt(HeaderPlace("content-type"), "stream is sent as %q, not as %s", got, want)
	}
}

func documentTypeFits(x *Exchange, p *Pass) {
	got := x.Header.Get("Content-Type")
	if x.Status != http.StatusOK || x.Reply.Form != wire.Document || x.Reply.Doc == nil || got == "" && !x.SawAll {
		return
	}
	media, _, _ := strings.Cut(strings.ToLower(got), ";")
	if media = strings.TrimSpace(media); media != "application/json" && !strings.HasSuffix(media, "+json") {
		p.ReportAt(HeaderPlace("content-type"), "document is sent as %q, not as application/json", got)
	}
	p.Observe()
}

// eventsHoldJSON: every line is one of server-sent events, and every event holds JSON. [DONE] has a
// duty of its own.
func eventsHoldJSON(x *Exchange, p *Pass) {
	if !x.IsStream() {
		return
	}
	for _, off := range x.Reply.BadLines {
		if x.Cut && !bytes.ContainsAny(x.Body[off:], "\r\n") {
			continue // the cut went through the name of a field
		}
		p.ReportAt(wire.Place{Event: -1, Off: off}, "line is not a field, comment or blank line of an event stream")
	}
	for i, e := range x.Reply.Events {
		if p.Observe(); !e.Unterminated && e.JSON == nil && e.Data != Done {
			p.ReportAt(x.EventPlace(i), "data of the event is not JSON")
		}
	}
}

// Done is the word that ends streams of OpenAI's older API.
const Done = "[DONE]"

func eventsAreEnded(x *Exchange, p *Pass) {
	if last := len(x.Reply.Events) - 1; x.IsStream() && last >= 0 && x.Reply.Events[last].Unterminated && !x.Cut {
		p.ReportAt(x.EventPlace(last), "the last event is not ended by a blank line, so a client drops it")
	}
}

// textIsUTF8: also U+FFFD shows that somebody cut a character, unless the client sent it.
func textIsUTF8(x *Exchange, p *Pass) {
	if len(x.Body) == 0 || looksCompressed(x.Body) {
		return
	}
	p.Observe()
	off := 0
	for off < len(x.Body) {
		r, size := utf8.DecodeRune(x.Body[off:])
		if r == utf8.RuneError && size == 1 && utf8.FullRune(x.Body[off:]) {
			p.ReportAt(wire.Place{Event: -1, Off: off}, "byte %d is not UTF-8", off)
			return
		}
		off += size
	}
	for _, replacement := range []string{"\uFFFD", `\ufffd`, `\uFFFD`} {
		if i := bytes.Index(x.Body, []byte(replacement)); i >= 0 && !bytes.Contains(x.Request, []byte(replacement)) {
			p.ReportAt(wire.Place{Event: -1, Off: i}, "text holds U+FFFD in place of a character")
			return
		}
	}
}

// longSilence is after what time without data Claude Code warns its user.
const longSilence = 20 * time.Second

func silenceIsBridged(x *Exchange, p *Pass) {
	for i := 1; i < len(x.Chunks) && x.IsStream(); i++ {
		if p.Observe(); x.Chunks[i].At-x.Chunks[i-1].At > longSilence {
			p.ReportAt(wire.Place{Event: -1, Off: -1}, "the stream is silent for %d seconds",
				(x.Chunks[i].At-x.Chunks[i-1].At)/time.Second)
			return
		}
	}
}

// succeeds reports whether the reply claims to answer a request for a reply of the model.
func (x *Exchange) succeeds() bool {
	return x.asksModel() && x.Status >= 200 && x.Status < 300 && x.Body != nil && !x.Cut
}

// asksModel reports whether the request asks for a reply of the model; one that is unknown does.
func (x *Exchange) asksModel() bool {
	return x.Asked.Op == wire.Generate || x.URL == ""
}

// bringsReply reports whether the path leads to a reply of the model, made now or kept.
func (x *Exchange) bringsReply() bool { return x.asksModel() || x.operation() == wires.Stored }

// operation returns what the path of the request asks for.
func (x *Exchange) operation() wires.Operation {
	u, err := url.Parse(x.URL)
	if w := wires.Find(x.Wire); err == nil && w != nil {
		if route := w.RouteOf(u.Path); route != nil {
			return route.Operation
		}
	}
	return ""
}

func isBlank(body []byte) bool { return len(bytes.TrimSpace(body)) == 0 }

func bodyIsThere(x *Exchange, p *Pass) {
	if !x.succeeds() {
		return
	}
	if p.Observe(); isBlank(x.Body) {
		p.ReportAt(x.EventPlace(-1), "status %d with an empty body", x.Status)
	}
}

// streamHasEvent: a request for a stream is answered by at least one event that can be read, or by
// a document.
func streamHasEvent(x *Exchange, p *Pass) {
	if !x.succeeds() || !x.Asked.WantsStream || isBlank(x.Body) || x.Reply.Doc != nil {
		return
	}
	p.Observe()
	isRead := func(e wire.StreamEvent) bool { return e.JSON != nil }
	if x.Reply.Form != wire.Document && !slices.ContainsFunc(x.Reply.Events, isRead) { // a document may have been cut
		p.ReportAt(x.EventPlace(-1),
			"a stream was asked for, and the body of %d bytes holds no event that can be read: it begins with %q",
			len(x.Body), quoted(x.Body))
	}
}

func documentIsWhole(x *Exchange, p *Pass) {
	if !x.succeeds() || x.Reply.Form != wire.Document {
		return
	}
	if p.Observe(); x.Reply.Doc == nil {
		p.ReportAt(wire.Place{Event: -1, Off: len(x.Body)},
			"the JSON document of %d bytes is not whole, and the recording does not say that it was cut", len(x.Body))
	}
}

// successIsReply: a body with a status of success is a reply of the provider.
func successIsReply(x *Exchange, p *Pass) {
	w := wires.Find(x.Wire)
	if !x.succeeds() || w == nil || x.Reply.End == wire.Refused {
		return
	}
	doc := x.Reply.Doc
	switch {
	case doc != nil && x.Reply.Form == wire.Document:
		p.Observe()
		if doc.Has("error") && doc.Any("content", "output", "candidates") == nil {
			p.ReportAt(x.EventPlace(-1), "status %d with an error in place of a reply: %q", x.Status,
				Shorten(errorWords(x)))
		} else if x.Reply.End == wire.Cut {
			p.ReportAt(x.EventPlace(-1), "status %d with a document that is not a reply of %s: it has no %s", x.Status,
				w.Vendor, w.ReplyMember)
		}
	case x.Reply.Form == wire.Array && w.Ending.IsWholeArray == nil:
		p.Observe()
		p.ReportAt(x.EventPlace(-1), "status %d with an array, which is not a reply of %s", x.Status, w.Vendor)
	case !x.Asked.WantsStream && x.Reply.Form == wire.Other && !isBlank(x.Body):
		p.Observe()
		p.ReportAt(x.EventPlace(-1), "status %d with a body that is not JSON: it begins with %q", x.Status,
			quoted(x.Body))
	}
}

// refusalHasStatus: clients read the status first, and take a document with status 200 for a reply.
func refusalHasStatus(x *Exchange, p *Pass) {
	if x.succeeds() && x.Reply.End == wire.Refused && x.Reply.Form == wire.Document {
		p.Observe()
		p.ReportAt(x.EventPlace(-1), "status %d with an error in place of a reply: %q", x.Status,
			Shorten(errorWords(x)))
	}
}

func errorWords(x *Exchange) string { return cmp.Or(x.Reply.ErrorText(), quoted(x.Body)) }

// requestIDs are the headers by which servers name a request.
var requestIDs = []string{"Request-Id", "X-Request-Id"}

func requestIDIsThere(x *Exchange, p *Pass) {
	if w := wires.Find(x.Wire); !x.SawAll || x.Status == 0 || w.Has(wires.Contents) {
		return // Gemini's bodies hold responseId
	}
	if p.Observe(); !slices.ContainsFunc(requestIDs, func(name string) bool { return x.Header.Get(name) != "" }) {
		p.ReportAt(HeaderPlace("request-id"), "the answer has no request id")
	}
}

func looksCompressed(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\x1f\x8b")) || bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd"))
}

// encodingIsTrue: gzip and zstd begin with bytes of their own; the bytes of other encodings are not judged. A client
// that names no encoding takes any.
func encodingIsTrue(x *Exchange, p *Pass) {
	sent := x.Sent
	if sent == nil {
		sent = x.Body // a recording keeps the body unpacked, where its header says how
	}
	if len(sent) == 0 {
		return
	}
	p.Observe()
	asked := x.RequestHeader.Get("Accept-Encoding")
	switch coding := strings.ToLower(strings.TrimSpace(x.Header.Get("Content-Encoding"))); {
	case coding != "" && coding != "identity" && asked != "" && !strings.Contains(asked, "*") &&
		!strings.Contains(strings.ToLower(asked), coding):
		p.ReportAt(HeaderPlace("content-encoding"), "the body is sent as %s, and the client accepts %s only",
			Shorten(coding), Shorten(asked))
	case x.Sent != nil && (coding == "gzip" || coding == "zstd") && !looksCompressed(x.Sent):
		p.ReportAt(HeaderPlace("content-encoding"), "content-encoding says %s, and the body is not compressed", coding)
	case coding == "" && looksCompressed(sent):
		p.ReportAt(HeaderPlace("content-encoding"), "the body is compressed, and no content-encoding says so")
	}
}

func rateLimitSaysWhen(x *Exchange, p *Pass) {
	if x.Status != http.StatusTooManyRequests || !x.SawAll {
		return
	}
	for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
		if x.Header.Get(name) != "" {
			p.Observe()
			return
		}
	}
	if bytes.Contains(x.Body, []byte("RetryInfo")) || bytes.Contains(x.Body, []byte("insufficient_quota")) {
		p.Observe()
		return // Gemini says it in the body, and waiting does not help against a spent quota
	}
	p.ReportAt(HeaderPlace("retry-after"), "status 429 without retry-after")
}

func errorIsJSON(x *Exchange, p *Pass) {
	if x.Status < 400 || x.Body == nil || x.Cut {
		return
	}
	if p.Observe(); x.Reply.Doc == nil && !isBlank(x.Body) {
		p.ReportAt(x.EventPlace(-1), "the error with status %d is not JSON: it begins with %q", x.Status,
			quoted(x.Body))
	}
}

// countIsReal: no prompt has 0 tokens.
func countIsReal(x *Exchange, p *Pass) {
	if x.operation() != wires.Count || x.Status != http.StatusOK {
		return
	}
	counted := x.Reply.Doc.Any("input_tokens", "totalTokens", "total_tokens")
	if p.Observe(); counted == nil || !counted.Is(tree.Number) || counted.Int() == 0 {
		p.ReportAt(x.At(-1, counted, "input_tokens"), "the prompt is counted as %s tokens", valueOrNone(counted))
	}
}

func valueOrNone(n *tree.Node) string {
	if n == nil {
		return "no"
	}
	return Shorten(n.Raw())
}

// callMarkup is how templates of open models begin a call, up to the name of the tool. Arguments may stand before it.
var callMarkup = regexp.MustCompile(
	`(?:<tool_call>|<function=|invoke name=|\[TOOL_CALLS]|<\|tool_call|<\|python_tag\|>|<｜tool▁call)` +
		`(?:\W|\w*begin\b|(?:s|tool|call|sep|type|name|functions?)\b` +
		`|(?:arguments|parameters)"\s*:(?s:.*?),\s*"name\b)*([\w-]+)`)

// callsAreNoText: a call that the server left in the text, as the model's template writes it, is no call to a client.
// Claude writes one where tool_choice forbids calls. Code that a text quotes, behind backquotes, is an example.
func callsAreNoText(x *Exchange, p *Pass) {
	isCall := func(it wire.Item) bool { return it.What == wire.Call }
	if x.Reply.End != wire.Complete || x.Asked.Declared == nil || x.Asked.Choice.Kind == "none" ||
		slices.ContainsFunc(x.Reply.Items, isCall) {
		return
	}
	p.Observe()
	for i := range x.Reply.Items {
		it := &x.Reply.Items[i]
		from, quotes := 0, 0
		for _, at := range callMarkup.FindAllStringSubmatchIndex(it.Text, -1) {
			quotes += strings.Count(it.Text[from:at[0]], "`")
			from = at[0]
			if it.What == wire.Text && quotes%2 == 0 && slices.ContainsFunc(x.Asked.Declared,
				func(t wire.Tool) bool { return t.Name == it.Text[at[2]:at[3]] }) {
				p.ReportAt(it.Place, "a call stands in the text as the model's template writes it, and no call is sent: %q",
					Shorten(it.Text[at[0]:]))
				return
			}
		}
	}
}

// callIDsAreNew: clients pair results with calls by the id alone, also with those of earlier turns.
func callIDsAreNew(x *Exchange, p *Pass) {
	known := map[string]bool{}
	for i := range x.Asked.Items {
		if it := &x.Asked.Items[i]; it.What == wire.Call {
			known[it.ID] = true
		}
	}
	for i := range x.Reply.Items {
		it := &x.Reply.Items[i]
		if it.What != wire.Call || it.ID == "" || len(known) == 0 {
			continue
		}
		if p.Observe(); known[it.ID] {
			p.ReportAt(it.Place, "the call of %s has the id %s, which an earlier call of the conversation has",
				Shorten(it.Name), Shorten(it.ID))
		}
	}
}

// keysStayBehind: no header of a reply holds a key.
func keysStayBehind(x *Exchange, p *Pass) {
	for _, name := range wires.CredentialHeaders() {
		if x.Header.Get(name) != "" {
			p.ReportAt(HeaderPlace(strings.ToLower(name)),
				"the reply brings the header %s, in which keys travel", strings.ToLower(name))
			return
		}
	}
	if len(x.Header) > 0 {
		p.Observe()
	}
}

// modelInPath is the model in the URLs of clouds, whose bodies do not name it.
var modelInPath = regexp.MustCompile(`/models?/([^/:]+?)(?:(?::|%3A)\d+)?(?:[:/][A-Za-z-]+)?$`)

// ModelInPath returns the model that a URL, or its path, names; "" for none.
func ModelInPath(url string) string {
	if m := modelInPath.FindStringSubmatch(url); m != nil {
		return m[1]
	}
	return ""
}

// ModelAsked is the model that a request names in its body or its URL, "" where only its host knows.
func ModelAsked(q *wire.Request, url string) string { return cmp.Or(q.Model, ModelInPath(url)) }

// askedModelAnswers: the reply, and a header of OpenAI's, name the model that was asked for or
// a model that the request lists as a fallback. A model name that no provider uses is not judged.
func askedModelAnswers(x *Exchange, p *Pass) {
	if x.Asked.Op != wire.Generate || x.Asked.Doc == nil || x.WebSocket && x.Asked.Doc.False("generate") {
		return
	}
	asked := ModelAsked(x.Asked, x.URL)
	family, bare := specs.ParseModel(asked).Family, asked[strings.LastIndexByte(asked, '/')+1:]
	if strings.Contains(x.URL, "/deployments/") || family == "" || !strings.HasPrefix(bare, family) &&
		family != "claude" {
		return // the path names a deployment, whatever the model, or nobody knows the name
	}
	wanted := append(x.Asked.Doc.Get("fallbacks").Texts(), asked)
	for _, said := range []struct{ where, model string }{{"the reply", x.Reply.Model},
		{"the header openai-model", x.Header.Get("Openai-Model")}} {
		if said.model == "" || strings.Contains(said.model, "REDACTED") {
			continue
		}
		p.Observe()
		if slices.ContainsFunc(wanted, func(name string) bool { return specs.IsServedAs(name, said.model) }) {
			continue
		}
		at := wire.Place{Event: -1, Off: -1, Path: "model"}
		if n := x.Asked.Doc.Get("model"); n != nil {
			at.Off = n.Offset()
		}
		note := "; its host may have names of its own"
		u, err := url.Parse(x.URL)
		if w := wires.Find(x.Wire); x.StandsIn || err != nil || w == nil ||
			w.OwnHosts.MatchString(strings.ToLower(u.Hostname())) {
			note = ""
		}
		b := p.ReportAt(at, "%q was asked for, and %s is of %q%s", Shorten(asked), said.where,
			Shorten(said.model), note)
		b.Form, b.Args = strings.ReplaceAll(b.Message(), "%", "%%"), nil // other models are another cause
		return
	}
}
