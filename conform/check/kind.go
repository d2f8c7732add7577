package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Kind says what part an exchange has in its conversation.
type Kind string

// The kinds. Checks of a conversation's history judge Main, Retry and Fork; a
// side request quotes a conversation without continuing it.
const (
	Main Kind = "main" // continues its conversation, or starts one
	// Retry asks again what an earlier exchange asked.
	Retry Kind = "retry"
	// Fork continues a reply that another exchange had continued before.
	Fork Kind = "fork"
	// SubAgent starts a conversation with a task that a tool call of another one
	// gave.
	SubAgent Kind = "sub-agent"
	// Compacted starts over with a summary that the model wrote before, or with a window
	// that the provider compacted.
	Compacted Kind = "compacted"
	// Title, Summary and Side are requests beside the conversation.
	Title   Kind = "side(title)"
	Summary Kind = "side(summary)"
	Side    Kind = "side"
	// NoAnswer asks for no answer: it counts tokens, fetches, cancels or warms a WebSocket up.
	NoAnswer Kind = "no-answer"
)

func (k Kind) isSide() bool { return k == Title || k == Summary || k == Side }

// Placement is the place of an exchange among the conversations of its trace.
type Placement struct {
	// Exchange is the index of the exchange in the evidence, Previous that of the
	// exchange it continues, -1 where it starts a conversation.
	Exchange, Previous int
	// Conversation numbers the conversations from 0 in the order they start;
	// it is -1 for requests beside one.
	Conversation int
	Kind         Kind
}

// Placements says for each exchange, in order, what part it has in which
// conversation. The slice is the caller's.
func (s *Trace) Placements() []Placement {
	list := make([]Placement, len(s.x))
	for i, x := range s.x {
		list[i] = Placement{Exchange: x.Index, Previous: -1, Conversation: x.conversation, Kind: x.kind}
		if x.previous != nil {
			list[i].Previous = x.previous.Index
		}
	}
	return list
}

// classifyExchanges gives each exchange its kind and conversation, once all links
// are known.
func (s *Trace) classifyExchanges() {
	c := classifier{linking: s.linking, side: s.ev.Side, tasks: map[string]*exchange{}, windows: map[string]*exchange{}}
	for _, x := range s.x {
		x.kind = c.kindOf(x)
		switch {
		case x.kind.isSide() || x.kind == NoAnswer:
			x.conversation = -1
		case x.previous != nil && x.previous.conversation >= 0:
			x.conversation = x.previous.conversation
		default:
			x.conversation = c.conversations
			c.conversations++
		}
		c.remember(x)
	}
}

type classifier struct {
	linking
	conversations int
	side          []*regexp.Regexp // see [evidence.Evidence]
	// tasks are long texts in the arguments of calls, and who called.
	tasks map[string]*exchange
	// windows are the calls that returned a compacted window, by its ciphertext.
	windows map[string]*exchange
	// asked are the recent exchanges of conversations, the latest last.
	asked []*exchange
}

func (c *classifier) kindOf(x *exchange) Kind {
	if !x.asksForAnswer() {
		return NoAnswer
	}
	if c.isDeclaredSide(x) {
		return sideKind(x)
	}
	if before := c.conversationBeside(x); before != nil && c.holds(sideIsBeside) && isBeside(x, before) {
		return sideKind(x)
	}
	c.unlinkSide(x)
	if from := c.windowIn(x); from != nil && c.holds(summaryStartsOver) &&
		(x.previous == nil || !startsWithMessages(x, x.previous, 1)) {
		x.previous = cmp.Or(x.previous, from.previous)
		return Compacted
	}
	p := x.previous
	if p == nil && c.holds(taskStartsAgent) && c.tasks[openingWords(x)] != nil {
		return SubAgent
	}
	if c.startsOver(x) && c.holds(summaryStartsOver) {
		return Compacted
	}
	switch {
	case p == nil:
		return Main
	case p.sameRequest(x) && c.holds(sameIsRetry):
		if p.isContinued() && x.isContinued() && c.holds(equalIsBeside) {
			x.previous = nil // an equal conversation beside it
			return Main
		}
		return Retry
	}
	kind := Main
	for _, f := range x.previous.followers {
		switch {
		case f.n >= x.n || f.kind.isSide():
		case f.sameRequest(x) && c.holds(sameIsRetry) && (!f.isContinued() || !x.isContinued()):
			return Retry
		case isAncestor(x.previous, f) && c.holds(siblingIsFork):
			kind = Fork
		}
	}
	return kind
}

