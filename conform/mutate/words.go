package mutate

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// ofItem makes a condition that no page fulfils.
func ofItem(holds func(c *cursor, it *item) bool) condition {
	return func(c *cursor) bool { return c.theItem() != nil && holds(c, c.theItem()) }
}

// mutantLanguage is the language of mutants.yaml.
func mutantLanguage() language {
	return language{conditions: conditionWords(), families: conditionFamilies(), steps: stepWords(), verbs: stepVerbs(),
		texts: map[string]func(string) string{
			"with-key": func(s string) string {
				if strings.Contains(s, "?") {
					return s + "&api_key=heron-kite-0123456789"
				}
				return s + "?api_key=heron-kite-0123456789"
			},
		}}
}

func conditionFamilies() map[string]func(string) condition {
	matching := func(value func(c *cursor) string) func(string) condition {
		return func(expr string) condition {
			pattern := regexp.MustCompile(expr)
			return func(c *cursor) bool { return pattern.MatchString(value(c)) }
		}
	}
	return map[string]func(string) condition{
		"model":  matching(func(c *cursor) string { return c.req.Model }),
		"family": matching(func(c *cursor) string { return specs.ParseModel(c.req.Model).Family }),
		"refuses": func(what string) condition {
			return func(c *cursor) bool { return c.modelTakes().DoesRefuse(strings.ReplaceAll(what, "-", " ")) }
		},
		"thinks": func(form string) condition {
			return func(c *cursor) bool { return slices.Contains(c.modelTakes().Thinking, form) }
		},
	}
}

// clientTypes are of items that stand in an input and that the client makes, apart from results.
var clientTypes = regexp.MustCompile(`^((computer_call|local_shell_call|shell_call|apply_patch_call|tool_search)_output|mcp_approval_response|additional_tools|configuration_update)$`)

// isModels reports whether the model, or a tool of the provider, made the item.
func (p *page) isModels(it *item) bool {
	kind := it.node.Text("type")
	return it.role == "assistant" &&
		(!clientTypes.MatchString(kind) || kind == "tool_search_output" && it.node.Text("execution") == "server")
}

// turnStart returns the ordinal of the first item after the last prompt.
func (c *cursor) turnStart() int {
	start := 0
	for i, it := range c.items {
		if !c.isModels(it) && it.kind != "result" {
			start = i + 1
		}
	}
	return start
}

