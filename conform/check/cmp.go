package check

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// compactionRules judge the items in which a provider hides the summary of what stood
// before them (R50).
var compactionRules = map[string]rule{
	"CMP-001/item-id":      compactionID,
	"CMP-002/own-provider": compactionProvider,
	"CMP-002/own-model":    compactionModel,
	"CMP-003/whole-window": compactedWindow,
	"CMP-004/kept":         compactionKept,
	"CMP-004/as-item":      compactionAsItem,
	"CMP-006/summary":      compactionSummary,
}

func isCompaction(it *wire.Item) bool {
	return it.What == wire.Opaque && (it.Type == "compaction" || it.Type == "compaction_summary")
}

// ciphertextOf is what a compaction hides. What a recorder put in its place says nothing.
func ciphertextOf(it *wire.Item) string {
	if text := it.Node.Text("encrypted_content"); !strings.Contains(text, "REDACTED") {
		return text
	}
	return ""
}

// compactionKey is that of the ciphertext of a compaction among what providers issued.
func compactionKey(it *wire.Item) string {
	if text := ciphertextOf(it); isCompaction(it) && text != "" {
		return "compaction " + text
	}
	return ""
}

// eachCompaction calls f for each compaction of a request that an earlier reply issued.
func (s *Trace) eachCompaction(f func(x *exchange, it *wire.Item, from issue)) {
	s.eachRequest(func(x *exchange) {
		for it := range wire.Each(x.req.Items) {
			if from := s.issued[compactionKey(it)]; from.x != nil && from.x.n < x.n {
				f(x, it, from)
			}
		}
	})
}

// compactionID: ciphertext is bound to the id of its item. An item without an id is read
// by the one inside (O-15).
func compactionID(s *Trace, r *report) {
	s.eachCompaction(func(x *exchange, it *wire.Item, from issue) {
		if from.it.ItemID == "" {
			return
		}
		r.addObserved(1)
		if it.ItemID != "" && it.ItemID != from.it.ItemID {
			r.addFinding(x, it.Place, "O-15", "the compaction was issued with the id %s and carries the id %s (%s)",
				from.it.ItemID, cutText(it.ItemID, 64), emittedAt(from.x, from.it.Place)).Emitted = emissionAt(from.x,
				from.it.Place)
		}
	})
}

// compactionProvider: only who wrote a compaction can read it. The same format at another
// host is another provider.
func compactionProvider(s *Trace, r *report) {
	s.eachCompaction(func(x *exchange, it *wire.Item, from issue) {
		r.addObserved(1)
		if x.Provider != from.x.Provider || x.ownHost != from.x.ownHost {
			r.addFinding(x, it.Place, x.wire.RuleFor(wires.ForeignCompaction),
				"the compaction that %s issued is sent to %s (%s)", hostOf(from.x), hostOf(x),
				emittedAt(from.x, from.it.Place))
		}
	})
}

func hostOf(x *exchange) string {
	if u, err := url.Parse(x.Request.URL); err == nil && u.Host != "" {
		return cutText(u.Host, 60)
	}
	return x.Provider
}

// compactionModel: which models read each other's compactions is not published.
func compactionModel(s *Trace, r *report) {
	s.eachCompaction(func(x *exchange, it *wire.Item, from issue) {
		if x.Provider != from.x.Provider || x.req.Model == "" || from.x.req.Model == "" {
			return
		}
		r.addObserved(1)
		if a, b := specs.ParseModel(from.x.req.Model).Bare, specs.ParseModel(x.req.Model).Bare; a != b {
			r.addFinding(x, it.Place, x.wire.RuleFor(wires.ForeignCompaction),
				"the compaction of model %s is sent to model %s", a, b)
		}
	})
}

// compactedWindow: what POST /responses/compact returns is the next input: the compaction
// and what was kept beside it, in order.
func compactedWindow(s *Trace, r *report) {
	s.eachCompaction(func(x *exchange, it *wire.Item, from issue) {
		if !from.x.isCompactCall() || x.isKeptByProvider() {
			return
		}
		r.addObserved(len(from.x.reply.Items))
		at := 0
		for was := range wire.Each(from.x.reply.Items) {
			next := at
			for next < len(x.req.Items) && !isSameOfWindow(was, &x.req.Items[next]) {
				next++
			}
			if next == len(x.req.Items) {
				r.addFinding(x, it.Place, "", "the %s of the compacted window is not sent, or not in its place (%s)",
					was.Type, emittedAt(from.x, was.Place)).
					Emitted = emissionAt(from.x, was.Place)
				return
			}
			at = next + 1
		}
	})
}

// isCompactCall reports whether the exchange asks OpenAI for a compacted window.
func (x *exchange) isCompactCall() bool {
	u, err := url.Parse(x.Request.URL)
	return err == nil && strings.HasSuffix(u.Path, "/responses/compact")
}

func isSameOfWindow(a, b *wire.Item) bool {
	switch {
	case a.Type != b.Type:
		return false
	case isCompaction(a):
		return ciphertextOf(a) == ciphertextOf(b)
	case a.What == wire.Text:
		return a.Role == b.Role && a.Text == b.Text
	}
	return a.ID == b.ID
}