// startsOver reports whether a summary stands in x for what was said before. The last turns
// may stand behind the summary, and the first prompt before it.
func (c *classifier) startsOver(x *exchange) bool {
	p := x.previous
	if p != nil && !p.kind.isSide() && startsWithMessages(x, p, len(p.req.Msgs)) {
		return false
	}
	from := c.summaryIn(x)
	switch {
	case from == nil:
		return p != nil && p.asksForAnswer() && x.keepsTail(p)
	case x.holdsPrompt(from):
		return false // it goes on with the conversation that was summarised
	case p == nil:
		x.previous = from
		return true
	}
	return p.kind.isSide() || from.asksForSummary || !startsWithMessages(x, p, 1)
}

// mentionsSummary looks for the words of a summary, or of a prompt for one.
func mentionsSummary(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "summar") || strings.Contains(text, "compact") || strings.Contains(text, "condens")
}

// holdsPrompt reports whether the last prompt of from stands in x, rewritten or not: half of
// its beginning is enough.
func (x *exchange) holdsPrompt(from *exchange) bool {
	prompt := lastPrompt(from)
	return slices.ContainsFunc(x.req.Items, func(it wire.Item) bool {
		return it.What == wire.Text && !it.Model() && 2*decide.FirstDifference(it.Text, prompt) >= len(prompt)
	})
}

// keepsTail reports whether the history of x is that of then with its beginning, or a part
// behind it, replaced by a text that is called a summary, and a line behind the text. State
// that is bound to what stands before it would have to go.
func (x *exchange) keepsTail(then *exchange) bool {
	was, isWhole := then.history()
	is, isKnown := x.history()
	from := 0
	for from < len(was) && from < len(is) && elementDifference(x.Provider, was[from], is[from]) == nil {
		from++
	}
	if !isWhole || !isKnown || x.bindsPrefix() || from == len(is) || is[from].item.What != wire.Text ||
		!mentionsSummary(is[from].item.Text) {
		return false
	}
	for tail := from + 2; tail <= len(was); tail++ {
		for at := from + 1; at <= from+2 && at < len(is); at++ {
			kept := is[at:]
			isSame := func(k int) bool {
				return k < len(kept) &&
					elementDifference(x.Provider, was[tail+k], kept[k]) == nil
			}
			k := 0
			for tail+k < len(was) && isSame(k) {
				k++
			}
			if tail+k == len(was) && k < len(kept) && kept[k].reply == then {
				return true
			}
		}
	}
	return false
}

// unlinkSide takes back that x, which is in a conversation, asks again what a request beside
// it asked. It may still ask again what the conversation asked before.
func (c *classifier) unlinkSide(x *exchange) {
	p := x.previous
	if p == nil || !p.kind.isSide() || !p.sameRequest(x) {
		return
	}
	p.followers = slices.DeleteFunc(p.followers, func(f *exchange) bool { return f == x })
	x.previous = nil
	for _, asked := range slices.Backward(c.asked) {
		if asked.Provider == x.Provider && !asked.kind.isSide() && asked.sameRequest(x) {
			x.previous = asked
			asked.followers = append(asked.followers, x)
			return
		}
	}
}

// isDeclaredSide reports whether the evidence says of x that it is beside the conversation.
func (c *classifier) isDeclaredSide(x *exchange) bool {
	if len(c.side) == 0 {
		return false
	}
	texts := append(x.req.System.Texts(), lastPrompt(x))
	for i := range x.req.Items { // OpenAI takes instructions among the messages as well
		if it := &x.req.Items[i]; it.Role == "developer" || it.Role == "system" {
			texts = append(texts, it.Text)
		}
	}
	return slices.ContainsFunc(c.side,
		func(pattern *regexp.Regexp) bool { return slices.ContainsFunc(texts, pattern.MatchString) })
}

