package mutate

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// answer is what a provider answers instead of a reply: a row of answers.yaml.
type answer struct {
	Rule, Message, Param, Code string
	Status                     int
	Body                       string
}

// encodeBody writes a refusal as its provider does.
func (a answer) encodeBody(provider, model string) string {
	message := string(tree.Quote(strings.ReplaceAll(a.Message, "MODEL", model)))
	orNull := func(s string) string {
		if s == "" {
			return "null"
		}
		return string(tree.Quote(s))
	}
	switch {
	case a.Body != "":
		return a.Body
	case provider == evidence.Anthropic:
		return `{"type":"error","error":{"type":"invalid_request_error","message":` + message +
			`},"request_id":"req_011CVbenchAAAAAAAAAAAAAA"}`
	case provider == evidence.OpenAI, provider == chat:
		return `{"error":{"message":` + message + `,"type":"invalid_request_error","param":` + orNull(a.Param) +
			`,"code":` + orNull(a.Code) + `}}`
	}
	return fmt.Sprintf(`{"error":{"code":400,"message":%s,"status":"INVALID_ARGUMENT"}}`, message)
}

func setReply(c *cursor, status int, body string) bool {
	c.theExchange().Response.Status = status
	return c.writeText("@reply", body)
}

func isStreamed(body []byte) bool {
	return bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:"))
}

// wantsStream reports whether a request asks for events that the bench can write.
func wantsStream(c *cursor) bool {
	if c.provider == evidence.Gemini {
		return strings.Contains(c.theExchange().Request.URL, ":streamGenerateContent") &&
			strings.Contains(c.theExchange().Request.URL, "alt=sse")
	}
	return c.doc.Get("stream").True()
}

// splitEvents splits a stream into its events, blank lines included.
func splitEvents(body string) []string {
	if strings.Contains(body, "\r\n\r\n") {
		return strings.SplitAfter(body, "\r\n\r\n")
	}
	return strings.SplitAfter(body, "\n\n")
}

func dataOf(event string) *tree.Node {
	_, data, _ := strings.Cut(event, "data:")
	n, err := tree.Parse(strings.TrimSpace(data))
	if err != nil {
		return nil
	}
	return n
}

var (
	endOfStream = map[string]*regexp.Regexp{
		evidence.Anthropic: regexp.MustCompile(`"message_delta"|"message_stop"`),
		evidence.OpenAI:    regexp.MustCompile(`"response.completed"|"response.incomplete"`),
		evidence.Gemini:    regexp.MustCompile(`,?"finishReason":\s*"[^"]*"`),
		chat:               regexp.MustCompile(`"finish_reason":\s*"|data: *\[DONE\]`),
	}
	modelInAddress = regexp.MustCompile(`/models/[^:]+:`)
	finishReason   = regexp.MustCompile(`"finishReason":\s*"[^"]*",|,\s*"finishReason":\s*"[^"]*"`)
)

// cutStream drops the events that end a stream, of Gemini's the reason only.
func cutStream(provider, body string) string {
	events, out := splitEvents(body), ""
	for _, e := range events {
		isEnd := endOfStream[provider].MatchString(e)
		if provider == evidence.Gemini && isEnd {
			e, isEnd = finishReason.ReplaceAllString(e, ""), false
		}
		if !isEnd {
			out += e
		}
	}
	return out
}

// changeBody gives a reply another body, if that is one.
func changeBody(c *cursor, edit func(body string) string) bool {
	old := string(c.theExchange().Response.Body)
	body := edit(old)
	return body != "" && body != old && setReply(c, 200, body)
}

func withOwnHeaders(x evidence.Exchange) evidence.Exchange {
	x.Request.Header, x.Response.Header = x.Request.Header.Clone(), x.Response.Header.Clone()
	return x
}

func (d *draft) insertExchange(at int, x evidence.Exchange) {
	d.ev.Exchanges = slices.Insert(d.ev.Exchanges, at, withOwnHeaders(x))
	for i := range d.ev.Exchanges {
		d.ev.Exchanges[i].Index = i
	}
}