// itemWords are the conditions of items.
func itemWords() map[string]func(c *cursor, it *item) bool {
	return map[string]func(c *cursor, it *item) bool{
		"emitted": (*cursor).wasEmitted,
		"model":   (*cursor).isModels,
		"token":   func(_ *cursor, it *item) bool { return it.token != "" },
		"sealed": func(c *cursor, it *item) bool {
			return it.token != "" && c.emitted["token"+wire.TokenKey(c.provider, it.token)]
		},
		"id":        func(_ *cursor, it *item) bool { return it.id != "" },
		"item-id":   func(_ *cursor, it *item) bool { return it.itemID != "" },
		"open":      func(c *cursor, _ *item) bool { return c.at >= c.turnStart() },
		"in-list":   func(_ *cursor, it *item) bool { return it.parent.Is(tree.Array) },
		"same-turn": func(c *cursor, it *item) bool { return c.at > 0 && c.items[c.at-1].turn == it.turn },
		"first-of-kind": func(c *cursor, it *item) bool {
			return slices.IndexFunc(c.items, func(o *item) bool { return o.kind == it.kind }) == c.at
		},
		"later-turn":     func(_ *cursor, it *item) bool { return it.turn > 0 },
		"beside-another": func(_ *cursor, it *item) bool { return len(it.parent.Items()) > 1 },
		"answers": func(c *cursor, it *item) bool {
			return it.kind == "result" && it.id != "" &&
				c.callOf(it) >= 0
		},
		"in-order": func(c *cursor, it *item) bool {
			previous := c.items[c.at-1]
			before := c.callOf(previous)
			// Without ids, two results of one tool may be those of either call.
			isKnown := it.id != "" || it.name != previous.name
			return isKnown && before >= 0 && before < c.callOf(it)
		},
		"other-id": func(c *cursor, _ *item) bool { i := c.pickItem("other"); return i >= 0 && i < c.at },
		"prev-differs": func(c *cursor, it *item) bool {
			return c.items[c.at-1].token != "" || c.items[c.at-1].id != it.id
		},
		"known-neighbour":    (*cursor).hasKnownNeighbour,
		"before-call":        (*cursor).leadsToCall,
		"beside-signed-call": (*cursor).isBesideSignedCall,
		"replied-to": func(c *cursor, _ *item) bool {
			return slices.ContainsFunc(c.items[c.at:],
				func(o *item) bool { return c.wasEmitted(o) && (o.id != "" || o.token != "") })
		},
		"known-call": func(c *cursor, it *item) bool {
			return c.emitted[argumentsKey(c.argumentText())] && !strings.Contains(it.id, "REDACTED")
		},
		"sent-before": (*cursor).wasSent,
		"new-result": func(c *cursor, it *item) bool {
			return it.kind == "result" && c.callOf(it) >= 0 && c.at > c.lastCall()
		},
		"offered":           func(c *cursor, it *item) bool { return c.offersTool(c.items[c.callOf(it)].name) },
		"issued-ciphertext": (*cursor).isIssuedCiphertext,
		"issued-result": func(c *cursor, it *item) bool {
			return c.wasReplied(`"tool_use_id":"` + it.node.Text("tool_use_id") + `"`)
		},
		"answered-by-server": func(c *cursor, it *item) bool {
			return slices.ContainsFunc(c.items,
				func(o *item) bool { return o.kind == "other" && o.node.Text("tool_use_id") == it.itemID })
		},
		"of-malformed":    func(c *cursor, it *item) bool { return c.isMalformedCall(it.id) },
		"tool":            func(_ *cursor, it *item) bool { return it.kind == "tool" },
		"tool-slot":       func(_ *cursor, it *item) bool { return it.kind == "tool" || it.kind == "slot" },
		"found-by-search": (*cursor).isFoundTool,
	}
}

func conditionWords() map[string]condition {
	words := map[string]condition{
		"stateful":        func(c *cursor) bool { return c.req.Stateful },
		"recorded":        func(c *cursor) bool { return c.ev.Source == evidence.SourceRecording },
		"missed":          func(c *cursor) bool { return c.theExchange().Missed },
		"not-first":       func(c *cursor) bool { return c.n > 0 },
		"socket":          func(c *cursor) bool { return c.theExchange().WebSocket != 0 },
		"continues":       func(c *cursor) bool { return c.continuedExchange() != nil },
		"continued-later": (*cursor).isContinuedLater,
		"same-process":    func(c *cursor) bool { return c.source.Process == c.theExchange().Process },
		"reasons": func(c *cursor) bool {
			return c.modelTakes().Reasoning != "" &&
				c.modelTakes().Reasoning != "never"
		},
		"knows-efforts":    func(c *cursor) bool { return c.modelTakes().Efforts != nil },
		"knows-levels":     func(c *cursor) bool { return c.modelTakes().Levels != nil },
		"knows-max-output": func(c *cursor) bool { return c.modelTakes().MaxOutput > 0 },
		"before-2.5":       func(c *cursor) bool { return specs.ParseModel(c.req.Model).IsBefore(2, 5) },
		"public":           (*cursor).isPublicAPI,
		"keeps-headers": func(c *cursor) bool {
			h := c.theExchange().Request.Header
			return h.Get("User-Agent") != "" && h.Get("Content-Type") != "" && h.Get("X-Api-Key") != ""
		},
		// Replies.
		"usable":           func(c *cursor) bool { return c.theExchange().ReadReply().Usable() },
		"broken":           func(c *cursor) bool { return isBroken(c.theExchange().ReadReply()) },
		"stopped-at-limit": func(c *cursor) bool { return atLimit.MatchString(c.theExchange().ReadReply().Stop) },
	}
	for name, holds := range itemWords() {
		words[name] = ofItem(holds)
	}
	words["may-exceed-budget"] = func(c *cursor) bool {
		h := c.theExchange().Request.Header
		return strings.Contains(h.Get("Anthropic-Beta"), "interleaved") ||
			c.doc.Get("tools") != nil && !words["keeps-headers"](c) && h.Get("Anthropic-Version") == ""
	}
	return words
}

