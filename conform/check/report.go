package check

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/wires/wire"
)

// report collects what one check sees.
type report struct {
	check, fix string
	Result
}

// addObserved counts n places where the rule could have been broken.
func (r *report) addObserved(n int) { r.Observed += n }

// addFinding adds a finding at a place in x's request or reply. It quotes the answer to this
// request, else the known answer to a breach of the rule.
func (r *report) addFinding(x *exchange, at wire.Place, rule, format string, args ...any) *Finding {
	f := r.addBare(x, at, rule, format, args...)
	if f.Refusal = refusalOf(x, at, rule); f.Refusal != "" {
		f.Message += "; " + f.Refusal
	} else if text := x.bookOf().QuoteOf(rule); text != "" && x.atOtherHost() {
		f.Message += fmt.Sprintf("; a server that refuses this may say %q (%s)", text, rule)
	} else if text != "" {
		f.Message += fmt.Sprintf("; where %s refuses this it says %q (%s)", x.wire.Vendor, text, rule)
	}
	return f
}

// addBare is addFinding for messages that quote the provider themselves or about
// which the provider says nothing.
func (r *report) addBare(x *exchange, at wire.Place, rule, format string, args ...any) *Finding {
	f := Finding{Check: r.check, Exchange: decide.Ordinal(x.Index), Event: decide.Ordinal(at.Event), Offset: decide.Ordinal(at.Off),
		Path: at.Path, Rule: rule, Message: fmt.Sprintf(format, args...), Fix: r.fix, Form: format}
	for _, arg := range args {
		if d, ok := arg.(difference); ok {
			f.Compare, f.Fix = &d.Comparison, cmp.Or(d.fix, f.Fix)
		}
	}
	r.Findings = append(r.Findings, f)
	return &r.Findings[len(r.Findings)-1]
}

// addLostItem adds a finding about item i of the linked reply, which the request does
// not hold where it should.
func (r *report) addLostItem(l *link, i int, rule, format string, args ...any) *Finding {
	return r.addChange(l, l.sent(l.items[0]).Place, l.reply(i).Place, rule, format, args...)
}

// addChange adds a finding about a field that differs from the one emitted.
func (r *report) addChange(l *link, at, emitted wire.Place, rule, format string, args ...any) *Finding {
	args = append(args, emittedAt(l.from, emitted))
	f := r.addFinding(l.to, at, rule, format+" (%s)", args...)
	f.Emitted = emissionAt(l.from, emitted)
	return f
}

func emissionAt(x *exchange, at wire.Place) *decide.Place {
	return &decide.Place{Exchange: decide.Ordinal(x.Index), Event: decide.Ordinal(at.Event), Offset: decide.Ordinal(at.Off)}
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
		decide.FirstDifference(was, is), len(was), maskToken(was), len(is), maskToken(is))
	return difference{sentence: sentence + describeEdit(was, is), Comparison: decide.Compare(was, is, min(tokenContext, len(was)/8))}
}

// describeTextDifference is describeDifference for text that may be read: it
// shows a little of both sides around the first difference.
func describeTextDifference(was, is string) difference {
	at := decide.FirstDifference(was, is)
	sentence := fmt.Sprintf("differs from byte %d on: was %d bytes with %#q there, is %d bytes with %#q",
		at, len(was), textAround(was, at), len(is), textAround(is, at))
	return difference{sentence: sentence + describeEdit(was, is), Comparison: decide.Compare(was, is, textContext)}
}

// maskToken shows the ends of a token: enough to find it, too little to use it.
func maskToken(token string) string {
	switch n := len(token); {
	case n == 0:
		return "(empty)"
	case n < 20:
		return token[:n/4] + "…"
	}
	return token[:6] + "…" + token[len(token)-4:]
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
		return fmt.Sprintf("%s refused the request: %q", x.serverName(), cutText(x.refusal.Words, 200))
	}
	return ""
}

func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