// trafficVerbs add exchanges and change replies.
func trafficVerbs() map[string]func(c *cursor, rest string) bool {
	return map[string]func(c *cursor, rest string) bool{
		// refuse puts an answer of answers.yaml in the place of a reply. When the reply came, and how
		// long the provider asked to wait, is not the answer's.
		"refuse": func(c *cursor, name string) bool {
			a := readAnswers().findAnswer(name, c.provider)
			for _, header := range []string{"Date", "Retry-After", "Retry-After-Ms"} {
				c.theExchange().Response.Header.Del(header)
			}
			return setReply(c, max(a.Status, 400),
				a.encodeBody(c.provider, draftOf(c).pages[min(c.n, len(draftOf(c).pages)-1)].req.Model))
		},
		"reply": func(c *cursor, body string) bool { return setReply(c, 200, body) },
		// ask makes the request of the page another exchange, which is answered with text: WHERE ID TEXT.
		"ask": func(c *cursor, rest string) bool {
			words := strings.SplitN(rest, " ", 3)
			d := draftOf(c)
			x := d.scene.ev.Exchanges[c.n]
			x.Request.URL, x.Request.Body = c.theExchange().Request.URL, encodeTree(c.doc)
			x.Response.Status = 200
			model := d.pages[c.n].req.Model
			if words[1] == "tiny" {
				model = smallModels[c.provider]
			}
			x.Response.Body, x.Response.Chunks = composeReply(c, words[1], model, words[2]), nil
			x.Response.Header = x.Response.Header.Clone()
			x.Response.Header.Del("Openai-Model") // of the reply in whose place this one stands
			where := map[string]int{"first": 0, "second": 1, "here": c.n, "end": len(d.ev.Exchanges)}[words[0]]
			if words[0] == "anywhere" {
				where = d.dice.IntN(len(d.ev.Exchanges) + 1)
			}
			d.ev.Exchanges[c.n] = withOwnHeaders(d.scene.ev.Exchanges[c.n])
			d.isCopy = true
			d.insertExchange(where, x)
			return true
		},
		// fresh makes a conversation of its own: SYSTEM | PROMPT, or = for what the user said first.
		"fresh": func(c *cursor, rest string) bool {
			system, prompt, _ := strings.Cut(rest, " | ")
			if prompt = promptText(c, prompt); prompt == "" || c.doc.Get("prompt") != nil {
				return false
			}
			dropMembers(c.doc, `tools tool_choice toolConfig tool_config previous_response_id conversation cachedContent
				context_management text output_config mcp_servers container prompt_cache_key metadata
				functions function_call parallel_tool_calls response_format web_search_options`)
			dropMembers(c.findSpot("/generationConfig|generation_config").findNode(),
				`responseSchema responseJsonSchema responseMimeType
				response_schema response_json_schema response_mime_type`)
			memberOf(c.doc, formOf(c.provider).turns).putNode(tree.NewArray())
			return c.insertTurn(0, "user", prompt) && benchVerbs()["set-system"](c, string(tree.Quote(system)))
		},
		// go-on appends a reply of plain text and one more prompt.
		"go-on": func(c *cursor, rest string) bool {
			reply := draftOf(c).replies[c.n]
			if len(reply) != 1 || reply[0].kind != "text" || reply[0].token != "" || !isTrimmed(reply[0].text) {
				return false
			}
			if len(c.items) == 0 || c.items[len(c.items)-1].role != "user" ||
				c.doc.Any("conversation", "previous_response_id") != nil ||
				c.provider == evidence.OpenAI && phaseOrRefusal.Match(c.theExchange().Response.Body) {
				return false
			}
			n, prompt := len(c.findSpot(":turns").findNode().List()), promptText(c, rest)
			return prompt != "" && c.insertTurn(n, "assistant", reply[0].text) && c.insertTurn(n+1, "user", prompt)
		},
		"keep-exchanges": func(c *cursor, count string) bool {
			d := draftOf(c)
			n, _ := strconv.Atoi(count)
			d.ev.Exchanges = d.ev.Exchanges[len(d.ev.Exchanges)-n:]
			return true
		},
		// interrupt cuts a streamed answer of plain text off because the user broke in.
		"interrupt": func(c *cursor, isKept string) bool {
			text, out := "", ""
			for _, e := range splitEvents(string(c.theExchange().Response.Body)) {
				n := dataOf(e)
				isEnd := n.Get("candidates") == nil && endOfStream[c.provider].MatchString(e)
				if isEnd || rootSpot(n).followPath("candidates[0].finishReason").findNode() != nil {
					return false
				}
				if delta := n.Get("delta"); n.Get("type").Text() == "response.output_text.delta" ||
					!delta.Is(tree.String) {
					text += delta.Text() + delta.Get("text").Text() + rootSpot(n).followPath("candidates[0].content.parts[0].text").findNode().Text()
				}
				text += rootSpot(n).followPath("choices[0].delta.content").findNode().Text()
				if out += e; isTrimmed(text) {
					break
				}
			}
			at := c.findSpot(":turns[-2]")
			if isKept == "kept" {
				at.putNode(parseLiteral(formOf(c.provider).turnText("assistant", text)))
			} else {
				at.removeNode()
			}
			if !isTrimmed(text) || !trafficVerbs()["ask"](c, "end intr Very well.") {
				return false
			}
			return setReply(c, 200, out) && c.writeText("@end", "client_abort")
		},
		// copy-texts asks a small model about the texts of the history, and about nothing else.
		"copy-texts": func(c *cursor, how string) bool {
			var said []string
			turns := tree.NewArray()
			for _, it := range c.items {
				if it.kind == "text" && strings.TrimSpace(it.text) != "" &&
					(it.role == "user" || it.role == "assistant") {
					said = append(said, it.role+": "+it.text)
					spot{turns, len(turns.Items()),
						""}.insertNode(parseLiteral(formOf(c.provider).turnText(it.role, it.text)))
				}
			}
			const task = "Summarise the conversation in one sentence."
			ok := len(said) > 1 && !strings.HasPrefix(c.req.Model, smallModels[c.provider]) &&
				trafficVerbs()["fresh"](c, task+" | Please summarise:\n"+strings.Join(said, "\n\n"))
			if how == "turns" && ok {
				c.findSpot(":turns").putNode(turns)
				ok = c.insertTurn(len(said), "user", "Write a title for the conversation so far.") &&
					benchVerbs()["set-system"](c, string(tree.Quote(task)))
			}
			return ok && trafficSteps()["to-small-model"](c)
		},
		"twins": func(c *cursor, how string) bool { return runTwice(draftOf(c), how == "interleaved") },
	}
}

