package mutate

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

func stepVerbs() map[string]func(string) step {
	return map[string]func(string) step{
		"set-model": func(model string) step { return func(c *cursor) bool { return c.setModel(model) } },
		"reroute": func(model string) step {
			return func(c *cursor) bool {
				name := c.theExchange().ReadReply().Model
				return name != "" && c.editText("@reply",
					func(s string) string { return strings.ReplaceAll(s, `"`+name+`"`, `"`+model+`"`) })
			}
		},
		"answer": func(rest string) step {
			status, body, _ := strings.Cut(rest, " ")
			code, err := strconv.Atoi(status)
			return func(c *cursor) bool {
				c.theExchange().Response = jsonResponse(code, body)
				if code == http.StatusOK {
					c.theExchange().Response.Header = http.Header{}
				}
				return err == nil
			}
		},
		"take": func(what string) step {
			return func(c *cursor) bool {
				x, from := c.theExchange(), c.source
				switch what {
				case "first request":
					x.Request, c.doc = c.ev.Exchanges[0].Request, readDocument(&c.ev.Exchanges[0])
					return true
				case "request":
					x.Request, c.doc = from.Request, readDocument(from)
					x.Request.Header = from.Request.Header.Clone()
				case "body":
					x.Request.Body, c.doc = from.Request.Body, readDocument(from)
				case "reply":
					x.Response = from.Response
				case "date":
					x.Response.Header.Set("Date", from.Response.Header.Get("Date"))
				}
				return true
			}
		},
		"exit": func(code string) step {
			return func(c *cursor) bool {
				process := &c.ev.Process[c.theExchange().Process]
				was := process.ExitCode
				process.ExitCode, _ = strconv.Atoi(code)
				return process.ExitCode != was
			}
		},
	}
}

func onItem(edit func(c *cursor, it *item) bool) step {
	return func(c *cursor) bool { return edit(c, c.theItem()) }
}

func stepWords() map[string]step {
	return map[string]step{
		"remove":            onItem((*cursor).removeItem),
		"set-first-item-id": onItem((*cursor).setFirstItemID),
		"move-to-own-turn":  onItem((*cursor).moveToOwnTurn),
		"drop-turns-before": onItem(func(c *cursor, it *item) bool {
			return sliceList(c.findSpot(":turns").findNode(), strconv.Itoa(it.turn), "end")
		}),
		"remove-followers": func(c *cursor) bool {
			end := c.at + 1
			for end < len(c.items) && c.isModels(c.items[end]) {
				end++
			}
			gone := slices.Clone(c.items[c.at+1 : end])
			return c.removeAll(func(it *item) bool { return slices.Contains(gone, it) }) || true
		},
		"hoist-thinking":        (*cursor).hoistThinking,
		"drop-leading-thinking": func(c *cursor) bool { return c.removeOnly(c.leadingThinking()) },
		"move-leading-thinking": (*cursor).moveLeadingThinking,
		"drop-middle-thinking": func(c *cursor) bool {
			blocks := slices.DeleteFunc(slices.Clone(c.items), func(it *item) bool { return !c.isHiddenState(it) })
			return len(blocks) > 2 && c.removeItem(blocks[1])
		},
		"use-draft":           onItem((*cursor).useDraft),
		"lose-reasoning":      (*cursor).loseReasoning,
		"carry-token":         (*cursor).carryToken,
		"keep-declined":       (*cursor).keepDeclined,
		"wrong-thinking-form": (*cursor).wrongThinkingForm,
		"forget-reply":        (*cursor).forgetReply,
		"replay-twice":        (*cursor).replayTwice,
		"reformat-arguments":  onItem((*cursor).reformatArguments),
		"mask-arguments":      func(c *cursor) bool { return c.editArguments(maskFirstText) },
		"add-second-key": func(c *cursor) bool {
			h := c.theExchange().Request.Header
			if formOf(c.provider).credential != "Authorization" {
				h.Del("Authorization")
			}
			h.Add("Authorization", "Bearer kite-heron-9876543210")
			return true
		},
		"say-image":          onItem((*cursor).sayImage),
		"force-again":        (*cursor).forceAgain,
		"other-socket":       func(c *cursor) bool { c.theExchange().WebSocket += 7; return true },
		"older-response":     (*cursor).nameOlderResponse,
		"history-beside-id":  (*cursor).repeatHistory,
		"drop-marks":         func(c *cursor) bool { dropMarks(c.doc); return true },
		"swap-agent-answers": (*cursor).swapAgentAnswers,
	}
}

