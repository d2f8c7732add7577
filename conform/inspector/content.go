package inspector

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// storeBytes keeps bytes for the page, or what a shared page says of them. Nil stays nil.
// The caller has redacted them.
func (b *Builder) storeBytes(content []byte) *Body {
	switch {
	case content == nil:
		return nil
	case b.options.Share:
		return &Body{Length: len(content), Hash: b.hashContent(content)}
	}
	return b.store.addBody(content)
}

// hashContent identifies content within one page.
func (b *Builder) hashContent(content []byte) string {
	h := hmac.New(sha256.New, b.options.Key)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// quoteText is text that may hold content: without secrets, and in a shared page only its
// length and hash.
func (b *Builder) quoteText(text string) string {
	if text == "" || !b.options.Share {
		return b.redactor.cleanText(text)
	}
	return fmt.Sprintf("[%d bytes, %s]", len(text), b.hashContent([]byte(text)))
}

// shownName is the name of a case, another one for each. A shared page does not say in which folders
// a recording lies.
func (b *Builder) shownName(name string) string {
	if b.shown[name] == "" {
		short := name
		if b.options.Share && path.IsAbs(name) {
			short = path.Base(name)
		}
		short = b.redactor.cleanText(short)
		shown := short
		for n := 2; b.taken[shown]; n++ {
			shown = fmt.Sprintf("%s (%d)", short, n)
		}
		b.shown[name], b.taken[shown] = shown, true
	}
	return b.shown[name]
}

// newResult makes a result for the page.
func (b *Builder) newResult(r report.Result) Result {
	out := Result{Check: r.Check, Verdict: r.Verdict, Observed: r.Observed, OfSource: r.OfSource, Reason: r.Reason}
	if out.Check == "" {
		out.Check = r.Requirement
	}
	if r.Verdict != report.NotApplicable { // whose reason is ours or the profile's
		out.Reason = b.quoteText(r.Reason)
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, b.newFinding(f))
	}
	return out
}

func (b *Builder) newFinding(f report.Finding) report.Finding {
	f.Form = b.hashContent([]byte(report.Kind(&f)))
	f.Message, f.Path = b.quoteText(f.Message), b.shownPath(f.Path)
	if f.Compare != nil {
		shown := *f.Compare
		shown.Expected, shown.Actual = b.redactor.cleanText(shown.Expected), b.redactor.cleanText(shown.Actual)
		if b.options.Share {
			shown.Expected, shown.Actual, shown.Mark = "", "", 0
		}
		f.Compare = &shown
	}
	f.Places = slices.Clone(f.Places)
	for i := range f.Places {
		f.Places[i].Message, f.Places[i].Path = b.quoteText(f.Places[i].Message), b.shownPath(f.Places[i].Path)
	}
	return f
}

var pathMember = regexp.MustCompile(`[^.\[\]]+`)

// shownPath is a path into a request or reply. In a shared page only the members that
// the providers document have names; others may be what a user calls things.
func (b *Builder) shownPath(text string) string {
	text = b.redactor.cleanText(text)
	if !b.options.Share {
		return text
	}
	return pathMember.ReplaceAllStringFunc(text, func(member string) string {
		if b.names[member] || strings.Trim(member, "0123456789") == "" {
			return member
		}
		return "*"
	})
}

// knownMembers are the names of all members of the providers' requests and replies.
func knownMembers() map[string]bool {
	names := rule.MemberNames()
	for _, name := range []string{
		"messages", "content", "system", "tools", "input", "instructions", "contents", "parts", "output",
		"response", "delta",
		"candidates", "error", "usage", "message", "content_block", "item", "functionCall", "functionResponse",
		"thoughtSignature",
		"signature", "thinking", "text", "encrypted_content", "summary", "id", "call_id", "tool_use_id", "type", "role",
		"name", "data",
	} {
		names[name] = true
	}
	return names
}

// openHeaders keep their value in a shared page.
var openHeaders = []string{
	"Accept", "Accept-Encoding", "Anthropic-Beta", "Anthropic-Version", "Content-Encoding", "Content-Length",
	"Content-Type",
	"Openai-Beta", "Retry-After", "Transfer-Encoding", "X-Should-Retry", "X-Simulator",
}