func isTrimmed(text string) bool { return text != "" && text == strings.TrimSpace(text) }

func dropMembers(n *tree.Node, names string) {
	for _, name := range strings.Fields(names) {
		memberOf(n, name).removeNode()
	}
}

// promptText returns the text of a prompt, for = what the user said first.
func promptText(c *cursor, text string) string {
	if text != "=" {
		return text
	}
	for _, it := range draftOf(c).pages[draftOf(c).accepted[0]].items {
		if it.kind == "text" && it.role == "user" && it.text != "" {
			return it.text
		}
	}
	return ""
}

// phaseOrRefusal is in replies of which the text alone is not enough.
var phaseOrRefusal = regexp.MustCompile(`"phase"|"type":\s*"refusal"`)

var smallModels = map[string]string{
	evidence.Anthropic: "claude-haiku-4-5", evidence.OpenAI: "gpt-5.4-nano", evidence.Gemini: "gemini-3.1-flash-lite",
	chat: "gpt-4o-mini",
}

// composeReply writes an accepted reply that says text, in events where the request asked for them.
func composeReply(c *cursor, id, model, text string) []byte {
	layout := readAnswers().Replies[c.provider]
	docs := []string{layout.Document}
	if wantsStream(c) {
		docs = layout.Events
	}
	if c.provider == chat && wantsStream(c) {
		docs = append(slices.Clip(docs), "[DONE]")
	}
	out, fill := "", strings.NewReplacer("ID", id, "MODEL", string(tree.Quote(model)), "TEXT", string(tree.Quote(text)))
	for _, doc := range docs {
		switch doc = fill.Replace(doc); {
		case !wantsStream(c):
			out += doc
		case c.provider == evidence.Gemini:
			out += "data: " + doc + "\r\n\r\n"
		case c.provider == chat:
			out += "data: " + doc + "\n\n"
		default:
			out += "event: " + parseLiteral(doc).Get("type").Text() + "\ndata: " + doc + "\n\n"
		}
	}
	return []byte(out)
}

