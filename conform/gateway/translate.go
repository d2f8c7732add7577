package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// compareMeaning compares a request that was translated from one wire to another: not its bytes, but
// what it says.
func (c *comparer) compareMeaning(u *received) {
	was := c.answer.ReadRequest()
	is := u.asked
	c.See("GW-7", "GW-9", "GW-11", "GW-13", "GW-26")
	said, arrived := systemTexts(c.Wire, was), systemTexts(c.UpstreamWire, is)
	switch lost, added := firstMissing(said, arrived), addedTo(said, arrived); {
	case lost == "" && added != "":
		c.Breach("GW-7", breach{Path: "system"}, "the gateway added to the system prompt: %q",
			report.Shorten(added))
	case lost == "":
	case firstMissing([]string{lost}, textsOf(is, "user")) == "":
		c.Breach("GW-7", breach{Path: "system", Consequence: specs.Degraded},
			"the system prompt arrives upstream as a text of the user: %q", report.Shorten(lost))
	default:
		c.Breach("GW-7", breach{Path: "system", Consequence: specs.Wrong},
			"the system prompt does not arrive upstream: %q is missing", report.Shorten(lost))
	}
	c.compareTools(was, is)
	for _, role := range []string{"user", "assistant"} {
		if lost := firstMissing(textsOf(was, role), textsOf(is, role)); lost != "" {
			c.Breach("GW-9", breach{Path: "conversation", Consequence: specs.Wrong},
				"a text of the %s does not arrive upstream: %q", role, report.Shorten(lost))
		}
	}
	if n := len(was.Media); n > 0 && len(ofKind(is.Items, wire.Media))+len(is.Media) == 0 &&
		!strings.Contains(string(is.Doc.Raw()), was.Media[0].Data) {
		c.Breach("GW-9", breach{Path: "conversation", Consequence: specs.Wrong},
			"no image arrives upstream; the client sent %d", n)
	}
	c.compareHistory(was, is)
	c.compareResults(was, is)
	if u.Response.Status/100 == 2 && thinksBack(was) && !is.Stateful && !thinksBack(is) {
		c.Breach("GW-10", breach{Path: "conversation", Consequence: specs.Degraded},
			"the client sends the model's thinking of this turn back, and none of it arrives upstream")
	}
}

// thinksBack reports whether a request brings back thinking, or a token of the model's hidden state, in the turn that is
// open: what the model said since the user's last text. Of earlier turns some providers take no thinking back.
func thinksBack(q *wire.Request) bool {
	for i := len(q.Items) - 1; i >= 0; i-- {
		switch it := &q.Items[i]; {
		case it.What == wire.Text && it.Role == "user":
			return false
		case it.Model() && (it.Continuity() || it.Token != ""):
			return true
		}
	}
	return false
}

// compareTools holds that the tools arrive with their descriptions, and what the client says of which are called.
func (c *comparer) compareTools(was, is *wire.Request) {
	if was.Choice.Kind == "none" && len(is.Declared) == 0 {
		return // a tool that nobody offers is not called either
	}
	at := breach{Path: "tools"}
	var undescribed []string
	for n, tool := range was.Declared {
		i := slices.IndexFunc(is.Declared, func(t wire.Tool) bool { return t.Name == tool.Name })
		if i < 0 {
			lost := at
			if len(is.Declared) == len(was.Declared) {
				lost.Compare = compareTexts(tool.Name, is.Declared[n].Name)
			}
			c.Breach("GW-26", lost, "the tool %q does not arrive upstream", tool.Name)
			continue
		}
		about := []string{tool.Node.Text("description"), tool.Node.Get("function").Text("description")}
		if firstMissing(about, stringsDeep(is.Declared[i].Node)) != "" {
			undescribed = append(undescribed, tool.Name)
		}
	}
	if undescribed != nil {
		at.Consequence = specs.Degraded
		c.Breach("GW-26", at, "tools arrive upstream without their description: %s", strings.Join(undescribed, ", "))
	}
	if was.Choice.Kind != "" && is.Choice.Kind != was.Choice.Kind &&
		!(was.Choice.Kind == "auto" && is.Choice.Kind == "") {
		c.Breach("GW-29", breach{Path: "tool_choice", Consequence: specs.Wrong},
			"the client's choice of tools is %q, and %q arrives upstream", was.Choice.Kind, is.Choice.Kind)
	}
}

// systemTexts are the texts that instruct the model.
func systemTexts(w *wires.Wire, q *wire.Request) (list []string) {
	list = stringsIn(q.System)
	for _, it := range q.Items {
		if it.What == wire.Text && slices.Contains(w.Body.PromptRoles, it.Role) {
			list = append(list, it.Text)
		}
	}
	return list
}

// stringsIn are the texts of a value that is a text, or holds blocks with texts.
func stringsIn(n *tree.Node) (list []string) {
	switch {
	case n.Is(tree.String):
		return []string{n.Text()}
	case n.Is(tree.Array):
		for _, item := range n.Items() {
			list = append(list, stringsIn(item)...)
		}
	case n.Is(tree.Object):
		for _, name := range []string{"text", "parts", "content"} {
			list = append(list, stringsIn(n.Get(name))...)
		}
	}
	return list
}

// firstMissing returns the first text that stands in none of others, "" if all arrived.
func firstMissing(texts, others []string) string {
	all := strings.Join(others, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			return text
		}
	}
	return ""
}

