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

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
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
		"messages", "content", "system", "tools", "input", "instructions", "contents", "parts", "output", "response", "delta",
		"candidates", "error", "usage", "message", "content_block", "item", "functionCall", "functionResponse", "thoughtSignature",
		"signature", "thinking", "text", "encrypted_content", "summary", "id", "call_id", "tool_use_id", "type", "role", "name", "data",
	} {
		names[name] = true
	}
	return names
}

// openHeaders keep their value in a shared page.
var openHeaders = []string{
	"Accept", "Accept-Encoding", "Anthropic-Beta", "Anthropic-Version", "Content-Encoding", "Content-Length", "Content-Type",
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

// shownURL is a URL. A shared page shows it without the query, and only where the host
// is the provider's.
func (b *Builder) shownURL(x *evidence.Exchange) string {
	if !b.options.Share {
		return x.Request.URL
	}
	u, err := url.Parse(x.Request.URL)
	if err != nil || !x.IsOwnHost() {
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