// trafficSteps add exchanges and change replies.
func trafficSteps() map[string]step {
	return map[string]step{
		// repeat inserts a copy of the exchange behind it.
		"repeat": func(c *cursor) bool {
			draftOf(c).saveCall(c)
			draftOf(c).insertExchange(c.n+1, *c.theExchange())
			return true
		},
		// fail-first inserts the exchange as it was recorded in front, answered by an overload.
		"fail-first": func(c *cursor) bool {
			draftOf(c).saveCall(c)
			draftOf(c).insertExchange(c.n, draftOf(c).scene.ev.Exchanges[c.n])
			draftOf(c).isCopy = true
			return trafficVerbs()["refuse"](c, "overload")
		},
		"drop-exchange": func(c *cursor) bool {
			draftOf(c).isCopy = true
			c.ev.Exchanges = slices.Delete(slices.Clone(c.ev.Exchanges), c.n, c.n+1)
			return true
		},
		"drop-earlier": func(c *cursor) bool {
			draftOf(c).isCopy = true
			c.ev.Exchanges = c.ev.Exchanges[c.n:]
			return true
		},
		"border": func(c *cursor) bool {
			for i := range c.ev.Exchanges {
				c.ev.Exchanges[i].Process = map[bool]int{true: 1}[i >= c.n]
			}
			c.ev.Process = []evidence.Process{{ExitCode: -1},
				{ExitCode: -1, Resumed: true}} // a recording does not say how they ended
			return true
		},
		"reset": func(c *cursor) bool {
			c.theExchange().Response = evidence.Response{End: "reset"}
			return true
		},
		"drop-reply": func(c *cursor) bool {
			c.theExchange().Response.Body = nil
			return true
		},
		"cut-stream": func(c *cursor) bool {
			return changeBody(c, func(body string) string { return cutStream(c.provider, body) })
		},
		"error-stream": func(c *cursor) bool {
			return changeBody(c, func(body string) string {
				cut := cutStream(c.provider, body)
				if cut == body {
					return ""
				}
				last := strconv.Itoa(strings.Count(cut, `"sequence_number":`))
				return cut + strings.Replace(readAnswers().findAnswer("stream", c.provider).Body, "900", last, 1)
			})
		},
		// malformed-call makes the arguments that the model issued no JSON; truncated-call says that
		// the limit of tokens did it.
		"malformed-call": func(c *cursor) bool {
			return changeBody(c, func(body string) string {
				switch c.provider {
				case evidence.Gemini:
					return strings.ReplaceAll(body, `"STOP"`, `"MALFORMED_FUNCTION_CALL"`)
				case evidence.OpenAI:
					return breakArguments(body, draftOf(c).call)
				case chat:
					return breakChatArguments(body, draftOf(c).call)
				}
				return breakPartialJSON(body, draftOf(c).call)
			})
		},
		"truncated-call": func(c *cursor) bool {
			return changeBody(c, func(body string) string {
				if c.provider == evidence.Anthropic {
					return strings.Replace(breakPartialJSON(body, draftOf(c).call), `"stop_reason":"tool_use"`,
						`"stop_reason":"max_tokens"`, 1)
				}
				if c.provider == chat {
					return calledTools.ReplaceAllString(breakChatArguments(body, draftOf(c).call),
						`"finish_reason":"length"`)
				}
				doc, err := tree.Parse(breakArguments(body, draftOf(c).call))
				if err != nil {
					return ""
				}
				memberOf(doc, "status").putNode(tree.NewString("incomplete"))
				memberOf(doc, "incomplete_details").putNode(parseLiteral(`{"reason":"max_output_tokens"}`))
				return string(encodeTree(doc))
			})
		},
		// renew gives a reply other ids and tokens.
		"renew": func(c *cursor) bool {
			x := c.theExchange()
			x.Response.Body = renewTokens(x.Response.Body, draftOf(c).replies[c.n])
			return true
		},
		// restart lets the request fail and sends the one again whose reply it goes on with.
		"restart": func(c *cursor) bool {
			d := draftOf(c)
			for i, it := range c.items {
				if from := d.links[c.n][i]; from != unlinked && it.kind == "call" && c.answerOf(it) != nil {
					first := d.ev.Exchanges[from.exchange]
					again := *c.theExchange()
					again.Request, again.Response.Body = first.Request, first.Response.Body
					d.insertExchange(c.n+1, again)
					return trafficVerbs()["refuse"](c, "overload")
				}
			}
			return false
		},
		// restart-paused sends a request again whose turn paused, in place of the one that goes on.
		"restart-paused": func(c *cursor) bool {
			d := draftOf(c)
			i := slices.Index(d.accepted, c.n)
			if i < 1 {
				return false
			}
			paused := d.ev.Exchanges[d.accepted[i-1]]
			return bytes.Contains(paused.Response.Body, []byte(`"pause_turn"`)) &&
				c.writeText("@body", string(paused.Request.Body))
		},
		"compacted": func(c *cursor) bool {
			kept := tree.NewArray()
			for _, it := range c.items {
				if (it.role == "system" || it.role == "developer") && it.inTurn == 0 {
					spot{kept, len(kept.Items()), ""}.insertNode(c.turnSpot(it).findNode())
				}
			}
			return c.findSpot(":turns").putNode(kept)
		},
		"to-small-model": func(c *cursor) bool {
			dropMembers(c.doc,
				"thinking reasoning reasoning_effort verbosity temperature top_p top_k include generationConfig generation_config model")
			x := c.theExchange()
			x.Request.URL = modelInAddress.ReplaceAllString(x.Request.URL, "/models/"+smallModels[c.provider]+":")
			return c.provider == evidence.Gemini ||
				c.findSpot("/model").putNode(tree.NewString(smallModels[c.provider]))
		},
		// as-program makes calls of the model those of a program in a container that waits for
		// their results.
		"as-program": func(c *cursor) bool {
			const program = `{"type":"code_execution_20260120","tool_id":"srvtoolu_01bench"}`
			const container = `"container":{"id":"container_01benchherons","expires_at":"2026-12-01T00:00:00Z"}`
			called := strings.NewReplacer(`"caller":{"type":"direct"}`, `"caller":`+program, `"role":"assistant"`,
				`"role":"assistant",`+container)
			body := &c.theExchange().Response.Body
			if bytes.Contains(*body, []byte(`"caller":{"type":"direct"}`)) {
				*body = []byte(called.Replace(string(*body)))
			}
			for i, it := range c.items {
				from := draftOf(c).links[c.n][i]
				if it.kind == "call" && from != unlinked &&
					bytes.Contains(c.ev.Exchanges[from.exchange].Response.Body, []byte(program)) {
					memberOf(it.node, "caller").putNode(parseLiteral(program))
					c.findSpot("/container").putNode(tree.NewString("container_01benchherons"))
				}
			}
			return true
		},
		// refused-for-image adds an image to the last turn, and refuses the request for it.
		"refused-for-image": func(c *cursor) bool {
			const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"}}`
			turn := len(c.findSpot(":turns").findNode().List()) - 1
			if c.pickItem("user") != c.pickItem("last") || !addBlock(c, c.pickItem("last"), image) {
				return false
			}
			block := len(c.findSpot(":turns[-1].content").findNode().List()) - 1
			refusal := answer{Message: fmt.Sprintf("messages.%d.content.%d.image.source.base64.data: Could not process image", turn, block)}
			return setReply(c, 400, refusal.encodeBody(c.provider, ""))
		},
		"to-cloud": func(c *cursor) bool {
			const models = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/"
			return c.writeText("@url", models+c.req.Model+":rawPredict")
		},
		// other-host serves the traffic from a host that only speaks the format.
		"other-host": func(c *cursor) bool {
			x := c.theExchange()
			x.Request.URL = strings.Replace(x.Request.URL, "https://api.openai.com/", "https://llm.example.com/", 1)
			for _, reply := range draftOf(c).replies {
				for _, it := range reply {
					if id, isCall := strings.CutPrefix(it.id, "call_"); isCall {
						x.Request.Body = bytes.ReplaceAll(x.Request.Body, []byte(it.id), []byte("chatcmpl-tool-"+id))
						x.Response.Body = bytes.ReplaceAll(x.Response.Body, []byte(it.id), []byte("chatcmpl-tool-"+id))
					}
				}
			}
			return true
		},
	}
}

