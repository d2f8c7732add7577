package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// cacheRules judge what makes the provider read a prompt again that it could have kept.
var cacheRules = map[string]rule{
	"CAC-001/volatile":    nothingVolatileInPrefix,
	"CAC-002/tools-order": toolsKeepOrder,
	"CAC-003/marks":       marksAreReached,
	"CAC-004/cache-key":   cacheKeyConstant,
}

// prefixPart is a part of the prompt in the order in which providers cache it.
type prefixPart struct {
	node *tree.Node
	path string
}

// prefixParts lists tools, system prompt and messages. Providers cache them in this order,
// except for Gemini's system prompt, which comes first.
func (x *exchange) prefixParts() (list []prefixPart) {
	for _, d := range x.req.Declared {
		list = append(list, prefixPart{d.Node, d.Path})
	}
	switch {
	case len(x.wire.Body.Prompt) == 0: // it stands among the messages
	case x.wire.Has(wires.PromptFirst):
		list = append([]prefixPart{{x.req.System, x.wire.Body.Prompt[0]}}, list...)
	default:
		list = append(list, prefixPart{x.req.System, x.wire.Body.Prompt[0]})
	}
	for _, m := range x.req.Msgs {
		list = append(list, prefixPart{m.Node, m.Path})
	}
	return list
}

// lossAfter says what of the prompt of then cannot be read from the cache any more, because
// part k of it differs in now, together with what the provider itself counted.
func (s *Trace) lossAfter(then, now *exchange, k int) string {
	bytes := 0
	for _, p := range then.prefixParts()[k:] {
		if p.node != nil {
			bytes += len(p.node.Raw())
		}
	}
	tokens := bytes / bytesPerToken
	return fmt.Sprintf("%d bytes of the prompt, about %d tokens, are read anew; %s%s", bytes, tokens,
		describeCounters(then, now), s.describeCost(then, now, tokens))
}

// describeCost says what it costs, by the user's prices, to read again what a cache held:
// as many tokens as the provider counts, else as are estimated. It is "" where no price or
// no number is known.
func (s *Trace) describeCost(then, now *exchange, estimate int) string {
	price, ok := s.ev.Prices.PriceOf(now.modelAsked())
	was, okWas := then.cachedTokens()
	is, okIs := now.cachedTokens()
	tokens, anew := estimate, price.Input
	if okWas && okIs {
		tokens = was.total() - is.read
	}
	if is.written > 0 {
		anew = price.CacheWrite
	}
	if !ok || tokens <= 0 {
		return ""
	}
	cost := float64(tokens) * (anew - price.CacheRead) / 1e6
	return strings.TrimRight(fmt.Sprintf("; by your prices that costs %.6f %s", cost, s.ev.Prices.Currency),
		" ") + " more"
}

// bytesPerToken is a rough measure for English text and JSON.
const bytesPerToken = 4

// describeCounters quotes the provider's own counters of both exchanges.
func describeCounters(then, now *exchange) string {
	was, okWas := then.cachedTokens()
	is, okIs := now.cachedTokens()
	if !okWas || !okIs {
		return "the provider's counters were not recorded"
	}
	return fmt.Sprintf("the provider counted %d cached tokens in exchange %d and %d here", was.total(),
		then.Index, is.read)
}

// cacheCount is what a provider says of its cache for one request.
type cacheCount struct{ read, written int }

func (c cacheCount) total() int { return c.read + c.written }

// cachedTokens reads the provider's counters; false where the reply has none.
func (x *exchange) cachedTokens() (c cacheCount, ok bool) {
	usage := wire.UsageOf(x.Provider, x.reply)
	if usage == nil || usage.CacheRead < 0 && usage.CacheWrite < 0 {
		return c, false
	}
	return cacheCount{max(0, usage.CacheRead), max(0, usage.CacheWrite)}, true
}

// volatile matches what differs each time it is written: a time of day, a moment, an
// id. A date alone is not among them, because it changes once a day.
var volatile = regexp.MustCompile(`(?i)\d{1,2}:\d{2}(:\d{2})?|\b1[6-9]\d{8}(\d{3})?\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{16,}\b`)

// nothingVolatileInPrefix: a clock or a changing id in what is sent each time breaks the
// cache there, each time.
func nothingVolatileInPrefix(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if !keepsPrompt(then, now) && !sameSystem(then.req.System, now.req.System) &&
			!isClockChange(then.req.System, now.req.System) {
			return
		}
		is := map[string]*tree.Node{}
		for _, p := range now.prefixParts() {
			is[p.path] = p.node
		}
		r.addObserved(1)
		for k, was := range then.prefixParts() {
			n := is[was.path]
			if was.node == nil || n == nil || tree.Equal(was.node, n, "cache_control") {
				continue
			}
			if isClockChange(was.node, n) {
				a, b := changedWords(textOf(was.node), textOf(n))
				r.addFinding(now, wire.At(n, was.path), "", "%s was %q in exchange %d and is %q here: %s", was.path,
					cutText(a, 60), then.Index, cutText(b, 60), s.lossAfter(then, now, k))
				return
			}
		}
	})
}

// isClockChange reports whether the texts of two nodes differ in times and ids only.
func isClockChange(was, is *tree.Node) bool {
	return isVolatileChange(changedWords(textOf(was), textOf(is)))
}

