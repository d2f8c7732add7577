package mutate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// benchLanguage is the language of the tables of faults: that of the mutants, with words that
// ask which reply issued an item, and steps that add exchanges.
var benchLanguage = sync.OnceValue(func() language {
	l := mutantLanguage()
	for name, holds := range benchConditions() {
		l.conditions[name] = holds
	}
	for name, do := range itemSteps() {
		l.steps[name] = onItem(do)
	}
	for name, do := range pageSteps() {
		l.steps[name] = do
	}
	for name, do := range trafficSteps() {
		l.steps[name] = do
	}
	for name, edit := range benchTexts() {
		l.texts[name] = edit
	}
	for _, verbs := range []map[string]func(*cursor, string) bool{benchVerbs(), trafficVerbs()} {
		for name, do := range verbs {
			l.verbs[name] = func(rest string) step { return func(c *cursor) bool { return do(c, rest) } }
		}
	}
	for name, enter := range map[string]func(c *cursor, do step) bool{
		"args": func(c *cursor, do step) bool {
			return c.editArguments(func(args *tree.Node) bool {
				return do(&cursor{page: &page{doc: args}, at: -1,
					host: c.host})
			})
		},
		"later": func(c *cursor, do step) bool {
			next := draftOf(c).openCopy(c.n + 1)
			ok := do(next)
			draftOf(c).saveCall(next)
			return ok
		},
	} {
		l.verbs[name] = func(rest string) step {
			do, err := l.parseStep(rest)
			if err != nil {
				panic(rest + ": " + err.Error())
			}
			return func(c *cursor) bool { return enter(c, do) }
		}
	}
	return l
})

func linkOf(c *cursor) link {
	if links := draftOf(c).links[c.n]; c.at >= 0 && c.at < len(links) {
		return links[c.at]
	}
	return unlinked
}

func countKind(items []*item, kinds ...string) (n int) {
	for _, it := range items {
		if slices.Contains(kinds, it.kind) {
			n++
		}
	}
	return n
}

func isRepeated(c *cursor) bool {
	d := draftOf(c)
	i := slices.Index(d.accepted, c.n)
	return i > 0 && d.pages[d.accepted[i-1]].hasItem(c.theItem())
}

// keepsHeaders holds for an exchange whose recorder kept the headers of requests: where some
// are left out, a missing one says nothing.
func keepsHeaders(c *cursor) bool {
	h := c.theExchange().Request.Header
	return h.Get("Anthropic-Version") != "" && h.Get("User-Agent") != ""
}

var cutByBudget = regexp.MustCompile(`"(stop_reason|reason|finishReason)"\s*:\s*"(max_tokens|max_output_tokens|MAX_TOKENS)"`)