// breakArguments cuts the argument text of a call, wherever the reply holds it whole, and
// leaves out the events that give it in pieces.
func breakArguments(body string, call issued) string {
	if len(call.arguments) < 8 || !strings.HasSuffix(call.arguments, "}") {
		return ""
	}
	whole, cut := string(tree.Quote(call.arguments)), string(tree.Quote(call.arguments[:len(call.arguments)-4]))
	body = strings.NewReplacer(`"arguments":`+whole, `"arguments":`+cut, `"arguments": `+whole,
		`"arguments": `+cut).Replace(body)
	if isStreamed([]byte(body)) {
		isPiece := func(e string) bool { return strings.Contains(e, `function_call_arguments.delta"`) }
		body = strings.Join(slices.DeleteFunc(splitEvents(body), isPiece), "")
	}
	return body
}

var calledTools = regexp.MustCompile(`"finish_reason":\s*"(tool_calls|stop)"`)

// breakChatArguments cuts the arguments of a call of Chat Completions: the text that holds them whole, or the last
// piece of them.
func breakChatArguments(body string, call issued) string {
	if cut := breakArguments(body, call); cut == "" || cut != body || !isStreamed([]byte(body)) {
		return cut
	}
	events, isMine, last := splitEvents(body), false, -1
	for i, e := range events {
		for _, piece := range rootSpot(dataOf(e)).followPath("choices[0].delta.tool_calls").findNode().List() {
			if id := piece.Text("id"); id != "" {
				isMine = id == call.id
			}
			if isMine && piece.Text("function", "arguments") != "" {
				last = i
			}
		}
	}
	if last < 0 || call.id == "" {
		return ""
	}
	return strings.Join(slices.Delete(events, last, last+1), "")
}

// breakPartialJSON drops the last piece of the arguments of a streamed call.
func breakPartialJSON(body string, call issued) string {
	if !isStreamed([]byte(body)) || call.id == "" || len(call.arguments) < 4 {
		return ""
	}
	events, isMine, last := splitEvents(body), false, -1
	for i, e := range events {
		switch {
		case strings.Contains(e, `"content_block_start"`):
			isMine = strings.Contains(e, `"`+call.id+`"`)
		case isMine && strings.Contains(e, `"input_json_delta"`) && !strings.Contains(e, `"partial_json":""`):
			last = i
		}
	}
	if last < 0 {
		return ""
	}
	return strings.Join(slices.Delete(events, last, last+1), "")
}