// lastPrompt is the last text that is not the model's, "" for none.
func lastPrompt(x *exchange) string {
	for i := len(x.req.Items) - 1; i >= 0; i-- {
		if it := &x.req.Items[i]; it.What == wire.Text && !it.Model() {
			return it.Text
		}
	}
	return ""
}

// isContinued reports whether a later request sends the reply back.
func (x *exchange) isContinued() bool {
	return slices.ContainsFunc(x.followers, func(f *exchange) bool { return isAncestor(x, f) })
}

// isContinuedInMain reports whether a request sends the reply back that does not ask on the side.
func (x *exchange) isContinuedInMain() bool {
	return slices.ContainsFunc(x.followers, func(f *exchange) bool { return isAncestor(x, f) && !f.beginsSideBranch() })
}

// sameRequest reports whether both say the same, their hidden state aside.
func (x *exchange) sameRequest(o *exchange) bool {
	return x.outline.wholeAt[len(x.req.Items)] == o.outline.wholeAt[len(o.req.Items)]
}

// conversationBeside returns the exchange whose conversation x may stand beside:
// the one it quotes, else the latest before it.
func (c *classifier) conversationBeside(x *exchange) *exchange {
	for p := x.previous; p != nil; p = p.previous {
		if !p.kind.isSide() {
			return p
		}
	}
	for i := len(c.asked) - 1; i >= 0; i-- {
		if c.asked[i].Provider == x.Provider && c.asked[i].Process == x.Process && !c.asked[i].kind.isSide() {
			return c.asked[i]
		}
	}
	return nil
}

// isBeside reports whether x is a request beside the conversation of before: it has no
// tools or asks for a summary, nothing goes on from it, and more tells it apart: another system prompt, another
// model, what it asks for, a history without its calls, or a conversation that goes on
// without it.
func isBeside(x, before *exchange) bool {
	// A summary may be asked for with the tools, where the conversation starts over with it.
	isSummary := x.asksForSummary && len(x.followers) > 0 && !sameSystem(before.req.System, x.req.System)
	if hasTools(x) && !isSummary ||
		slices.ContainsFunc(x.followers, func(f *exchange) bool { return isAncestor(x, f) && f.holdsPrompt(x) }) {
		return false
	}
	otherModel := specs.ParseModel(x.modelAsked()).Bare != specs.ParseModel(before.modelAsked()).Bare
	goesOn := slices.ContainsFunc(before.followers,
		func(f *exchange) bool { return f != x && f.n > x.n && !isAncestor(x, f) })
	isAside := asksAside.MatchString(lastPrompt(x))
	switch {
	case sameSystem(before.req.System, x.req.System):
		return x.previous != nil && hasTools(before) &&
			(otherModel && goesOn || isAside && (otherModel || goesOn || x.asksForSummary))
	case !hasTools(before):
		return otherModel
	case x.previous == nil:
		return sideKind(x) != Side
	}
	return goesOn || otherModel || isAside || isTextCopy(x, before)
}

// isTextCopy reports whether before's request or reply has calls and x has none.
func isTextCopy(x, before *exchange) bool {
	isCall := func(it wire.Item) bool { return it.What == wire.Call }
	return !slices.ContainsFunc(x.req.Items, isCall) &&
		(slices.ContainsFunc(before.req.Items, isCall) || slices.ContainsFunc(before.reply.Items, isCall))
}

func hasTools(x *exchange) bool { return len(x.req.Tools.List()) > 0 }

// asksAside matches prompts of requests beside a conversation.
var asksAside = regexp.MustCompile(`(?i)\b(titles?|topics?|summar|compact|headline)`)

// sideKind names a request by what its prompt asks for.
func sideKind(x *exchange) Kind {
	words := strings.ToLower(strings.Join(append(x.req.System.Texts(), lastPrompt(x)), " "))
	switch {
	case strings.Contains(words, "title"):
		return Title
	case strings.Contains(words, "summar"), strings.Contains(words, "compact"):
		return Summary
	}
	return Side
}

