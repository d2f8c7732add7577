package check

import (
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
)

// link says that the request of exchange to sends back the reply of exchange
// from, and item by item what became of it.
type link struct {
	from, to *exchange
	// items are the ordinals in to.req.Items that stand for the reply, in order.
	items []int
	// pairs join an item of the reply to the item sent back for it.
	pairs []pair
	// missing are items of the reply that were not sent back, extra items that
	// were sent in their midst and are not in the reply, again items that send
	// a second time what another already did.
	missing, extra, again []int
}

// pair joins reply item r and request item q. Exact pairs share a token, an id
// or the whole text; the others only their kind and order.
type pair struct {
	r, q  int
	exact bool
}

func (l *link) reply(i int) *wire.Item { return &l.from.reply.Items[i] }
func (l *link) sent(i int) *wire.Item  { return &l.to.req.Items[i] }

// open reports whether the reply belongs to the turn that the request
// continues.
func (l *link) open() bool { return l.items[0] >= l.to.turn }

// latest reports whether nothing the model said follows in the request.
func (l *link) latest() bool {
	last := l.to.runs[len(l.to.runs)-1]
	return l.items[len(l.items)-1] >= last.from
}

// anchor is something of an item by which it is recognised elsewhere.
type anchor struct {
	kind byte // 't'oken, 'i'd of call or item, te'x't, 'f'unction and arguments
	s    string
}

// strong reports whether the anchor alone proves where an item came from. What
// a recorder put in the place of a secret proves nothing: it repeats.
func (a anchor) strong() bool {
	return a.kind != 'x' && a.kind != 'f' && !strings.Contains(a.s, "REDACTED")
}

// anchors lists what it can be recognised by, the strong ones first.
func anchors(provider string, it *wire.Item) []anchor {
	var as []anchor
	for _, t := range append(append([]string{it.Token}, it.AlsoTokens...), it.DraftTokens...) {
		if t != "" {
			as = append(as, anchor{'t', wire.TokenKey(provider, t)})
		}
	}
	if it.What == wire.Call && it.ID != "" {
		as = append(as, anchor{'i', it.ID})
	}
	if it.ItemID != "" { // some clients use it as the call id
		as = append(as, anchor{'i', it.ItemID})
	}
	switch {
	case it.Text != "":
		as = append(as, anchor{'x', it.What.String() + ":" + it.Text})
	case it.What == wire.Call:
		as = append(as, anchor{'f', it.Name + ":" + plainArgs(it.Args)})
	}
	return as
}

// plainArgs brings arguments that are JSON to a form that is the same for equal
// values.
func plainArgs(args string) string {
	if n, err := wire.Parse([]byte(args)); err == nil {
		return strconv.FormatUint(n.Hash(), 36)
	}
	return args
}

// source is an item of an earlier reply.
type source struct {
	x    *exchange
	item int
}

// linker finds the links. It reads each item once and looks up its anchors, so
// that its cost grows with the bytes and not with the pairs of exchanges.
type linker struct {
	*Trace
	seen map[string]map[anchor][]source // by provider
}

func newLinker(s *Trace) *linker {
	return &linker{s, map[string]map[anchor][]source{}}
}

func (l *linker) run() {
	for _, x := range l.x {
		index := l.seen[x.Provider]
		if index == nil {
			index = map[anchor][]source{}
			l.seen[x.Provider] = index
		}
		if x.asksForAnswer() {
			l.request(x, index)
		}
		remember(x, index)
	}
}

// maxSources bounds how many earlier replies one anchor may point to: texts
// like "ok" repeat, and only recent ones matter.
const maxSources = 12

func remember(x *exchange, index map[anchor][]source) {
	enter := func(a anchor, i int) {
		list := index[a]
		list = append(list, source{x, i})
		if len(list) > maxSources {
			list = list[len(list)-maxSources:]
		}
		index[a] = list
	}
	for i := range x.reply.Items {
		if !x.reply.Items[i].Model() {
			continue
		}
		for _, a := range anchors(x.Provider, &x.reply.Items[i]) {
			enter(a, i)
		}
	}
	if a, i := allText(x.reply.Items); i >= 0 {
		enter(a, i)
	}
}

// allText is the anchor of everything visible among items, which survives when
// a client joins or splits texts, and the ordinal of the first text.
func allText(items []wire.Item) (a anchor, first int) {
	var b strings.Builder
	first = -1
	for i := range items {
		if it := &items[i]; it.What == wire.Text && it.Model() && it.Text != "" {
			b.WriteString(it.Text)
			if first < 0 {
				first = i
			}
		}
	}
	return anchor{'x', "all:" + b.String()}, first
}

// request links every run of model items of x to the replies it stems from.
func (l *linker) request(x *exchange, index map[anchor][]source) {
	byReply := map[*exchange]*link{}
	for n, run := range x.runs {
		owners := claimant{x, n, index}.owners()
		if owners[0] == nil {
			l.presume(x, n, owners)
		}
		for k, from := range owners {
			if from == nil {
				continue
			}
			ln := byReply[from]
			if ln == nil {
				ln = &link{from: from, to: x}
				byReply[from] = ln
				l.links = append(l.links, ln)
				x.replays = append(x.replays, ln)
				from.sentBack = append(from.sentBack, ln)
			}
			ln.items = append(ln.items, run.from+k)
		}
	}
	for _, ln := range x.replays {
		ln.alignItems()
	}
}

// presume gives a run nobody claims to the reply that should stand there: the
// latest one to the same words of the client after as many turns. Only where
// an agent is watched from its start can nothing else stand there.
func (l *linker) presume(x *exchange, n int, owners []*exchange) {
	if l.ev.Source == evidence.SourceRecording {
		return
	}
	for k := x.n - 1; k >= 0; k-- {
		from := l.x[k]
		if from.Provider == x.Provider && from.asksForAnswer() && from.reply.Usable() && len(from.reply.Items) > 0 && len(from.runs) == n && sameContext(x, x.runs[n], from) {
			for i := range owners {
				owners[i] = from
			}
			return
		}
	}
}
