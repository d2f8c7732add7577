package check

import (
	"slices"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// link says that the request of exchange to sends back the reply of exchange
// from, and item by item what became of it.
type link struct {
	from, to *exchange
	// items are the ordinals in to.req.Items that stand for the reply, in order;
	// there is at least one.
	items []int
	// pairs join an item of the reply to the item sent back for it.
	pairs []pair
	// missing are items of the reply that were not sent back, extra items that
	// were sent in their midst and are not in the reply, again items that send
	// a second time what another already did.
	missing, extra, again []int
}

// pair joins reply item r and request item q. Exact pairs share a token, an id
// or the whole content; the others only their kind and order.
type pair struct {
	r, q  int
	exact bool
}

func (l *link) reply(i int) *wire.Item { return &l.from.reply.Items[i] }
func (l *link) sent(i int) *wire.Item  { return &l.to.req.Items[i] }

// sentFor returns what was sent back for item i of the reply, nil if nothing was.
func (l *link) sentFor(i int) *wire.Item {
	for _, p := range l.pairs {
		if p.r == i {
			return l.sent(p.q)
		}
	}
	return nil
}

// open reports whether the reply belongs to the turn that the request
// continues.
func (l *link) open() bool { return l.items[0] >= l.to.turn }

// latest reports whether nothing the model said follows in the request.
func (l *link) latest() bool {
	last := l.to.runs[len(l.to.runs)-1]
	return l.items[len(l.items)-1] >= last.from
}

// linker finds the links. It reads each item once and looks up its marks,
// content and context, so that its cost grows with the bytes and not with the
// pairs of exchanges.
type linker struct {
	*Trace
	known map[string]*knownReplies // by provider
}

// knownReplies is what earlier exchanges with one provider can be recognised by.
type knownReplies struct {
	byMark map[mark][]source
	// byContent finds replies by an item's content, byWords by all the client
	// had said when they were asked for, byWhole by their whole request.
	byContent, byWords, byWhole map[uint64][]source
	// byID finds a reply by its own id, byStore the last exchange of a
	// conversation that the provider keeps.
	byID, byStore map[string]*exchange
	// summaries are recent replies to requests for a summary.
	summaries []source
}

func (s *Trace) linkReplies() {
	l := &linker{s, map[string]*knownReplies{}}
	for _, x := range s.x {
		known := l.known[x.Provider]
		if known == nil {
			known = &knownReplies{map[mark][]source{}, map[uint64][]source{}, map[uint64][]source{},
				map[uint64][]source{}, map[string]*exchange{}, map[string]*exchange{}, nil}
			l.known[x.Provider] = known
		}
		if x.asksForAnswer() {
			m := newMatcher(x, known, s.linking)
			m.isResumed = s.isResumed(x.Process)
			m.matchRequest()
			l.addLinks(x)
			if x.previous = m.findPrevious(); x.previous != nil {
				x.previous.followers = append(x.previous.followers, x)
			}
		}
		known.remember(x)
	}
}

// addLinks makes one link for each reply that the request sends back.
func (l *linker) addLinks(x *exchange) {
	byReply := map[*exchange]*link{}
	for n, run := range x.runs {
		for k, from := range x.owners[n] {
			if from == nil {
				continue
			}
			ln := byReply[from]
			if ln == nil {
				ln = &link{from: from, to: x}
				byReply[from] = ln
				x.replays = append(x.replays, ln)
			}
			ln.items = append(ln.items, run.from+k)
		}
	}
	for _, ln := range x.replays {
		ln.alignItems(l.linking)
	}
}

// remember enters what x can be recognised by.
func (k *knownReplies) remember(x *exchange) {
	for i := range x.reply.Items {
		it := &x.reply.Items[i]
		if !it.Model() {
			continue
		}
		s := source{x, i}
		for _, m := range marksOf(x.Provider, it) {
			if list := k.byMark[m]; len(list) == 0 || list[len(list)-1].x != x {
				k.byMark[m] = addRecent(list, s)
			}
		}
	}
	for c := range x.contents {
		k.byContent[c] = addRecent(k.byContent[c], source{x, 0})
	}
	if x.reply.ID != "" {
		k.byID[x.reply.ID] = x
	}
	if !x.asksForAnswer() {
		return
	}
	if x.asksForSummary {
		k.summaries = addRecent(k.summaries, source{x, 0})
	}
	n := x.replyRun()
	k.byWords[x.outline.words[n]] = addRecent(k.byWords[x.outline.words[n]], source{x, 0})
	whole := x.outline.wholeAt[len(x.req.Items)]
	k.byWhole[whole] = addRecent(k.byWhole[whole], source{x, 0})
	if id := storedConversation(x); id != "" {
		k.byStore[id] = x
	}
}

// storedConversation returns the id of the conversation that the provider keeps
// and the request adds to.
func storedConversation(x *exchange) string {
	c := x.req.Doc.Get("conversation")
	if c.Is(tree.String) {
		return c.Text()
	}
	return c.Text("id")
}

// runOf returns the ordinal of the run that holds model item q.
func (x *exchange) runOf(q int) int {
	n, _ := slices.BinarySearchFunc(x.runs, q, func(run span, q int) int { return run.to - 1 - q })
	return n
}

// linkRule is one rule by which a request is matched with earlier replies and placed
// in a conversation. All of them hold; a test leaves one out and sees that the
// transcripts miss it.
type linkRule byte

const (
	_ linkRule = iota // no rule

	// A run of the request is matched with the replies that emitted it.
	idsName           // an id names the reply that issued it
	tokensName        // so does a token
	sharedSaysLittle  // an id or token of several replies says little
	contentInContext  // content after all that the client said before
	textsAreJoined    // texts are compared together as well, because clients join and split them
	placeDecides      // among equals, the reply to the same history
	lineDecides       // among equals, the reply of the conversation that known runs belong to
	namesDecide       // and the one with the same ids, though a recorder may have written them
	latestDecides     // among equals, the latest reply
	sessionsDiffer    // another session's ids and tokens are not this one's
	copiesAreForeign  // a token copied into another reply does not bring it along
	answerIsContinued // the model's words that a request ended with are not the next reply's
	gapsAreFilled     // an unknown item belongs to what stands beside it
	contentBeside     // content beside a neighbour that is known
	contentAfterWord  // content after the same last word, between the neighbours
	wholeIsSaid       // all that a reply says and nothing else
	positionIsLast    // the only reply that can stand there
	marksContradict   // ids or tokens that differ forbid what content and place suggest
	repliesStandOnce  // a reply has one run
	boundsHold        // a reply came between those before and after it
	openingIsRead     // the client's own beginning of an answer is not a reply
	hiddenIsAside     // hidden state does not change what was said before

	// Items of a match are paired.
	pairByID
	pairByContent
	pairByToken
	pairByKind
	callsDiffer    // calls with ids of their own, or that share a token alone, are two
	secondIsRepeat // an item whose pair is taken is sent twice
	originIsNamed  // a token in another's place is named with the reply that issued it

	// The exchange that a request continues.
	responseIsNamed  // by previous_response_id
	storeIsNamed     // by the stored conversation
	requestIsGrown   // whose request it repeats whole
	grownHasItsMarks // with the same ids and tokens

	// The part that an exchange has in its conversation.
	sideIsBeside
	taskStartsAgent
	summaryStartsOver
	sameIsRetry
	siblingIsFork
	equalIsBeside

	linkRuleEnd // stands after the last
)

// linking says which rule is left out; the zero value leaves out none.
type linking struct{ without linkRule }

func (l linking) holds(r linkRule) bool { return l.without != r }

// Returned says what a later request sent back for one block of a reply.
type Returned struct {
	// From is the index of the exchange that emitted the block, To that of the request
	// that sends its reply back.
	From, To int
	// Emitted is the block as the provider emitted it. Sent is the block as it was sent
	// back, nil where the request left it out. Both are shared and must not be changed.
	Emitted, Sent *wire.Item
}

// Returned lists, by request, each block of an earlier reply that the request sends
// back or leaves out. The slice is the caller's.
func (s *Trace) Returned() (list []Returned) {
	for _, l := range s.links {
		for _, p := range l.pairs {
			list = append(list, Returned{l.from.Index, l.to.Index, l.reply(p.r), l.sent(p.q)})
		}
		for _, r := range l.missing {
			list = append(list, Returned{l.from.Index, l.to.Index, l.reply(r), nil})
		}
	}
	return list
}