func benchConditions() map[string]condition {
	isLinked := func(c *cursor) bool { return linkOf(c) != unlinked }
	words := map[string]condition{
		"linked":           isLinked,
		"user":             ofItem(func(_ *cursor, it *item) bool { return it.role == "user" }),
		"assistant":        ofItem(func(_ *cursor, it *item) bool { return it.role == "assistant" }),
		"long":             ofItem(func(_ *cursor, it *item) bool { return len([]rune(it.text)) >= 12 }),
		"object":           ofItem(func(_ *cursor, it *item) bool { return it.node.Is(tree.Object) }),
		"first-block":      ofItem(func(_ *cursor, it *item) bool { return it.inTurn == 0 }),
		"in-open-turn":     ofItem(func(c *cursor, it *item) bool { return it.turn > openTurn(c.items) }),
		"in-finished-turn": ofItem(func(c *cursor, it *item) bool { return it.turn < openTurn(c.items) }),
		"followed":         ofItem(func(c *cursor, it *item) bool { return it.turn < c.items[len(c.items)-1].turn }),
		"sent": ofItem(func(c *cursor, it *item) bool {
			d := draftOf(c)
			return slices.ContainsFunc(d.accepted, func(j int) bool { return j < c.n && d.pages[j].hasItem(it) })
		}),
		"repeated": ofItem(func(c *cursor, _ *item) bool { return isRepeated(c) }),
		"fresh-turn": ofItem(func(c *cursor, it *item) bool {
			return !slices.ContainsFunc(draftOf(c).pages[c.n].items, func(o *item) bool {
				at := draftOf(c).viewCall(c.n, slices.Index(draftOf(c).pages[c.n].items, o))
				return o.turn == it.turn && (isLinked(at) || isRepeated(at))
			})
		}),
		"with-neighbour": ofItem(func(c *cursor, it *item) bool {
			return slices.ContainsFunc(c.items, func(o *item) bool { return o != it && o.turn == it.turn })
		}),
		"beside-call": ofItem(func(c *cursor, _ *item) bool {
			return slices.ContainsFunc(saidAround(c.items, c.at), func(o *item) bool {
				return o.kind == "call" && c.isAt(slices.Index(c.items, o), isLinked)
			})
		}),
		"beside-thinking": ofItem(func(c *cursor, it *item) bool {
			own := slices.DeleteFunc(slices.Clone(saidAround(c.items, c.at)),
				func(o *item) bool { return o.turn != it.turn })
			return countKind(own, "thinking", "hidden") > 1
		}),
		"call-in-turn": ofItem(func(c *cursor, it *item) bool {
			return slices.ContainsFunc(c.items, func(o *item) bool { return o.turn == it.turn && o.kind == "call" })
		}),
		"lone-call": ofItem(func(c *cursor, _ *item) bool { return countKind(saidAround(c.items, c.at), "call") == 1 }),
		"alone-in-turn": ofItem(func(c *cursor, it *item) bool {
			if c.provider == chat {
				return len(it.parent.Items()) == 1 // of the list of calls
			}
			return c.provider == evidence.OpenAI || len(saidAround(c.items, c.at)) == 1
		}),
		"first-in-turn": ofItem(func(c *cursor, it *item) bool {
			if c.provider == evidence.OpenAI || c.provider == chat {
				return c.at > 0 && c.items[c.at-1].kind == "call"
			}
			return it.inTurn == 0
		}),
		"before-neighbour": ofItem(func(c *cursor, it *item) bool { // the next item stands in the same list
			next := c.items[min(c.at+1, len(c.items)-1)]
			return next != it && next.parent == it.parent && next.parent.Is(tree.Array) &&
				next.node.Raw() != it.node.Raw()
		}),
		"issued-direct": func(c *cursor) bool {
			const direct = `"caller":{"type":"direct"}`
			return isLinked(c) && bytes.Contains(draftOf(c).ev.Exchanges[linkOf(c).exchange].Response.Body,
				[]byte(direct))
		},
		"before-other-answer": ofItem(func(c *cursor, it *item) bool {
			return c.at+1 < len(c.items) && (c.items[c.at+1].id != it.id || c.items[c.at+1].name != it.name)
		}),
		"unlike-next": ofItem(func(c *cursor, it *item) bool {
			next := *c
			next.at++
			return it.name == next.theItem().name &&
				next.findSpot(":result").findNode().Raw() != c.findSpot(":result").findNode().Raw()
		}),
		"answered":      ofItem(func(c *cursor, it *item) bool { return c.answerOf(it) != nil }),
		"answered-next": ofItem(func(c *cursor, it *item) bool { o := c.answerOf(it); return o != nil && o.turn == it.turn+1 }),
		"issued-id": ofItem(func(c *cursor, it *item) bool {
			from := linkOf(c)
			return it.id != "" && draftOf(c).replies[from.exchange][from.item].id == it.id
		}),
		"linked-call":  func(c *cursor) bool { return c.isAt(c.pickItem("call"), isLinked) },
		"offered-tool": ofItem(func(c *cursor, it *item) bool { return c.offersTool(it.name) }),
		"answers-offered": func(c *cursor) bool {
			return c.isAt(c.pickItem("call"), func(c *cursor) bool { return c.offersTool(c.theItem().name) })
		},
		"beside-issuer": ofItem(func(c *cursor, it *item) bool {
			return slices.ContainsFunc(draftOf(c).links[c.n], func(from link) bool {
				return from != unlinked && draftOf(c).replies[from.exchange][from.item].kind == "call" &&
					it.itemID != "" &&
					bytes.Contains(draftOf(c).ev.Exchanges[from.exchange].Response.Body, []byte(it.itemID))
			})
		}),
		"named-in-turns": ofItem(func(c *cursor, it *item) bool { // a tool
			return strings.Contains(c.findSpot(":turns").findNode().Raw(), `"name":`+string(tree.Quote(it.name)))
		}),
		"continues-reply": func(c *cursor) bool { return draftOf(c).continuesReply(c.n) },
		"followed-reply": func(c *cursor) bool {
			list := draftOf(c).accepted
			i := slices.Index(list, c.n)
			return i > 0 && i+1 < len(list) && draftOf(c).continuesReply(list[i+1])
		},
		"first-call":   func(c *cursor) bool { return c.n == draftOf(c).accepted[0] },
		"last-request": func(c *cursor) bool { return c.n == draftOf(c).lastAccepted() },
		"newest":       func(c *cursor) bool { return c.n == len(draftOf(c).scene.ev.Exchanges)-1 },
		"many-calls":   func(c *cursor) bool { return len(draftOf(c).accepted) > 1 },
		"many":         func(c *cursor) bool { return len(draftOf(c).scene.ev.Exchanges) > 1 },
		"second-process": func(c *cursor) bool {
			return c.theExchange().Process == 1
		},
		"keeps": keepsHeaders,
		"no-beta": func(c *cursor) bool {
			q := c.theExchange().Request
			return keepsHeaders(c) && q.Header.Get("Anthropic-Beta") == "" && !strings.Contains(q.URL, "beta=")
		},
		"known-beta": func(c *cursor) bool { return c.doc.Get("tools") == nil || keepsHeaders(c) },
		"functions-only": func(c *cursor) bool {
			return !slices.ContainsFunc(c.readTools(), func(t *item) bool { return t.kind != "tool" })
		},
		"streamed":  func(c *cursor) bool { return isStreamed(c.theExchange().Response.Body) },
		"cut-short": func(c *cursor) bool { return cutByBudget.Match(c.theExchange().Response.Body) },
		"reply-token": func(c *cursor) bool {
			return slices.ContainsFunc(draftOf(c).replies[c.n], func(it issued) bool { return it.token != "" })
		},
		// composable leaves out Gemini's stream without events.
		"composable": func(c *cursor) bool {
			return !strings.Contains(c.theExchange().Request.URL, ":streamGenerateContent") || wantsStream(c)
		},
	}
	words["steerable"] = func(c *cursor) bool { return !words["many-calls"](c) || words["continues-reply"](c) }
	return words
}