// removeAll removes the items that fit, from behind. It reports whether there was one.
func (c *cursor) removeAll(fits func(*item) bool) bool {
	removed := false
	for _, it := range slices.Backward(c.items) {
		if fits(it) {
			removed = c.removeItem(it) || removed
		}
	}
	return removed
}

func (c *cursor) removeOnly(items []*item) bool {
	return c.removeAll(func(it *item) bool { return slices.Contains(items, it) })
}

func (c *cursor) setFirstItemID(it *item) bool {
	for _, first := range c.items {
		if first.node.Text("type") == "function_call" && first.itemID != "" {
			return first.itemID != it.itemID && memberOf(it.node, "id").putNode(tree.NewString(first.itemID))
		}
	}
	return false
}

func (c *cursor) moveToOwnTurn(it *item) bool {
	at := c.turnSpot(it)
	turn := parseLiteral(`{"role":"user"}`)
	memberOf(turn, formOf(c.provider).parts).putNode(tree.NewArray(it.node))
	at.at++
	return c.removeItem(it) && at.insertNode(turn)
}

func (c *cursor) isHiddenState(it *item) bool {
	return (it.kind == "thinking" || it.kind == "hidden") && it.token != "" && c.wasEmitted(it)
}

// hoistThinking moves the last hidden block, whose step goes on with a call, in front of the
// first one, if results stand between them.
func (c *cursor) hoistThinking() bool {
	first := slices.IndexFunc(c.items, c.isHiddenState)
	for i := len(c.items) - 2; first >= 0 && i > first; i-- {
		it, next := c.items[i], c.items[i+1]
		leads := c.isHiddenState(it) && next.kind == "call" && next.id != "" && c.wasEmitted(next)
		if !leads || !slices.ContainsFunc(c.items[first:i], func(o *item) bool { return o.kind == "result" }) {
			continue
		}
		return c.removeItem(it) && c.items[first].currentSpot().insertNode(it.node)
	}
	return false
}

// leadingThinking finds hidden blocks that begin the last message of the model before tool
// results, with a call in it: the ones every API asks for.
func (c *cursor) leadingThinking() (blocks []*item) {
	last := len(c.items) - 1
	for last >= 0 && c.items[last].kind == "result" {
		last--
	}
	if last < 0 || last == len(c.items)-1 || c.items[last].kind != "call" {
		return nil
	}
	first := last
	for first > 0 && c.isModels(c.items[first-1]) {
		first--
	}
	for _, it := range c.items[first:last] {
		if it.kind != "thinking" && it.kind != "hidden" {
			break
		}
		if !c.isHiddenState(it) {
			return nil
		}
		blocks = append(blocks, it)
	}
	return blocks
}

func (c *cursor) moveLeadingThinking() bool {
	blocks := c.leadingThinking()
	if len(blocks) == 0 || blocks[0].inTurn != 0 || len(blocks[0].parent.Items()) == len(blocks) {
		return false
	}
	list := blocks[0].parent
	list.SetItems(append(slices.Clone(list.Items()[len(blocks):]), list.Items()[:len(blocks)]...))
	return true
}

// useDraft puts the draft of the token, from the stream that issued the item, in its place.
func (c *cursor) useDraft(it *item) bool {
	draft := ""
	for _, x := range c.ev.Exchanges[:c.n] {
		for _, was := range x.ReadReply().Items {
			if was.ItemID == it.itemID && len(was.DraftTokens) > 0 {
				draft = was.DraftTokens[0]
			}
		}
	}
	return draft != "" && c.findSpot(":token").putNode(tree.NewString(draft))
}