// isVolatileChange reports whether two texts differ in times and ids only.
func isVolatileChange(a, b string) bool {
	return volatile.MatchString(a) && volatile.MatchString(b) && !strings.Contains(a, "cch=") &&
		volatile.ReplaceAllString(a, "") == volatile.ReplaceAllString(b, "")
}

// changedWords returns what differs between two texts, widened to whole words.
func changedWords(was, is string) (a, b string) {
	from := decide.FirstDifference(was, is)
	for from > 0 && was[from-1] > ' ' {
		from--
	}
	tail := 0
	for tail < len(was)-from && tail < len(is)-from && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	for tail > 0 && was[len(was)-tail] > ' ' {
		tail--
	}
	return was[from : len(was)-tail], is[from : len(is)-tail]
}

// toolsKeepOrder: tools come first in the prompt, so that another order of them, or of the
// members of their schemas, loses everything.
func toolsKeepOrder(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := then.req.Declared, now.req.Declared
		if !canReorder(was) || len(was) != len(is) || !sameToolSet(was, is) {
			return
		}
		r.addObserved(1)
		for i := range was {
			if isDeferred(was[i].Node) || isDeferred(is[i].Node) {
				continue
			}
			if was[i].Name != is[i].Name {
				r.addFinding(now, is[i].Place(), "", "tool %q stands where exchange %d had %q: %s",
					cutText(is[i].Name, 140), then.Index, cutText(was[i].Name, 140), s.lossAfter(then, now, i))
				return
			}
			if was[i].Schema != nil && is[i].Schema != nil && tree.Equal(was[i].Schema, is[i].Schema) &&
				!tree.SameTokens(was[i].Schema, is[i].Schema) {
				r.addFinding(now, wire.At(is[i].Schema, is[i].SchemaPath), "",
					"the schema of tool %q is the one of exchange %d with its members in another order: %s",
					cutText(is[i].Name, 140), then.Index, s.lossAfter(then, now, i))
				return
			}
		}
	})
}

// canReorder reports whether tools that stand in the prompt have an order to lose, of their
// own or of the members of a schema. Those that are deferred do not stand there.
func canReorder(tools []wire.Tool) bool {
	n := 0
	for _, t := range tools {
		if isDeferred(t.Node) {
			continue
		}
		if n++; n > 1 || t.Schema != nil {
			return true
		}
	}
	return false
}

func sameToolSet(a, b []wire.Tool) bool {
	names := map[string]int{}
	for _, d := range a {
		names[d.Name]++
	}
	for _, d := range b {
		names[d.Name]--
	}
	for _, n := range names {
		if n != 0 {
			return false
		}
	}
	return true
}

// lookBack is how many blocks before a mark Anthropic looks for what it wrote earlier.
const lookBack = 20

// branchesAt reports whether now is a branch of the conversation behind the reply of x: a fork,
// or a sub-agent that inherits the history. Each branch marks what is its own, and the cache is
// for the one that goes on.
func (x *exchange) branchesAt(now *exchange) bool {
	return !sameSystem(x.req.System, now.req.System) ||
		now.canBeSentBack() && slices.ContainsFunc(x.followers, func(f *exchange) bool {
			return f != now && f.canBeSentBack() && !f.kind.isSide() && !f.sameRequest(now) && isAncestor(x, f)
		})
}

// marksAreReached: what one request writes into Anthropic's cache is read only if a mark
// of the next stands there, or at most 20 blocks behind.
func marksAreReached(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		if !then.wire.Has(wires.MarksCache) || then.branchesAt(now) || then.req.Doc.Has("cache_control") ||
			now.req.Doc.Has("cache_control") {
			return
		}
		was, is := then.req.Marks, now.req.Marks
		count, isKnown := then.cachedTokens()
		if len(was) == 0 || !isKnown || count.total() == 0 || now.reply.End == wire.Refused { // a refused one reads no cache
			return
		}
		r.addObserved(1)
		last := was[len(was)-1]
		for _, m := range is {
			if m.At >= last.At && m.At <= last.At+lookBack {
				return
			}
		}
		r.addFinding(now, wire.At(nil, last.Path), "",
			"exchange %d wrote its prompt into the cache up to %s, and no mark of this request stands there or up to %d blocks behind: %s%s",
			then.Index, last.Path, lookBack, describeCounters(then, now), s.describeCost(then, now, 0))
	})
}

// cacheKeyConstant: OpenAI sends requests with one key to one machine.
func cacheKeyConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, _ := then.member("prompt_cache_key")
		is, at := now.member("prompt_cache_key")
		if !now.wire.Has(wires.CacheKeys) || then.branchesAt(now) || !was.Is(tree.String) || !is.Is(tree.String) ||
			strings.Contains(was.Text()+is.Text(), "REDACTED") {
			return
		}
		r.addObserved(1)
		if was.Text() != is.Text() {
			r.addFinding(now, at, "", "prompt_cache_key was %q in exchange %d and is %q in the same conversation; %s%s",
				cutText(was.Text(), 60), then.Index, cutText(is.Text(), 60), describeCounters(then, now),
				s.describeCost(then, now, 0))
		}
	})
}