func benchTexts() map[string]func(string) string {
	return map[string]func(string) string{
		"twice":     func(s string) string { return s + s },
		"lower":     strings.ToLower,
		"last-lost": func(s string) string { s = strings.TrimRight(s, "="); return s[:len(s)-1] },
		"fresh": func(id string) string { // an id of the same form
			return id[:max(len(id)-3, 0)] + "X9z"
		},
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64-url": func(s string) string {
			raw, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return s
			}
			return base64.URLEncoding.EncodeToString(raw)
		},
		"mask": func(s string) string { // the middle, as redactors do
			runes := []rune(s)
			if len(runes) < 6 {
				return "***"
			}
			return string(runes[:len(runes)/3]) + "***" + string(runes[2*len(runes)/3:])
		},
		"escaped":          func(s string) string { return html.EscapeString(s + `<&">`) },
		"escaped-thinking": func(s string) string { return html.EscapeString(s) + "&#39;" },
		"trimmed":          func(s string) string { return strings.TrimSpace(s) + "\n" },
		"typographic":      strings.NewReplacer("'", "’", `"`, "”").Replace,
		"fffd":             func(s string) string { return s[:len(s)/2] + "\uFFFD" + s[len(s)/2+1:] },
		"other-line-ends": func(s string) string {
			if strings.Contains(s, "\r\n") {
				return strings.ReplaceAll(s, "\r\n", "\n")
			}
			return strings.ReplaceAll(s, "\n", "\r\n")
		},
		"indented": func(s string) string {
			var out bytes.Buffer
			if json.Indent(&out, []byte(s), "", "  ") != nil {
				return s
			}
			return out.String()
		},
	}
}

