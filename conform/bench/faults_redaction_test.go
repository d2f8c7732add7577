package bench

import (
	"bytes"
	"html"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// redactionFaults let a redactor or a sanitiser of the agent write into what the model
// said, or into results that were sent before (R54). Tokens are in tokenFaults.
var redactionFaults = []Kind{
	{Name: "arguments-masked", Rule: "R54", Providers: all, alter: onNewBlock(editArgumentText(maskMiddle), isKind(callBlock), isLinked)},
	{Name: "arguments-escaped", Rule: "R54", Providers: all, alter: onNewBlock(editArgumentText(func(s string) string { return html.EscapeString(s + `<&">`) }), isKind(callBlock), isLinked)},
	{Name: "words-masked", Rule: "R54", Providers: all, alter: onNewBlock(editText(maskMiddle), isKind(textBlock), isSaid("assistant"), isLinked, isLong, hasNoToken)},
	{Name: "words-with-ellipsis", Rule: "R54", Providers: all, alter: onNewBlock(editText(func(s string) string { return s[:len(s)/3] + "…" }), isKind(textBlock), isSaid("assistant"), isLinked, isLong, isASCII, hasNoToken)},
	{Name: "words-typographic", Rule: "R54", Providers: all, alter: onNewBlock(editText(strings.NewReplacer("'", "’", `"`, "”").Replace), isKind(textBlock), isSaid("assistant"), isLinked, isLong, hasNoToken)},
	{Name: "words-fffd", Rule: "R54", Providers: all, alter: onNewBlock(editText(func(s string) string { return s[:len(s)/2] + "\uFFFD" + s[len(s)/2+1:] }), isKind(textBlock), isSaid("assistant"), isLinked, isLong, isASCII, hasNoToken)},
	{Name: "signed-thinking-escaped", Rule: "R54", Providers: anthropic, alter: onNewBlock(editText(func(s string) string { return html.EscapeString(s) + "&#39;" }), isKind(thinkingBlock), isLinked, hasToken, isLong)},
	{Name: "signed-thinking-trimmed", Rule: "R54", Providers: anthropic, alter: onNewBlock(editText(func(s string) string { return strings.TrimSpace(s) + "\n" }), isKind(thinkingBlock), isLinked, hasToken, isLong)},
	{Name: "result-masked-later", Rule: "R54 A-41", Providers: all, alter: onBlock(maskResult, isKind(resultBlock), isContinued)},
}

// hygieneFaults break the bytes of bodies and carry keys where they do not belong.
var hygieneFaults = []Kind{
	{Name: "member-twice", Rule: "RFC 8259", Providers: all, alter: onRequest(func(_ string, r *evidence.Request) bool {
		r.Body = bytes.Replace(r.Body, []byte("{"), []byte(`{"stream":true,"stream":false,`), 1)
		return true
	}, isWithout("stream"))},
	{Name: "byte-order-mark", Rule: "RFC 8259", Providers: all, alter: onRequest(func(_ string, r *evidence.Request) bool {
		r.Body = append([]byte("\xEF\xBB\xBF"), r.Body...)
		return true
	})},
	{Name: "second-document", Rule: "RFC 8259", Providers: all, alter: onRequest(func(_ string, r *evidence.Request) bool {
		r.Body = append(slices.Clone(r.Body), "{}"...)
		return true
	})},
	{Name: "raw-control-character", Rule: "RFC 8259", Providers: all, alter: onRequest(func(_ string, r *evidence.Request) bool {
		body := bytes.Replace(r.Body, []byte(`"}`), []byte("\x07\"}"), 1)
		same := bytes.Equal(body, r.Body)
		r.Body = body
		return !same
	})},
	{Name: "key-in-address", Rule: "§1.1 auth", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: onRequest(func(_ string, r *evidence.Request) bool {
		r.URL += "?api_key=bench-key-0123456789"
		return !strings.Contains(strings.TrimSuffix(r.URL, "?api_key=bench-key-0123456789"), "?")
	})},
	{Name: "key-in-prompt", Rule: "§1.1 auth", Providers: all, alter: onRequest(func(provider string, r *evidence.Request) bool {
		r.Header.Set(authHeaders[provider], "bench-key-0123456789")
		body := bytes.Replace(r.Body, []byte(`"text":"`), []byte(`"text":"bench-key-0123456789 `), 1)
		same := bytes.Equal(body, r.Body)
		r.Body = body
		return !same
	})},
	{Name: "key-of-other-provider", Rule: "§1.1 auth", Providers: all, alter: onRequest(func(provider string, r *evidence.Request) bool {
		r.Header.Set(map[string]string{evidence.Anthropic: "X-Goog-Api-Key", evidence.OpenAI: "X-Api-Key", evidence.Gemini: "X-Api-Key"}[provider], "REDACTED")
		return true
	})},
	{Name: "two-keys", Rule: "§1.1 auth", Providers: []string{evidence.Anthropic, evidence.Gemini}, alter: onRequest(func(provider string, r *evidence.Request) bool {
		r.Header.Set(authHeaders[provider], "bench-key-0123456789")
		r.Header.Set("Authorization", "Bearer other-key-0123456789")
		return true
	})},
}

// legalHygiene are the nearest things to the faults above that are allowed.
var legalHygiene = []Kind{
	{Name: "result-masked-from-the-start", Rule: "R54", Providers: all, alter: onNewBlock(maskResult, isKind(resultBlock))},
	{Name: "prompt-with-mask", Rule: "user's own words", Providers: all, alter: onNewBlock(editText(func(s string) string { return s + " [REDACTED] *** …" }), isKind(textBlock), isSaid("user"))},
	{Name: "white-space-around-body", Rule: "RFC 8259", Providers: all, alter: onRequest(func(_ string, r *evidence.Request) bool {
		r.Body = slices.Concat([]byte("\r\n "), r.Body, []byte("\n"))
		return true
	})},
	{Name: "key-named-in-prompt", Rule: "user's own words", Providers: all, alter: onNewBlock(editText(func(s string) string { return s + " Set api_key=sk-... first." }), isKind(textBlock), isSaid("user"))},
}

var authHeaders = map[string]string{evidence.Anthropic: "X-Api-Key", evidence.OpenAI: "Authorization", evidence.Gemini: "X-Goog-Api-Key"}

// onRequest alters the first accepted call that passes the filters and that edit can
// alter. edit gets a copy of its headers.
func onRequest(edit func(provider string, r *evidence.Request) bool, filters ...func(*node) bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		for _, k := range d.modelCalls() {
			request := d.ev.Exchanges[k].Request
			if request.Header = request.Header.Clone(); request.Header == nil {
				request.Header = http.Header{}
			}
			request.Header.Del("Content-Length")
			fits := !slices.ContainsFunc(filters, func(f func(*node) bool) bool { return !f(d.requests[k]) })
			if fits && edit(d.provider, &request) {
				d.ev.Exchanges[k].Request = request
				return Place{Exchange: d.ev.Exchanges[k].Index}, true
			}
		}
		return Place{}, false
	}
}

