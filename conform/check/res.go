package check

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// resumeRules judge that a conversation only grows, above all when another
// process goes on with it (R37, R44).
var resumeRules = map[string]rule{
	"RES-001/prefix":     resumePrefix,
	"RES-002/system":     systemConstant,
	"RES-002/tools":      toolsConstant,
	"RES-003/history":    historyKept,
	"RES-004/last-reply": lastReplyKept,
	"RES-005/closed":     resumeClosed,
	"RES-006/once":       resumeOnce,
	"RES-007/bytes":      prefixBytes,
}

// resumption is the first request of a process that resumed a session, and the
// last request before it.
type resumption struct{ before, first *exchange }

func (s *Trace) allResumptions() (list []resumption) {
	for n := range s.ev.Process {
		if !s.ev.Process[n].Resumed {
			continue
		}
		first := slices.IndexFunc(s.x, func(x *exchange) bool { return x.Process == n && x.asksForAnswer() })
		for k := first - 1; k >= 0; k-- {
			if s.x[k].asksForAnswer() && s.x[k].Process < n && s.x[k].Provider == s.x[first].Provider {
				list = append(list, resumption{s.x[k], s.x[first]})
				break
			}
		}
	}
	return list
}

func resumePrefix(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		r.addObserved(len(p.before.req.Items))
		r.comparePrefix(p.before, p.first)
	}
}

// comparePrefix adds a finding where the items of now do not begin with those of then.
// Hidden state is left to the SIG checks, which know when it may go.
func (r *report) comparePrefix(then, now *exchange) {
	was, is := visibleItems(then.req.Items), visibleItems(now.req.Items)
	for k, a := range was {
		if k >= len(is) {
			at := wire.Place{Event: -1, Off: -1, Path: a.Place.Path}
			r.addFinding(now, at, prefixRule(now), "%s that exchange %d sent at %s is gone, with everything after it", a.What, then.Index, a.Place.Path)
			return
		}
		if path, what := itemDiff(a, is[k]); path != "=" {
			r.addFinding(now, is[k].Place, prefixRule(now), "%s that exchange %d sent at %s is not what stands there now: %s", a.What, then.Index, a.Place.Path, strings.TrimSpace(path+" "+what))
			return
		}
	}
}

func prefixRule(x *exchange) string { return byProvider(x, "A-41", "", "") }

func visibleItems(items []wire.Item) []*wire.Item {
	var list []*wire.Item
	for i := range items {
		if !items[i].Continuity() {
			list = append(list, &items[i])
		}
	}
	return list
}

// itemDiff compares what two items say; cache marks do not count (A-43 is about
// their number, the prefix check passes over them).
func itemDiff(a, b *wire.Item) (path, what string) {
	switch {
	case a.What != b.What || a.Role != b.Role:
		return "", "a " + b.Role + " " + b.What.String()
	case a.What == wire.Text && a.Text != b.Text:
		return "", "text " + describeTextDifference(a.Text, b.Text).String()
	case a.What == wire.Text:
		return "=", ""
	case a.Node == nil || b.Node == nil:
		return "=", ""
	}
	return wire.Diff(a.Node, b.Node, "cache_control", "thoughtSignature", "thought_signature")
}

// eachNext calls f for every request and the latest earlier one of the same
// conversation: the one whose reply it sends back.
func (s *Trace) eachNext(f func(then, now *exchange)) {
	for _, x := range s.x {
		var then *exchange
		for _, l := range x.replays {
			if then == nil || l.from.Index > then.Index {
				then = l.from
			}
		}
		if then != nil && then.asksForAnswer() && (s.ev.Source != evidence.SourceRecording || sendsBoundState(x)) {
			f(then, x)
		}
	}
}

// sendsBoundState reports whether the request sends back hidden state that its provider
// may have bound to what stands before it (R44). In traffic of other tools
// nothing else forbids a conversation to change.
func sendsBoundState(x *exchange) bool {
	return x.Provider != evidence.Gemini && slices.ContainsFunc(x.req.Items, func(it wire.Item) bool { return it.Token != "" && it.Model() })
}

// lastReplyKept: what the session had received whole is not lost with the
// process.
func lastReplyKept(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		if !p.before.reply.Usable() || len(p.before.reply.Items) == 0 {
			continue
		}
		r.addObserved(1)
		if !slices.ContainsFunc(p.first.replays, func(l *link) bool { return l.from == p.before }) {
			at := wire.Place{Event: -1, Off: -1}
			r.addFinding(p.first, at, "", "the resumed session does not send back the last reply (%s)", emittedAt(p.before, p.before.reply.Items[0].Place)).
				Emitted = emissionAt(p.before, p.before.reply.Items[0].Place)
		}
	}
}

func resumeClosed(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		callsAnswered(p.first, r)
	}
}

// resumeOnce: after the old transcript comes only what is new: results and
// prompts, nothing the model said and nothing a second time.
func resumeOnce(s *Trace, r *report) {
	for _, p := range s.allResumptions() {
		r.addObserved(1)
		end := 0
		for _, l := range p.first.replays {
			end = max(end, l.items[len(l.items)-1]+1)
			for _, q := range l.again {
				it := l.sent(q)
				r.addFinding(p.first, it.Place, "", "%s of the reply of exchange %d is sent back twice", it.What, l.from.Index)
			}
		}
		known := len(p.before.req.Items)
		for q := max(end, known); q < len(p.first.req.Items); q++ {
			it := &p.first.req.Items[q]
			if k := indexOfResult(p.before.req.Items, it); k >= 0 || it.Model() {
				r.addFinding(p.first, it.Place, "", "%s stands again after the transcript it belongs to", it.What)
			}
		}
	}
}

// indexOfResult finds a result the old transcript already holds. A user may say the
// same thing twice, a tool does not answer one call twice.
func indexOfResult(items []wire.Item, it *wire.Item) int {
	return slices.IndexFunc(items, func(o wire.Item) bool {
		return o.What == wire.Result && it.What == wire.Result && o.ID != "" && o.ID == it.ID
	})
}

// prefixBytes: prompt caches compare bytes, so what is equal as JSON should be
// equal as text as well.
func prefixBytes(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		for i, m := range then.req.Msgs {
			if i >= len(now.req.Msgs) {
				return
			}
			a, b := m.Node, now.req.Msgs[i].Node
			if !wire.Equal(a, b) {
				continue // another requirement's matter, or a cache mark
			}
			r.addObserved(1)
			if !wire.SameTokens(a, b) {
				r.addFinding(now, wire.Place{Event: -1, Off: b.Off, Path: now.req.Msgs[i].Path}, "",
					"means the same as in exchange %d and is written differently: %s", then.Index, describeTextDifference(string(a.Raw), string(b.Raw)))
				return
			}
		}
	})
}
