package mutate

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/meerkat-go/conformance/wires/tree"
)

// pageSteps change a request.
func pageSteps() map[string]step {
	return map[string]step{
		"drop-all-results": func(c *cursor) bool { return c.removeAll(func(it *item) bool { return it.kind == "result" }) },
		// alter-member, drop-member and empty change the object of a page, such as arguments.
		"alter-member": func(c *cursor) bool {
			if len(c.doc.Items()) == 0 {
				return false
			}
			at := spot{c.doc, draftOf(c).dice.IntN(len(c.doc.Items())), ""}
			switch n := at.findNode(); {
			case n.Is(tree.String):
				return at.putNode(tree.NewString(n.Text() + " instead"))
			case n.Is(tree.Number):
				return at.putNode(parseLiteral("7319"))
			}
			return at.putNode(tree.NewString("changed"))
		},
		"drop-member": func(c *cursor) bool {
			return len(c.doc.Items()) > 1 && spot{c.doc, draftOf(c).dice.IntN(len(c.doc.Items())), ""}.removeNode()
		},
		"empty": func(c *cursor) bool {
			had := len(c.doc.Items()) > 0
			c.doc.SetMembers(nil, nil)
			return had
		},
		"escape-texts": func(c *cursor) bool {
			walkTree(c.doc, func(parent *tree.Node, i int) {
				if v := parent.Items()[i]; v.Is(tree.String) && !strings.Contains(v.Raw(), `\`) {
					parent.Items()[i] = parseLiteral(escapeText(v.Raw()))
				}
			})
			return true
		},
		"snake-case": func(c *cursor) bool { return snakeNames(c.doc) },
		// keep-last-prompt leaves what the user said last, as if there had been no session.
		"keep-last-prompt": func(c *cursor) bool {
			turn, keep, list := openTurn(c.items), 0, c.findSpot(":turns").findNode()
			for turn > 0 && slices.Contains([]string{"system", "developer"}, list.Items()[keep].Get("role").Text()) {
				keep++
			}
			if turn <= keep {
				return false
			}
			list.SetItems(append(slices.Clone(list.Items()[:keep]), list.Items()[turn]))
			return true
		},
		// drop-last-reply removes the newest reply of a request with a new prompt, and the results
		// that answer it; drop-first-reply the first one of several.
		"drop-last-reply": func(c *cursor) bool {
			_, newest := replyRange(c)
			return c.items[len(c.items)-1].kind == "text" && newest >= 0 && dropReply(c, newest)
		},
		"drop-first-reply": func(c *cursor) bool {
			first, newest := replyRange(c)
			return first < newest && dropReply(c, first)
		},
		"history-twice": func(c *cursor) bool {
			n, list := openTurn(c.items), c.findSpot(":turns").findNode()
			if n <= 1 {
				return false
			}
			list.SetItems(slices.Insert(slices.Clone(list.Items()), n,
				copyTree(tree.NewArray(list.Items()[:n]...)).Items()...))
			return true
		},
		"name-stored-reply": func(c *cursor) bool {
			for _, from := range draftOf(c).links[c.n] {
				if from == unlinked {
					continue
				}
				if id := c.ev.Exchanges[from.exchange].ReadReply().ID; strings.HasPrefix(id, "resp_") {
					return c.findSpot("/previous_response_id").putNode(tree.NewString(id))
				}
			}
			return false
		},
		// previous-response names the reply before instead of repeating it and all before it.
		"previous-response": func(c *cursor) bool {
			last, newest, list := -1, -1, c.findSpot(":turns").findNode()
			for i, it := range c.items {
				if from := draftOf(c).links[c.n][i]; from != unlinked && from.exchange >= newest {
					last, newest = it.turn, from.exchange
				}
			}
			isNewer := func(it *item) bool { return it.turn > last && it.role == "assistant" }
			if last < 0 || last+1 >= len(list.List()) || slices.ContainsFunc(c.items, isNewer) {
				return false
			}
			id := c.ev.Exchanges[newest].ReadReply().ID
			return id != "" && sliceList(list, strconv.Itoa(last+1), "end") &&
				c.findSpot("/previous_response_id").putNode(tree.NewString(id))
		},
		"lower-headers": func(c *cursor) bool {
			lower := http.Header{}
			for name, values := range c.theExchange().Request.Header {
				lower[strings.ToLower(name)] = values
			}
			c.theExchange().Request.Header = lower
			return len(lower) > 0
		},
		"drop-headers": func(c *cursor) bool {
			c.theExchange().Request.Header, c.theExchange().Response.Header = nil, nil
			return true
		},
		"hide-reasoning": func(c *cursor) bool {
			x := c.theExchange()
			x.Response.Body = hiddenTokens.ReplaceAll(x.Response.Body, nil)
			return true
		},
	}
}

var hiddenTokens = regexp.MustCompile(`,\s*"encrypted_content":\s*"[^"]*"`)

// replyRange returns the first and the newest exchange whose reply the request sends back.
func replyRange(c *cursor) (first, newest int) {
	first, newest = 1<<30, -1
	for _, from := range draftOf(c).links[c.n] {
		if from != unlinked {
			first, newest = min(first, from.exchange), max(newest, from.exchange)
		}
	}
	return first, newest
}

func dropReply(c *cursor, exchange int) bool {
	var gone []*item
	for i, it := range c.items {
		if draftOf(c).links[c.n][i].exchange == exchange {
			gone = append(gone, it)
			if it.kind == "call" {
				gone = append(gone, c.answerOf(it))
			}
		}
	}
	return c.removeOnly(gone) && len(c.findSpot(":turns").findNode().Items()) > 0
}

func escapeText(raw string) string {
	var out strings.Builder
	for _, r := range raw {
		switch {
		case r == '/':
			out.WriteString(`\/`)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		case r > 126:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

var (
	snakeName = regexp.MustCompile(`[A-Z]`)
	// protoNames are members of Gemini's with another spelling, inProto those whose own members
	// are the client's.
	protoNames = strings.Fields(`systemInstruction generationConfig functionDeclarations toolConfig functionCallingConfig allowedFunctionNames
		thinkingConfig includeThoughts thinkingLevel thinkingBudget maxOutputTokens functionCall functionResponse thoughtSignature inlineData
		mimeType parametersJsonSchema topP topK stopSequences responseMimeType`)
	foreignNames = strings.Fields("args response parameters parametersJsonSchema responseSchema responseJsonSchema")
)

// snakeNames spells the members of a request the other way that protocol buffers allow.
func snakeNames(n *tree.Node) bool {
	done := false
	for i, v := range n.Items() {
		name := ""
		if n.Is(tree.Object) {
			name = n.Names()[i]
		}
		if slices.Contains(protoNames, name) {
			n.Names()[i], done = snakeName.ReplaceAllStringFunc(name,
				func(s string) string { return "_" + strings.ToLower(s) }), true
		}
		if !slices.Contains(foreignNames, name) {
			done = snakeNames(v) || done
		}
	}
	return done
}