func isWithout(key string) func(*node) bool {
	return func(n *node) bool { return n.at(key) == nil }
}

func isASCII(_ *scene, _ int, b *block) bool {
	return !strings.ContainsFunc(b.text, func(r rune) bool { return r > 126 })
}

// maskMiddle overwrites the middle of a text, as redactors do.
func maskMiddle(s string) string {
	runes := []rune(s)
	if len(runes) < 6 {
		return "***"
	}
	return string(runes[:len(runes)/3]) + "***" + string(runes[2*len(runes)/3:])
}

func editText(f func(string) string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		text := f(b.text)
		return text != b.text && p.setText(b, text)
	}
}

// editArgumentText changes the first text in the arguments of a call.
func editArgumentText(f func(string) string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		holder, key := p.argumentsOf(b)
		args := holder.at(key)
		if !args.isString() {
			return editFirstText(args, f)
		}
		inner, ok := parseJSON([]byte(args.stringValue()))
		if !ok || !editFirstText(inner, f) {
			return false
		}
		holder.setMember(key, stringNode(string(inner.encodeJSON())))
		return true
	}
}

// editFirstText changes the first text below n that f changes.
func editFirstText(n *node, f func(string) string) bool {
	for i := range n.countMembers() {
		v := n.members[i].value
		if !v.isString() {
			if editFirstText(v, f) {
				return true
			}
			continue
		}
		if text := v.stringValue(); len(text) > 3 && f(text) != text {
			v.replaceWith(stringNode(f(text)))
			return true
		}
	}
	return false
}

// maskResult masks the first text of what a tool said.
func maskResult(p *page, b *block, _ *rand.Rand) bool {
	holder, key := p.resultBody(b)
	if v := holder.at(key); v.isString() {
		if len(v.stringValue()) < 4 {
			return false
		}
		holder.setMember(key, stringNode(maskMiddle(v.stringValue())))
		return true
	}
	return editFirstTextOf(holder.at(key))
}

// wordMembers hold what a tool said, as opposed to settings and media.
var wordMembers = []string{"", "text", "content", "output", "result", "error", "stdout"}

// editFirstTextOf masks the first text of a result.
func editFirstTextOf(n *node) bool {
	for i := range n.countMembers() {
		m := n.members[i]
		switch {
		case m.value.isString() && slices.Contains(wordMembers, m.key) && len(m.value.stringValue()) > 3:
			m.value.replaceWith(stringNode(maskMiddle(m.value.stringValue())))
			return true
		case editFirstTextOf(m.value):
			return true
		}
	}
	return false
}