// newHeaders lists headers by name. hide replaces the values that a shared page must not
// show.
func (b *Builder) newHeaders(h map[string][]string, hide func(value string) string) (list []Header) {
	for name, values := range h {
		value := strings.Join(values, ", ")
		if b.options.Share && !slices.Contains(openHeaders, name) {
			value = hide(value)
		}
		list = append(list, Header{name, value})
	}
	slices.SortFunc(list, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// lengthOf stands for a text of which not even a hash is worth its bytes: the headers of
// a reply are the provider's and differ each time.
func lengthOf(text string) string { return fmt.Sprintf("[%d bytes]", len(text)) }

// shownURL is a URL. A shared page shows it without the query, and only of a public host: those of the clouds,
// and their paths, name projects and resources of the customer.
func (b *Builder) shownURL(x *evidence.Exchange) string {
	if !b.options.Share {
		return x.Request.URL
	}
	u, err := url.Parse(x.Request.URL)
	w := wires.Find(x.Provider)
	if err != nil || w == nil || u.Host != w.Host && !slices.Contains(w.MoreHosts, u.Host) {
		return b.quoteText(x.Request.URL)
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// shownModel is the name of a model. A shared page names those that are public.
func (b *Builder) shownModel(provider, model string) string {
	if b.options.Share && model != "" && !isPublicModel(provider, model) {
		return b.quoteText(model)
	}
	return model
}

func isPublicModel(provider, model string) bool {
	w := wires.Find(provider)
	return w != nil && w.Models.Public != nil && w.Models.Public.MatchString(model)
}

// States of a block that came back, best first; see [Return] and [Change].
const (
	returnSame      = "same"
	returnRespelled = "respelled"
	returnChanged   = "changed"
	returnMissing   = "missing"
)

var returnStates = []string{returnSame, returnRespelled, returnChanged, returnMissing}

// newBlocks lists what the provider emitted and what later requests made of it.
func (b *Builder) newBlocks(ev *evidence.Evidence, trace *check.Trace) (blocks []Block) {
	providers := map[int]string{}
	for i := range ev.Exchanges {
		providers[ev.Exchanges[i].Index] = ev.Exchanges[i].Provider
	}
	number := map[*wire.Item]int{}
	for _, r := range trace.Returned() {
		n, isKnown := number[r.Emitted]
		if !isKnown {
			n = len(blocks)
			number[r.Emitted] = n
			blocks = append(blocks, b.newBlock(r.From, r.Emitted))
		}
		blocks[n].Returns = append(blocks[n].Returns, b.newReturn(providers[r.To], r, len(blocks[n].Returns) == 0))
	}
	slices.SortStableFunc(blocks, func(a, b Block) int {
		if a.Exchange != b.Exchange {
			return a.Exchange - b.Exchange
		}
		return a.Offset - b.Offset
	})
	return blocks
}

func (b *Builder) newBlock(exchange int, it *wire.Item) Block {
	block := Block{Exchange: exchange, Event: it.Place.Event, Offset: it.Place.Off, What: it.What.String(),
		Type: it.Type, Name: b.quoteText(it.Name), Fields: []Field{}}
	for _, f := range fieldsOf(it) {
		if f.value != "" {
			block.Fields = append(block.Fields, Field{f.name, b.storeBytes([]byte(f.value))})
		}
	}
	return block
}

// newReturn says what a request made of a block. Only the first place of an unchanged
// block is worth its bytes.
func (b *Builder) newReturn(provider string, r check.Returned, isFirst bool) Return {
	if r.Sent == nil {
		return Return{Exchange: r.To, Offset: -1, State: returnMissing}
	}
	out := Return{Exchange: r.To, Offset: r.Sent.Place.Off, Path: b.shownPath(r.Sent.Place.Path), State: returnSame}
	was, is := fieldsOf(r.Emitted), fieldsOf(r.Sent)
	for i := range was {
		if state := was[i].compareField(provider, r.Emitted, is[i].value); state != returnSame {
			at := decide.FirstDifference(was[i].value, is[i].value)
			out.Changes = append(out.Changes, Change{was[i].name, state, at, b.storeBytes([]byte(is[i].value))})
			out.State = returnStates[max(slices.Index(returnStates, out.State), slices.Index(returnStates, state))]
		}
	}
	if out.State == returnSame && !isFirst {
		out.Path = ""
	}
	return out
}

// itemField is one value of an item by which a provider recognises it.
type itemField struct{ name, value string }

// fieldsOf lists the same fields for every item, in the order in which they are shown.
func fieldsOf(it *wire.Item) []itemField {
	fields := []itemField{
		{"text", it.Text}, {"summary", strings.Join(it.Summary, "\n")}, {"name", it.Name}, {"id", it.ID},
		{"arguments", it.Args}, {"signature", it.Token}, {"content", ""},
	}
	if isCarried := it.What == wire.Opaque || it.What == wire.Media; isCarried && it.Node != nil {
		fields[len(fields)-1].value = it.Node.Raw()
	}
	return fields
}

// compareField says what became of the field of the emitted item.
func (f itemField) compareField(provider string, emitted *wire.Item, sent string) string {
	switch {
	case f.value == sent, f.name == "id" && (f.value == "" || sent == ""):
		return returnSame
	case f.name == "signature" && slices.Contains(emitted.AlsoTokens, sent):
		return returnSame
	case f.name == "signature" && wire.TokenKey(provider, f.value) == wire.TokenKey(provider, sent):
		return returnRespelled
	case (f.name == "arguments" || f.name == "content") && sameJSON(f.value, sent):
		return returnRespelled
	}
	return returnChanged
}

func sameJSON(a, b string) bool {
	if strings.TrimSpace(a) == "" && strings.TrimSpace(b) == "{}" {
		return true
	}
	x, errX := tree.Parse([]byte(a))
	y, errY := tree.Parse([]byte(b))
	return errX == nil && errY == nil && tree.Equal(x, y)
}