var atLimit = regexp.MustCompile(`^(max_tokens|MAX_TOKENS|incomplete)$`)

func isBroken(r *wire.Reply) bool { return r.End == wire.Cut || r.End == wire.Failed }

func (p *page) modelTakes() specs.Capability { return specs.FindCapability(p.provider, p.req.Model) }

// callOf returns the ordinal of the call that an item answers, also of a tool of the provider.
func (p *page) callOf(result *item) int {
	return slices.IndexFunc(p.items, func(o *item) bool {
		isServers := o.kind == "other" && o.itemID != "" && o.itemID == result.node.Text("tool_use_id")
		return o.kind == "call" && p.answerOf(o) == result || isServers
	})
}

func (p *page) lastCall() int {
	last := -1
	for i, it := range p.items {
		if it.kind == "call" {
			last = i
		}
	}
	return last
}

// hasKnownNeighbour reports whether a neighbour still shows where an item came from when
// its text does not.
func (c *cursor) hasKnownNeighbour(it *item) bool {
	known := func(c *cursor) bool {
		return c.wasEmitted(c.theItem()) && (c.theItem().id != "" || c.theItem().token != "")
	}
	return it.itemID != "" || it.token != "" || c.isAt(c.at-1, known) || c.isAt(c.at+1, known)
}

// leadsToCall reports whether a call that a reply emitted follows before anybody else speaks.
func (c *cursor) leadsToCall(*item) bool {
	for _, it := range c.items[c.at+1:] {
		if !c.isModels(it) {
			return false
		}
		if it.kind == "call" && c.wasEmitted(it) {
			return true
		}
	}
	return false
}

func (c *cursor) isBesideSignedCall(it *item) bool {
	signed := func(c *cursor) bool {
		return c.theItem().turn == it.turn && c.theItem().kind == "call" && c.theItem().token != ""
	}
	return c.isAt(c.at-1, signed) || c.isAt(c.at+1, signed)
}

// wasSent reports whether an accepted request before holds the item as it is.
func (c *cursor) wasSent(it *item) bool {
	text := it.node.Raw()
	return slices.ContainsFunc(c.ev.Exchanges[:c.n], func(x evidence.Exchange) bool {
		return x.Response.Status < 400 && bytes.Contains(x.Request.Body, []byte(text))
	})
}

// isFoundTool reports whether a search of the conversation found the tool.
func (c *cursor) isFoundTool(tool *item) bool {
	return slices.ContainsFunc(readItems(c.req), func(it *item) bool {
		return it.node.Text("type") == "tool_search_tool_result" &&
			bytes.Contains(encodeTree(it.node), []byte(`"tool_name":"`+tool.name+`"`))
	})
}

// wasReplied reports whether an earlier reply of the provider holds a text.
func (c *cursor) wasReplied(text string) bool {
	return slices.ContainsFunc(c.ev.Exchanges[:c.n], func(x evidence.Exchange) bool {
		return x.Provider == c.provider && bytes.Contains(x.Response.Body, []byte(text))
	})
}

// isIssuedCiphertext reports whether an earlier reply holds the ciphertext of a search result.
func (c *cursor) isIssuedCiphertext(it *item) bool {
	text := it.node.Text("encrypted_content") + rootSpot(it.node).followPath("content[0].encrypted_content").findNode().Text()
	return len(text) > 8 && !strings.Contains(text, "REDACTED") && c.wasReplied(text)
}

// isMalformedCall reports whether a reply gave the call arguments that are no object.
func (c *cursor) isMalformedCall(id string) bool {
	return id != "" && slices.ContainsFunc(c.ev.Exchanges, func(x evidence.Exchange) bool {
		return slices.ContainsFunc(x.ReadReply().Items, func(it wire.Item) bool {
			args, err := tree.Parse(it.Args)
			return it.What == wire.Call && it.ID == id && it.ArgsKnown && it.Type != "custom_tool_call" &&
				(err != nil || !args.Is(tree.Object))
		})
	})
}