// loseReasoning lets a reply with calls come without the reasoning that it counts, as it
// does when nobody asks for it, and takes the reasoning out of the next request.
func (c *cursor) loseReasoning() bool {
	start, calls := c.turnStart(), ""
	for _, it := range c.items[start:] {
		if it.node.Text("type") == "function_call" && c.wasEmitted(it) {
			calls += "," + string(encodeTree(it.node))
		}
	}
	answered := slices.ContainsFunc(c.items[start:],
		func(it *item) bool { return it.node.Text("type") == "function_call_output" })
	if calls == "" || !answered || c.n == 0 || c.ev.Exchanges[c.n-1].Provider != c.provider || c.req.Stateful {
		return false
	}
	before := &cursor{page: openPage(c.ev, c.n-1, nil), at: -1}
	family := specs.ParseModel(c.req.Model).Family
	if family != "gpt" && family != "o" || !before.isGeneration() || before.turnStart() != start ||
		len(before.items) != start {
		return false // the turn holds more than the reply of the exchange before
	}
	c.removeAll(func(it *item) bool { return it.kind == "thinking" })
	before.findSpot("/include").removeNode()
	before.commitPage()
	before.theExchange().Response = jsonResponse(http.StatusOK,
		`{"id":"resp_9","object":"response","status":"completed","output":[`+
			calls[1:]+`],"usage":{"output_tokens_details":{"reasoning_tokens":40}}}`)
	return true
}

// carryToken puts a token that another provider issued into a request to OpenAI.
func (c *cursor) carryToken() bool {
	for i := range c.ev.Exchanges[:c.n] {
		x := &c.ev.Exchanges[i]
		for _, it := range x.ReadReply().Items {
			if it.Token != "" && x.Provider != c.provider {
				token := `{"type":"reasoning","summary":[],"encrypted_content":` + string(tree.Quote(it.Token)) + `}`
				return c.findSpot("/input[0]").insertNode(parseLiteral(token))
			}
		}
	}
	return false
}

// cutCharacter cuts the last character but some, so that padding stays.
func cutCharacter(s string) string {
	if len(s) < 8 {
		return s + "x"
	}
	return s[:len(s)-6] + s[len(s)-5:]
}

// setModel changes the model where the provider takes it from.
func (c *cursor) setModel(model string) bool {
	old := c.req.Model
	if c.provider == evidence.Gemini {
		c.theExchange().Request.URL = strings.Replace(c.theExchange().Request.URL, "/"+old+":", "/"+model+":", 1)
	}
	if c.doc.Get("model") != nil {
		return c.findSpot("/model").putNode(tree.NewString(model))
	}
	return old != model && strings.Contains(c.theExchange().Request.URL, model)
}

func (c *cursor) keepDeclined() bool {
	reply := rootSpot(parseLiteral(string(c.source.Response.Body))).followPath("content").findNode()
	list, first := c.findSpot("/messages").findNode(), readDocument(c.source).List("messages")
	turn := parseLiteral(`{"role":"assistant","content":` + reply.Raw() + `}`)
	list.SetItems(slices.Concat(first, []*tree.Node{turn}, list.Items()))
	return true
}

func (c *cursor) wrongThinkingForm() bool {
	for _, form := range []string{"adaptive", "enabled"} {
		if takes := c.modelTakes().Thinking; takes != nil && !slices.Contains(takes, form) {
			return c.findSpot("/thinking.type").putNode(tree.NewString(form))
		}
	}
	return false
}

// forgetReply removes what the model said after the request before.
func (c *cursor) forgetReply() bool {
	n := min(len(readItems(c.source.ReadRequest())), len(c.items))
	end := n
	for end < len(c.items) && c.isModels(c.items[end]) {
		end++
	}
	return c.removeOnly(c.items[n:end])
}

// replayTwice puts the last reply once more behind the last thing that the client says, and
// that again.
func (c *cursor) replayTwice() bool {
	list := c.findSpot(":turns").findNode()
	n := len(readDocument(c.source).Get(formOf(c.provider).turns).List())
	i := slices.IndexFunc(c.items, func(it *item) bool { return it.turn == n })
	if len(list.List()) <= n+1 || i < 0 || c.items[i].role != "assistant" {
		return false
	}
	list.SetItems(append(slices.Clone(list.Items()), copyTree(list.Items()[n]),
		copyTree(list.Items()[len(list.Items())-1])))
	return true
}

// editArguments changes the arguments of a call, which OpenAI sends as a text.
func (c *cursor) editArguments(edit func(args *tree.Node) bool) bool {
	at := c.findSpot(":args")
	args, err := tree.Parse(c.argumentText())
	if at.findNode() == nil || err != nil || !args.Is(tree.Object) || !edit(args) {
		return false
	}
	if at.findNode().Is(tree.String) {
		args = tree.NewString(string(encodeTree(args)))
	}
	return at.putNode(args)
}

// maskFirstText writes asterisks in the place of the first text.
func maskFirstText(args *tree.Node) bool {
	i := slices.IndexFunc(args.Items(), func(v *tree.Node) bool { return v.Text() != "" })
	return i >= 0 && spot{args, i, ""}.putNode(tree.NewString("***"))
}