// compactionKept: a compaction stands for what was before it. Without it, and without
// that, the model has forgotten the conversation.
func compactionKept(s *Trace, r *report) {
	for _, l := range s.links {
		for i := range l.from.reply.Items {
			it := &l.from.reply.Items[i]
			if !isCompaction(it) || l.to.isKeptByProvider() {
				continue
			}
			r.addObserved(1)
			switch holdsAll := startsWithMessages(l.to, l.from, len(l.from.req.Msgs)); {
			case l.to.holdsCompaction(it.ItemID):
			case holdsAll:
				r.addLostItem(l, i, "",
					"the %s is not sent back, and what it stands for is, to be read and paid for again", it.Type).
					Consequence = specs.Wasteful
			default:
				r.addLostItem(l, i, "", "the %s is not sent back, nor is what it stands for", it.Type)
			}
		}
	}
}

// holdsCompaction reports whether any compaction stands in the request, or the one with an
// id is named: a later one replaces those before it.
func (x *exchange) holdsCompaction(id string) bool {
	for it := range wire.Each(x.req.Items) {
		if isCompaction(it) || it.Type == referenceType && it.ItemID == id {
			return true
		}
	}
	return false
}

// shownCiphertext is how much of a ciphertext tells it apart from others.
const shownCiphertext = 64

// compactionAsItem: the ciphertext is state for the provider; as a text it only costs.
func compactionAsItem(s *Trace, r *report) {
	var known []issue
	for _, x := range s.x {
		if x.asksForAnswer() && len(known) > 0 {
			r.addObserved(1)
			r.findCiphertext(x, known)
		}
		for it := range wire.Each(x.reply.Items) {
			if isCompaction(it) && len(ciphertextOf(it)) >= shownCiphertext/2 {
				known = append(known, issue{x, it})
			}
		}
	}
}

// findCiphertext adds a finding for a text of a request that holds a ciphertext.
func (r *report) findCiphertext(x *exchange, known []issue) {
	for it := range wire.Each(x.req.Items) {
		for _, from := range known {
			text := ciphertextOf(from.it)
			if it.What == wire.Text && strings.Contains(it.Text, text[:min(len(text), shownCiphertext)]) {
				r.addFinding(x, it.Place, "", "a text holds the ciphertext of a compaction (%s)",
					emittedAt(from.x, from.it.Place)).
					Emitted = emissionAt(from.x, from.it.Place)
			}
		}
	}
}

// compactionSummary: Anthropic's compaction is a text that may be signed, and comes back
// as it was. One without content failed and stands for nothing.
func compactionSummary(s *Trace, r *report) {
	s.eachPair(wires.SignedThinking, wire.Opaque, func(l *link, _ pair, was, is *wire.Item) {
		if !isCompaction(was) || !isCompaction(is) || was.Text == "" {
			return
		}
		r.addObserved(1)
		signature := cmp.Or(was.Token, was.Node.Text("signature"))
		switch {
		case is.Text != was.Text:
			r.addChange(l, is.Place, was.Place, "", "the summary of the compaction %s",
				describeTextDifference(was.Text, is.Text))
		case signature != "" && is.Node.Text("signature") != signature:
			r.addChange(l, is.Place, was.Place, "A-34", "the signature of the compaction %s",
				describeDifference(signature, is.Node.Text("signature")))
		}
	})
}

// referenceType is the item that names a stored one instead of repeating it.
const referenceType = "item_reference"

// mark is something that the provider issued and that names an item wherever it
// turns up: an id or a continuity token.
type mark struct {
	kind  markKind
	value string
}

type markKind byte

const (
	idMark markKind = iota
	tokenMark
)

// marksOf lists the ids and tokens of an item. What a recorder put in the place
// of a secret is left out: it repeats.
func marksOf(provider string, it *wire.Item) []mark {
	var marks []mark
	add := func(kind markKind, value string) {
		if value != "" && !strings.Contains(value, "REDACTED") {
			marks = append(marks, mark{kind, value})
		}
	}
	if it.What == wire.Call {
		add(idMark, it.ID)
	}
	if it.ItemID != it.ID || it.What != wire.Call {
		add(idMark, it.ItemID) // some clients use it as the call id
	}
	for _, t := range tokensOf(it) {
		add(tokenMark, wire.TokenKey(provider, t))
	}
	return marks
}

// tokensOf lists the tokens an item was issued with, the one to send back first.
func tokensOf(it *wire.Item) []string {
	if it.Token == "" && len(it.AlsoTokens)+len(it.DraftTokens) == 0 {
		return nil
	}
	return append(append([]string{it.Token}, it.AlsoTokens...), it.DraftTokens...)
}

// source is an item of an earlier reply.
type source struct {
	x    *exchange
	item int
}

// maxSources bounds how many earlier replies one mark, content or context points
// to: texts like "ok" repeat, and only recent ones matter.
const maxSources = 12

// addRecent keeps the latest elements of a list.
func addRecent[T any](list []T, e T) []T {
	if list = append(list, e); len(list) > maxSources {
		list = list[len(list)-maxSources:]
	}
	return list
}