// textOf joins all strings below n.
func textOf(n *tree.Node) string {
	if n.Is(tree.String) {
		return n.Text()
	}
	var b strings.Builder
	for _, v := range n.Items() {
		b.WriteString(textOf(v) + " ")
	}
	return b.String()
}

// longText is from how many bytes on a text is taken to be quoted when it stands
// somewhere else again.
const longText = 24

// openingWords returns the first text of the user, "" for a short one.
func openingWords(x *exchange) string {
	for it := range wire.Each(x.req.Items) {
		if it.What == wire.Text && it.Role == "user" && len(it.Text) >= longText {
			return strings.TrimSpace(it.Text)
		}
	}
	return ""
}

// maxQuoted bounds how many exchanges back a quoted summary is looked for.
const maxQuoted = 8

// summaryIn returns the exchange whose reply x quotes whole, nil for none. As words of the
// model, and in a system prompt that changed, it must be the reply to a request for a summary.
func (c *classifier) summaryIn(x *exchange) *exchange {
	quoted := func(text string, asksForSummary bool) *exchange {
		for k := len(c.asked) - 1; len(text) >= shortSummary && k >= 0 && k >= len(c.asked)-maxQuoted; k-- {
			from := c.asked[k]
			if from.Provider == x.Provider && (!asksForSummary || from.asksForSummary) && quotesReply(text, from) {
				return from
			}
		}
		return nil
	}
	for it := range wire.Each(x.req.Items) {
		if it.What != wire.Text {
			continue
		}
		if from := quoted(it.Text, it.Model()); from != nil {
			return from
		}
	}
	if p := x.previous; p != nil && !sameSystem(p.req.System, x.req.System) {
		return quoted(textOf(x.req.System), true)
	}
	return nil
}

// shortSummary is from how many bytes on a summary is recognised.
const shortSummary = 12

// quotesReply reports whether the text holds all that the reply says, or a long part of what
// is a summary: clients take the summary out of the words around it.
func quotesReply(text string, from *exchange) bool {
	for it := range wire.Each(from.reply.Items) {
		words, isSummary := strings.TrimSpace(it.Text), from.asksForSummary
		switch {
		case it.What != wire.Text || len(words) < longText && !(isSummary && len(words) >= shortSummary):
		case strings.Contains(text, words), isSummary && len(text) >= longText && strings.Contains(words, text):
			return true
		}
	}
	return false
}

// windowIn returns the call that returned the compaction in x, nil for none.
func (c *classifier) windowIn(x *exchange) *exchange {
	for it := range wire.Each(x.req.Items) {
		if isCompaction(it) && c.windows[ciphertextOf(it)] != nil {
			return c.windows[ciphertextOf(it)]
		}
	}
	return nil
}

func (c *classifier) remember(x *exchange) {
	for i := range x.reply.Items {
		if text := ciphertextOf(&x.reply.Items[i]); text != "" && isCompaction(&x.reply.Items[i]) && x.isCompactCall() {
			c.windows[text] = x
		}
	}
	if x.kind == NoAnswer {
		return
	}
	c.asked = append(c.asked, x)
	if len(c.asked) > 2*maxQuoted {
		c.asked = slices.Clone(c.asked[maxQuoted:])
	}
	for it := range wire.Each(x.reply.Items) {
		if it.What == wire.Call && strings.HasPrefix(strings.TrimSpace(it.Args), "{") {
			if args, err := tree.Parse([]byte(it.Args)); err == nil {
				c.addTasks(args, x)
			}
		}
	}
}

func (c *classifier) addTasks(args *tree.Node, x *exchange) {
	for _, v := range args.Items() {
		if v.Is(tree.String) && len(v.Raw()) >= longText {
			c.tasks[strings.TrimSpace(v.Text())] = x
		} else if !v.Is(tree.String) {
			c.addTasks(v, x)
		}
	}
}