func (c *cursor) isPublicAPI() bool {
	u, err := url.Parse(c.theExchange().Request.URL)
	return err == nil && specs.ParseModel(c.req.Model).Family != "" &&
		slices.Contains([]string{"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"},
			u.Hostname())
}

// readTools lists the tools of a request: kind is tool for a function that the client runs,
// slot for all others.
func (p *page) readTools() (list []*item) {
	tools := p.doc.Get("tools")
	for i, t := range tools.List() {
		in, from, to := tools, i, i+1
		if group := t.Any("functionDeclarations", "function_declarations"); p.provider == evidence.Gemini {
			in, from, to = group, 0, len(group.List())
		}
		for k := from; k < to; k++ {
			it := &item{kind: "slot", spot: spot{in, k, ""}, node: in.Items()[k]}
			own := it.ownMembers(p.provider)
			it.name = own.Text("name")
			if kind := it.node.Text("type"); own.Get("name") != nil &&
				(kind == "" || kind == "custom" || kind == "function") {
				it.kind = "tool"
			}
			list = append(list, it)
		}
	}
	return list
}

// offers reports whether the request declares a function of a name.
func (p *page) offersTool(name string) bool {
	return slices.ContainsFunc(p.readTools(), func(t *item) bool { return t.kind == "tool" && t.name == name })
}

// continuedExchange returns the exchange whose response the request goes on with, nil where
// the evidence does not hold it.
func (c *cursor) continuedExchange() (found *evidence.Exchange) {
	id := c.doc.Text("previous_response_id")
	for i := range c.ev.Exchanges {
		if x := &c.ev.Exchanges[i]; id != "" && x.ReadReply().ID == id {
			found = x
		}
	}
	return found
}

func (c *cursor) isContinuedLater() bool {
	id := c.theExchange().ReadReply().ID
	return id != "" && c.theExchange().WebSocket == 0 && !strings.Contains(id, "REDACTED") &&
		slices.ContainsFunc(c.ev.Exchanges, func(x evidence.Exchange) bool {
			q := x.ReadRequest()
			return q.Op == wire.Generate && q.Doc.Text("previous_response_id") == id
		})
}

// readDocument reads the body of a request, nil for one that is not JSON.
func readDocument(x *evidence.Exchange) *tree.Node {
	doc, err := tree.Parse(x.Request.Body)
	if err != nil {
		return nil
	}
	return doc
}

// argumentText is the text of a call's arguments.
func (c *cursor) argumentText() string {
	text, _ := c.readText(":args")
	return text
}

// parseText reads a function of a text: a named one, or a piece to put in a place.
func (l language) parseText(text string) (func(string) string, error) {
	if f := l.texts[text]; f != nil {
		return f, nil
	}
	from, rest, _ := strings.Cut(text, " ")
	if from == "sub" {
		expr, piece, _ := strings.Cut(rest, " ")
		pattern, err := regexp.Compile(expr)
		return func(s string) string { return pattern.ReplaceAllString(s, piece) }, err
	}
	to, piece, found := strings.Cut(rest, " ")
	if quoted, err := strconv.Unquote(piece); err == nil {
		piece = quoted
	}
	if !found || readPosition(from, 60) < 0 || readPosition(to, 60) < 0 {
		return nil, fmt.Errorf("no function of a text is called %q", text)
	}
	return func(s string) string {
		runes := []rune(s)
		a, b := readPosition(from, len(runes)), readPosition(to, len(runes))
		if a > b || a < 0 {
			return s
		}
		return string(runes[:a]) + piece + string(runes[b:])
	}, nil
}

// readPosition reads where in size characters or elements something stands: a number, one that
// counts from the end, a fraction, or end.
func readPosition(text string, size int) int {
	if over, under, isFraction := strings.Cut(text, "/"); isFraction {
		a, _ := strconv.Atoi(over)
		b, _ := strconv.Atoi(under)
		return size * a / max(b, 1)
	}
	if text == "end" {
		return size
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return -1
	case n < 0:
		return size + n
	}
	return min(n, size)
}
