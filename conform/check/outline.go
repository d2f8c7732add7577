package check

import (
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// outline is what linking compares of a request: one number for each item's
// content, and what was said before each run of model items. Ids, tokens, cache
// marks and hidden items do not count, because they are what a faulty client
// changes and a correct one may move.
type outline struct {
	// content has a number for each item; equal contents have equal numbers.
	content []uint64
	// words[n] stands for all that the client said before run n, in order and
	// divided by the runs; all[n] also for what the model said. The last element
	// of both stands for the whole request.
	words, all []uint64
	// lastWord[n] is the content of the client's last item before run n.
	lastWord []uint64
	// wholeAt[i] is what all would be if the request ended before item i.
	wholeAt []uint64
}

var contentSeed = maphash.MakeSeed()

// volatileMembers are left out of contents: they name an item, or may be added
// and moved without changing what is said.
var volatileMembers = []string{"cache_control", "id", "call_id", "tool_use_id", "status", "thoughtSignature",
	"thought_signature"}

// contentOf returns a number for what the item says.
func contentOf(it *wire.Item) uint64 {
	var h maphash.Hash
	h.SetSeed(contentSeed)
	writeField(&h, it.What.String())
	writeField(&h, it.Role)
	switch it.What {
	case wire.Text, wire.Thinking:
		writeField(&h, it.Text)
	case wire.Call:
		writeField(&h, it.Name)
		writeField(&h, plainArgs(it.Args))
	default:
		maphash.WriteComparable(&h, it.Node.Hash(volatileMembers...))
	}
	return h.Sum64()
}

func writeField(h *maphash.Hash, s string) {
	maphash.WriteComparable(h, len(s))
	_, _ = h.WriteString(s)
}

// plainArgs brings arguments that are JSON to a form that is the same for equal
// values.
func plainArgs(args string) string {
	if n, err := tree.Parse([]byte(args)); err == nil {
		return strconv.FormatUint(n.Hash(), 36)
	}
	return args
}

func mixHash(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// Marks that divide a chain, so that items cannot move across a run unseen.
const startMark, runMark = 0x6d65, 0x72756e

// newOutline makes the outline of a request. One that goes on with a recorded response
// begins where that conversation stands, which the provider adds to it.
func newOutline(x *exchange, rules linking) *outline {
	items, runs := x.req.Items, x.runs
	o := &outline{content: make([]uint64, len(items)), wholeAt: make([]uint64, len(items)+1)}
	words, all, last := x.base.outlineEnd(rules)
	n := 0
	for i := range items {
		it := &items[i]
		if n < len(runs) && runs[n].from == i {
			o.addBorder(words, all, last)
			words = mixHash(words, runMark)
			n++
		}
		o.wholeAt[i] = all
		o.content[i] = contentOf(it)
		switch {
		case it.Continuity() && rules.holds(hiddenIsAside):
		case it.Model():
			all = mixHash(all, o.content[i])
		default:
			words, all, last = mixHash(words, o.content[i]), mixHash(all, o.content[i]), o.content[i]
		}
	}
	o.wholeAt[len(items)] = all
	o.addBorder(words, all, last)
	return o
}

// outlineEnd returns the chains of an outline behind the reply of x, and those of an empty
// conversation for a nil x.
func (x *exchange) outlineEnd(rules linking) (words, all, last uint64) {
	if x == nil {
		return startMark, startMark, 0
	}
	o, n := x.outline, len(x.outline.words)-1
	words, all, last = o.words[n], o.all[n], o.lastWord[n]
	hasSpoken := false
	for it := range wire.Each(x.reply.Items) {
		hasSpoken = hasSpoken || it.Model()
		if it.Model() && !(it.Continuity() && rules.holds(hiddenIsAside)) {
			all = mixHash(all, contentOf(it))
		}
	}
	if hasSpoken && x.replyRun() == len(x.runs) {
		words = mixHash(words, runMark)
	}
	return words, all, last
}

func (o *outline) addBorder(words, all, last uint64) {
	o.words, o.all, o.lastWord = append(o.words, words), append(o.all, all), append(o.lastWord, last)
}

// replyRun returns the ordinal of the run in which the reply will stand in the
// next request: a new one, or the last one where the request ends with words of
// the model, which the reply continues.
func (x *exchange) replyRun() int {
	if n := len(x.runs); n > 0 && x.runs[n-1].to == len(x.req.Items) {
		return n - 1
	}
	return len(x.runs)
}

// replyContents returns the contents of the reply's items, and that of all its
// text together, which survives when a client joins or splits texts.
func replyContents(items []wire.Item) map[uint64]bool {
	contents := map[uint64]bool{}
	for i := range items {
		if it := &items[i]; it.Model() && hasContent(it) {
			contents[contentOf(it)] = true
		}
	}
	if whole, first := allText(items); first >= 0 {
		contents[whole] = true
	}
	return contents
}

// hasContent reports whether the content of an item says where it came from: an
// empty text stands anywhere.
func hasContent(it *wire.Item) bool {
	switch it.What {
	case wire.Text, wire.Thinking:
		return strings.TrimSpace(it.Text) != ""
	case wire.Call:
		return it.Name != ""
	case wire.Redacted:
		return false
	default:
		return it.Node != nil && it.Type != referenceType
	}
}

// allText returns the content of all visible text among items and the ordinal of
// the first of them, -1 when there is none.
func allText(items []wire.Item) (content uint64, first int) {
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
	return contentOf(&wire.Item{What: wire.Text, Role: "all", Text: b.String()}), first
}