// editFirstText changes the first text below n that edit changes, in a result only where a tool
// says something.
func editFirstText(n *tree.Node, names []string, edit func(string) string) bool {
	for i, v := range n.Items() {
		isWord := names == nil || n.Is(tree.Array) || slices.Contains(names, n.Names()[i])
		if text := v.Text(); v.Is(tree.String) && isWord && len(text) > 3 && edit(text) != text {
			return spot{n, i, ""}.putNode(tree.NewString(edit(text)))
		}
		if editFirstText(v, names, edit) {
			return true
		}
	}
	return false
}

// itemSteps change one item.
func itemSteps() map[string]func(c *cursor, it *item) bool {
	return map[string]func(c *cursor, it *item) bool{
		"edit-word": func(c *cursor, it *item) bool {
			words := strings.Fields(it.text)
			if len(words) == 0 {
				return false
			}
			w := words[draftOf(c).dice.IntN(len(words))]
			return textSpot(it).findNode() != nil &&
				textSpot(it).putNode(tree.NewString(strings.Replace(it.text, w, "otherwise", 1)))
		},
		"merge-next": func(c *cursor, it *item) bool {
			at := it.currentSpot()
			next := spot{at.parent, at.at + 1, ""}
			if n := next.findNode(); !at.parent.Is(tree.Array) || n.Get("text") == nil || n.Get("thought").True() {
				return false
			}
			if token := next.findNode().Any("thoughtSignature", "thought_signature"); token != nil && it.token == "" {
				memberOf(it.node, "thoughtSignature").putNode(token)
			}
			return textSpot(it).putNode(tree.NewString(it.text+next.findNode().Get("text").Text())) && next.removeNode()
		},
		"remove-turn-thinking": func(c *cursor, it *item) bool {
			said := saidAround(c.items, c.at)
			return c.removeAll(func(o *item) bool {
				return slices.Contains(said, o) &&
					(o.kind == "thinking" || o.kind == "hidden")
			})
		},
		// move-down moves thinking behind what follows, the last call apart.
		"move-down": func(c *cursor, it *item) bool {
			list, at := it.parent, it.inTurn
			last := len(list.Items()) - 1
			to := last
			if last >= 2 {
				to = last - 1
			}
			if at == last || at == to {
				return false
			}
			list.SetItems(slices.Insert(slices.Delete(slices.Clone(list.Items()), at, at+1), to, it.node))
			return true
		},
		"merge-summary": func(c *cursor, it *item) bool {
			var texts []string
			for _, part := range it.node.Get("summary").List() {
				texts = append(texts, part.Get("text").Text())
			}
			joined := tree.NewString(strings.Join(texts, "\n"))
			return len(texts) > 1 && c.findSpot(".summary[0].text").putNode(joined) &&
				sliceList(it.node.Get("summary"), "0", "1")
		},
		"swap-tokens": func(c *cursor, it *item) bool {
			var others []int
			for i, o := range c.items {
				if o.kind == it.kind && o.token != "" && o.token != it.token && draftOf(c).links[c.n][i] != unlinked {
					others = append(others, i)
				}
			}
			if len(others) == 0 {
				return false
			}
			other := *c
			other.at = others[draftOf(c).dice.IntN(len(others))]
			return swapSpots(c.findSpot(":token"), other.findSpot(":token"))
		},
		"token-from-elsewhere": func(c *cursor, it *item) bool {
			var tokens []string
			for j, reply := range draftOf(c).replies {
				for _, o := range reply {
					if j != linkOf(c).exchange && o.kind == it.kind && o.token != "" && o.token != it.token {
						tokens = append(tokens, o.token)
					}
				}
			}
			return len(tokens) > 0 &&
				c.findSpot(":token").putNode(tree.NewString(tokens[draftOf(c).dice.IntN(len(tokens))]))
		},
		"draft-token": func(c *cursor, it *item) bool {
			from := linkOf(c)
			token := draftOf(c).replies[from.exchange][from.item].draft
			return token != "" && token != it.token && c.findSpot(":token").putNode(tree.NewString(token))
		},
		"remove-all-after": func(c *cursor, _ *item) bool {
			end := c.at + 1
			for end < len(c.items) && (c.items[end].role == "assistant" || c.items[end].kind == "result") {
				end++
			}
			gone := c.items[c.at+1 : end]
			return countKind(gone, "thinking") == 0 && c.removeOnly(gone)
		},
		"drop-turns-after": func(c *cursor, it *item) bool {
			return sliceList(c.findSpot(":turns").findNode(), "0", strconv.Itoa(it.turn+1))
		},
		"mask-result": func(c *cursor, _ *item) bool {
			at, mask := c.findSpot(":result"), benchTexts()["mask"]
			if text := at.findNode().Text(); at.findNode().Is(tree.String) {
				return len(text) > 3 && at.putNode(tree.NewString(mask(text)))
			}
			return editFirstText(at.findNode(),
				[]string{"text", "content", "output", "result", "error", "stdout"}, mask)
		},
	}
}