// reformatArguments writes arguments that were sent before in another order, or their only
// text with an escape.
func (c *cursor) reformatArguments(it *item) bool {
	text := []byte(c.argumentText())
	wasSent := slices.ContainsFunc(c.ev.Exchanges[:c.n], func(x evidence.Exchange) bool {
		sent := text
		if c.findSpot(":args").findNode().Is(tree.String) {
			sent = bytes.Trim(tree.Quote(string(text)), `"`)
		}
		return bytes.Contains(x.Request.Body, []byte(it.id)) && bytes.Contains(x.Request.Body, sent)
	})
	return wasSent && c.editArguments(func(args *tree.Node) bool {
		if len(args.Names()) == 0 {
			return false
		}
		slices.Reverse(args.Names())
		slices.Reverse(args.Items())
		first := args.Items()[0]
		if len(args.Names()) > 1 {
			return true
		}
		return first.Text() != "" && spot{args, 0,
			""}.putNode(parseLiteral(fmt.Sprintf(`"\u%04x`, first.Raw()[1])+first.Raw()[2:]))
	})
}

// sayImage makes what the client says an image, as text.
func (c *cursor) sayImage(it *item) bool {
	picture := tree.NewString("data:image/png;base64,iVBORw0KGgo" +
		strings.Repeat("AAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", 40))
	at := textSpot(it)
	if it.kind == "result" && c.provider == evidence.Gemini {
		return false
	}
	if it.kind == "result" {
		at = c.findSpot(":result")
	}
	return at.findNode() != nil && at.putNode(picture)
}

// forceAgain makes a request force the tool that an earlier one forced and the model called.
func (c *cursor) forceAgain() bool {
	var choice *tree.Node
	for i := range c.ev.Exchanges[:c.n+1] {
		if c.ev.Exchanges[i].Provider != c.provider {
			continue
		}
		if again := readDocument(&c.ev.Exchanges[i]).Get("tool_choice"); again.Get("name").Is(tree.String) {
			if i == c.n {
				return false
			}
			choice = again
		}
	}
	forced := slices.IndexFunc(c.items,
		func(it *item) bool { return it.kind == "call" && it.name == choice.Text("name") })
	return choice != nil && forced >= 0 && forced >= c.turnStart() &&
		c.findSpot("/tool_choice").putNode(copyTree(choice))
}

// nameOlderResponse goes on with the response before the last one of the WebSocket.
func (c *cursor) nameOlderResponse() bool {
	older, last := "", ""
	for i := range c.ev.Exchanges[:c.n] {
		x := &c.ev.Exchanges[i]
		if id := x.ReadReply().ID; id != "" && x.WebSocket == c.theExchange().WebSocket {
			older, last = last, id
		}
	}
	at := c.findSpot("/previous_response_id")
	return older != "" && at.findNode().Text() == last && at.putNode(tree.NewString(older))
}

// repeatHistory sends what the provider holds beside the id of the response.
func (c *cursor) repeatHistory() bool {
	from := c.continuedExchange()
	list := inputItems(readDocument(from))
	for _, it := range from.ReadReply().Items {
		list = append(list, it.Node)
	}
	return len(list) > 1 && c.findSpot("/input").putNode(tree.NewArray(append(list, inputItems(c.doc)...)...))
}

// inputItems lists the items of an input; a text alone is a message of the user.
func inputItems(doc *tree.Node) []*tree.Node {
	input := doc.Get("input")
	if input.Is(tree.String) {
		return []*tree.Node{parseLiteral(`{"role":"user","content":` + input.Raw() + `}`)}
	}
	return slices.Clone(input.List())
}

func dropMarks(n *tree.Node) {
	memberOf(n, "cache_control").removeNode()
	for _, v := range n.Items() {
		dropMarks(v)
	}
}

// swapAgentAnswers exchanges what two results say that each quote a reply.
func (c *cursor) swapAgentAnswers() bool {
	var quoting []spot
	for _, it := range c.items {
		if said := memberOf(it.node, "content"); it.kind == "result" && c.emitted["text"+said.findNode().Text()] {
			quoting = append(quoting, said)
		}
	}
	if len(quoting) < 2 {
		return false
	}
	first, second := quoting[0].findNode(), quoting[1].findNode()
	return quoting[0].putNode(second) && quoting[1].putNode(first)
}