// addedTo returns the first of others that says more than the texts do, without the texts.
func addedTo(texts, others []string) string {
	for _, other := range others {
		for _, text := range texts {
			other = strings.ReplaceAll(other, text, "")
		}
		if added := strings.TrimSpace(other); added != "" {
			return added
		}
	}
	return ""
}

func textsOf(q *wire.Request, role string) (list []string) {
	for _, it := range q.Items {
		if it.What == wire.Text && it.Role == role && it.Text != "" {
			list = append(list, it.Text)
		}
	}
	return list
}

// compareHistory holds that the model's calls and thoughts arrive, with tokens of this upstream only.
func (c *comparer) compareHistory(was, is *wire.Request) {
	before, after := ofKind(was.Items, wire.Call), ofKind(is.Items, wire.Call)
	if len(before) != len(after) {
		c.Breach("GW-9", breach{Path: "conversation", Consequence: specs.Wrong},
			"the client sends %d calls back, and %d arrive upstream", len(before), len(after))
		return
	}
	ids, back := map[string]string{}, map[string]string{}
	for i := range before {
		one, other, isEqual := diffJSON(before[i].Args, after[i].Args)
		if before[i].Name != after[i].Name {
			one, other, isEqual = before[i].Name, after[i].Name, false
		}
		if _, err := tree.Parse(before[i].Args); !isEqual &&
			err == nil { // some wires can only carry arguments that are valid JSON
			c.Breach("GW-9", breach{Path: fmt.Sprintf("calls[%d]", i),
				Compare: compareTexts(one, other), Consequence: specs.Wrong},
				"a call of %s changed on its way upstream", before[i].Name)
		}
		if after[i].ID != "" { // without ids calls are known by their order
			ids[before[i].ID], back[after[i].ID] = after[i].ID, before[i].ID
		}
	}
	if len(ids) != len(back) {
		c.Breach("GW-13", breach{Path: "calls"}, "%d ids of calls became %d",
			len(ids), len(back))
	}
}

// compareResults holds that every result arrives, with its mark.
func (c *comparer) compareResults(was, is *wire.Request) {
	before, after := ofKind(was.Items, wire.Result), ofKind(is.Items, wire.Result)
	if len(before) != len(after) {
		c.Breach("GW-9", breach{Path: "conversation", Consequence: specs.Crash},
			"the client sends %d results, and %d arrive upstream", len(before), len(after))
		return
	}
	answered, answeredAfter := answeredCalls(was.Items), answeredCalls(is.Items)
	for i := range before {
		texts := stringsIn(before[i].Node.Any("content", "output", "functionResponse"))
		same := i // the place of the result upstream, where results may stand in another order
		if k := slices.Index(answeredAfter, answered[i]); answered[i] >= 0 && k >= 0 {
			same = k
		}
		all := stringsDeep(after[same].Node)
		switch lost := firstMissing(texts, all); {
		case lost == "":
		case same != i && firstMissing(texts, stringsDeep(after[i].Node)) == "":
			c.Breach("GW-13", breach{Path: fmt.Sprintf("results[%d]", i)},
				"the result of one call arrives upstream as that of another: %q", report.Shorten(lost))
		case firstMissing(texts, unwrapTexts(all)) == "" || isSameJSON(lost, after[same].Node):
			c.Breach("GW-9", breach{Path: fmt.Sprintf("results[%d]", i),
				Consequence: specs.Degraded},
				"a result arrives upstream wrapped in other JSON than the client sent: %q", report.Shorten(lost))
		default:
			c.Breach("GW-9", breach{Path: fmt.Sprintf("results[%d]", i),
				Consequence: specs.Wrong}, "a result changed on its way upstream: %q is missing", report.Shorten(lost))
		}
		if marks := c.UpstreamWire.Has(wires.MarksErrors) || c.UpstreamWire.Has(wires.NamesErrors); marks &&
			before[i].IsMarkedError() && !after[same].IsMarkedError() {
			c.Breach("GW-9", breach{Path: fmt.Sprintf("results[%d]", i)},
				"the mark of a failed tool does not arrive upstream")
		}
	}
}

// answeredCalls returns for each result the ordinal of the call with its id, -1 where no call has the id.
func answeredCalls(items []wire.Item) (list []int) {
	calls := map[string]int{}
	made := 0
	for _, it := range items {
		switch it.What {
		case wire.Call:
			calls[it.ID] = made
			made++
		case wire.Result:
			n, isKnown := calls[it.ID]
			if !isKnown || it.ID == "" {
				n = -1
			}
			list = append(list, n)
		}
	}
	return list
}

// unwrapTexts returns the strings in those texts that are JSON themselves.
func unwrapTexts(texts []string) (list []string) {
	for _, text := range texts {
		if n, err := tree.Parse(text); err == nil && n.Is(tree.Object|tree.Array) {
			list = append(list, stringsDeep(n)...)
		}
	}
	return list
}

// isSameJSON reports whether a text is JSON that stands in a value as it is.
func isSameJSON(text string, in *tree.Node) bool {
	n, err := tree.Parse(text)
	if err != nil || !n.Is(tree.Object|tree.Array) {
		return false
	}
	return tree.Equal(n, in) || slices.ContainsFunc(in.Items(),
		func(item *tree.Node) bool { return isSameJSON(text, item) })
}

// stringsDeep are all strings in a value.
func stringsDeep(n *tree.Node) (list []string) {
	if n.Is(tree.String) {
		return []string{n.Text()}
	}
	for _, item := range n.Items() {
		list = append(list, stringsDeep(item)...)
	}
	return list
}