// benchVerbs are steps with an argument.
func benchVerbs() map[string]func(c *cursor, rest string) bool {
	return map[string]func(c *cursor, rest string) bool{
		"mark-text": func(c *cursor, mark string) bool {
			t := []rune(c.theItem().text)
			i := 1 + draftOf(c).dice.IntN(len(t)-6)
			return textSpot(c.theItem()).findNode() != nil &&
				textSpot(c.theItem()).putNode(tree.NewString(string(t[:i])+mark+string(t[i+4:])))
		},
		// flip changes one character in the middle of a token to another of the same alphabet.
		"flip": func(c *cursor, path string) bool {
			token, _ := c.readText(path)
			if len(token) <= 31 {
				return false
			}
			i := len(token)/4 + draftOf(c).dice.IntN(len(token)/2)
			other := map[bool]string{true: "B", false: "A"}[token[i] == 'A']
			return c.findSpot(path).putNode(tree.NewString(token[:i] + other + token[i+1:]))
		},
		"say-result": func(c *cursor, text string) bool {
			if c.provider == evidence.Gemini {
				return c.findSpot(":result").putNode(parseLiteral(`{"output":` + string(tree.Quote(text)) + `}`))
			}
			return c.findSpot(":result").putNode(tree.NewString(text))
		},
		// take-out removes an item; a turn of which nothing is left says text.
		"take-out": func(c *cursor, text string) bool {
			it := c.theItem()
			if c.provider != evidence.OpenAI && len(it.parent.Items()) == 1 {
				return c.turnSpot(it).putNode(parseLiteral(formOf(c.provider).turnText("user", text)))
			}
			return it.currentSpot().removeNode()
		},
		"mask-first": func(c *cursor, name string) bool { return editFirstText(c.doc, nil, benchTexts()[name]) },
		"members": func(c *cursor, rest string) bool {
			path, layout, _ := strings.Cut(rest, " ")
			from, ok := c.fillHoles(layout)
			if c.findSpot(path).findNode() == nil && path != "/" {
				c.setValue(path, tree.NewObject(nil), false)
			}
			into := c.findSpot(path).findNode()
			if path == "/" {
				into = c.doc
			}
			if !ok || path == ":config" && into.Get("thinking_config") != nil {
				return false
			}
			for i, name := range from.Names() {
				memberOf(into, name).putNode(from.Items()[i])
			}
			return true
		},
		"push-tool": func(c *cursor, layout string) bool { return pushTool(c, parseLiteral(layout)) },
		"new-tool":  func(c *cursor, name string) bool { return pushTool(c, newTool(c.provider, name)) },
		"strict-tools": func(c *cursor, count string) bool {
			const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
			n, _ := strconv.Atoi(count)
			for i := range n {
				pushTool(c,
					parseLiteral(fmt.Sprintf(`{"name":"strict_%d","strict":true,"description":"x","input_schema":%s}`,
						i, schema)))
			}
			return true
		},
		// add-to-turn adds a block at the end of the last turn of a speaker, where the turn is new
		// and nobody recorded how it was made.
		"add-to-turn": func(c *cursor, rest string) bool {
			role, block, _ := strings.Cut(rest, " ")
			return c.isAt(c.pickItem(role), benchConditions()["fresh-turn"]) && addBlock(c, c.pickItem(role), block)
		},
		"set-system": func(c *cursor, layout string) bool {
			text, ok := c.fillHoles(layout)
			if c.provider == chat && c.systemSpot().findNode() == nil {
				return ok &&
					c.findSpot(":turns[0]").insertNode(parseLiteral(`{"role":"system","content":`+text.Raw()+`}`))
			}
			if c.provider != evidence.Gemini {
				return ok && c.findSpot(":system").putNode(text)
			}
			c.findSpot(":system").removeNode()
			return ok &&
				memberOf(c.doc, "systemInstruction").putNode(parseLiteral(`{"parts":[{"text":`+text.Raw()+`}]}`))
		},
		"rotate": func(c *cursor, path string) bool { // the first member becomes the last
			n := c.doc
			if path != "/" {
				n = c.findSpot(path).findNode()
			}
			if len(n.Names()) < 2 {
				return false
			}
			n.SetMembers(append(slices.Clone(n.Names()[1:]), n.Names()[0]),
				append(slices.Clone(n.Items()[1:]), n.Items()[0]))
			return true
		},
		"as-model": func(c *cursor, model string) bool {
			c.setModel(model)
			text := renamedModel.ReplaceAllString(string(c.theExchange().Response.Body), `"${1}":"`+model+`"`)
			return c.writeText("@reply", text)
		},
		"add-beta": func(c *cursor, beta string) bool {
			old, _ := c.readText("@header.Anthropic-Beta")
			return c.writeText("@header.Anthropic-Beta", strings.Trim(old+","+beta, ","))
		},
	}
}

func addBlock(c *cursor, at int, block string) bool {
	other := *c
	other.at = at
	list := other.findSpot("^content|parts")
	if (c.provider == evidence.Anthropic || c.provider == chat) && list.findNode().Is(tree.String) {
		list.putNode(parseLiteral(`[{"type":"text","text":` + list.findNode().Raw() + `}]`))
	}
	return list.followPath("[+]").insertNode(parseLiteral(block))
}

var renamedModel = regexp.MustCompile(`"(model|modelVersion)":\s*"[^"]*"`)

func newTool(provider, name string) *tree.Node {
	const schema = `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]`
	layout := map[string]string{
		evidence.Anthropic: `{"name":NAME,"description":"Made up.","input_schema":` + schema + `}}`,
		evidence.OpenAI: `{"type":"function","name":NAME,"description":"Made up.","parameters":` + schema +
			`,"additionalProperties":false},"strict":false}`,
		evidence.Gemini: `{"name":NAME,"description":"Made up.","parameters":` + schema + `}}`,
		chat: `{"type":"function","function":{"name":NAME,"description":"Made up.","parameters":` +
			schema + `}}}`,
	}[provider]
	return parseLiteral(strings.Replace(layout, "NAME", string(tree.Quote(name)), 1))
}

func pushTool(c *cursor, tool *tree.Node) bool {
	list := c.findSpot(":tools").findNode()
	return list.Is(tree.Array) && !slices.ContainsFunc(list.List(), func(t *tree.Node) bool {
		return ownFields(t).Text("name") == ownFields(tool).Text("name")
	}) && c.findSpot(":tools[+]").insertNode(tool)
}

// walkTree visits every value below n.
func walkTree(n *tree.Node, visit func(parent *tree.Node, i int)) {
	for i, v := range n.Items() {
		visit(n, i)
		walkTree(v, visit)
	}
}
