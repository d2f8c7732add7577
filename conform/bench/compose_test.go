package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// composeReply writes an accepted reply that says text, as the provider does:
// a stream where the request asked for one.
func composeReply(provider string, streamed bool, model, text, id string) []byte {
	switch provider {
	case evidence.Anthropic:
		return composeAnthropic(streamed, model, text, id)
	case evidence.OpenAI:
		return composeOpenAI(streamed, model, text, id)
	}
	return composeGemini(streamed, model, text, id)
}

func composeAnthropic(streamed bool, model, text, id string) []byte {
	head := fmt.Sprintf(`{"id":"msg_01%sBench","type":"message","role":"assistant","model":%s,"content":`, id, quoteJSON(model))
	if !streamed {
		return []byte(head + `[{"type":"text","text":` + quoteJSON(text) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":9}}`)
	}
	return namedEvents(
		`{"type":"message_start","message":`+head+`[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quoteJSON(text)+`}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	)
}

func composeOpenAI(streamed bool, model, text, id string) []byte {
	item := fmt.Sprintf(`{"id":"msg_0b%s","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]}`, id, quoteJSON(text))
	response := func(status, output string) string {
		return fmt.Sprintf(`{"id":"resp_0b%s","object":"response","created_at":1763849712,"status":%q,"error":null,"incomplete_details":null,"instructions":null,"model":%s,"output":[%s],"parallel_tool_calls":true,"tools":[],"tool_choice":"auto","usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":0},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":29}}`, id, status, quoteJSON(model), output)
	}
	if !streamed {
		return []byte(response("completed", item))
	}
	begun := strings.Replace(strings.Replace(item, `"completed"`, `"in_progress"`, 1), `[{"type":"output_text","annotations":[],"logprobs":[],"text":`+quoteJSON(text)+`}]`, `[]`, 1)
	at := fmt.Sprintf(`"item_id":"msg_0b%s","output_index":0,"content_index":0`, id)
	part := func(s string) string { return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + s + `}` }
	return namedEvents(
		`{"type":"response.created","sequence_number":0,"response":`+response("in_progress", "")+`}`,
		`{"type":"response.in_progress","sequence_number":1,"response":`+response("in_progress", "")+`}`,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":`+begun+`}`,
		`{"type":"response.content_part.added","sequence_number":3,`+at+`,"part":`+part(`""`)+`}`,
		`{"type":"response.output_text.delta","sequence_number":4,`+at+`,"delta":`+quoteJSON(text)+`,"logprobs":[]}`,
		`{"type":"response.output_text.done","sequence_number":5,`+at+`,"text":`+quoteJSON(text)+`,"logprobs":[]}`,
		`{"type":"response.content_part.done","sequence_number":6,`+at+`,"part":`+part(quoteJSON(text))+`}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":`+item+`}`,
		`{"type":"response.completed","sequence_number":8,"response":`+response("completed", item)+`}`,
	)
}

func composeGemini(streamed bool, model, text, id string) []byte {
	doc := fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":9,"totalTokenCount":29},"modelVersion":%s,"responseId":"Bench%s"}`, quoteJSON(text), quoteJSON(model), id)
	if !streamed {
		return []byte(doc)
	}
	return []byte("data: " + doc + "\r\n\r\n")
}

func namedEvents(docs ...string) []byte {
	var out strings.Builder
	for _, d := range docs {
		kind := strings.SplitN(d, `"`, 5)[3]
		out.WriteString("event: " + kind + "\ndata: " + d + "\n\n")
	}
	return []byte(out.String())
}

// wantsStream reports whether exchange k asks for events that the bench can write.
func (s *scene) wantsStream(k int) bool {
	ex := &s.ev.Exchanges[k]
	if s.provider == evidence.Gemini {
		return strings.Contains(ex.Request.URL, ":streamGenerateContent") && strings.Contains(ex.Request.URL, "alt=sse")
	}
	return s.requests[k].at("stream").isTrue()
}

// isComposable leaves out Gemini's stream without events.
func (s *scene) isComposable(k int) bool {
	ex := &s.ev.Exchanges[k]
	return !strings.Contains(ex.Request.URL, ":streamGenerateContent") || s.wantsStream(k)
}

// exchangeLike makes an exchange that asks with request root where exchange k
// asked, and is answered with text.
func (d *draft) exchangeLike(k int, root *node, text, id string) evidence.Exchange {
	ex := d.ev.Exchanges[k]
	ex.Request.Body = root.encodeJSON()
	ex.Request.Header = ex.Request.Header.Clone()
	ex.Request.Header.Del("Content-Length")
	ex.Response.Header = ex.Response.Header.Clone()
	ex.Response.Header.Del("Content-Length")
	ex.Response.Status, ex.Response.Chunks = 200, nil
	ex.Response.Body = composeReply(d.provider, d.wantsStream(k), d.modelName(k), text, id)
	return ex
}

// insertExchange puts ex before exchange at and renumbers the rest.
func (d *draft) insertExchange(at int, ex evidence.Exchange) {
	d.ev.Exchanges = slices.Insert(d.ev.Exchanges, at, ex)
	d.renumberExchanges()
}

func (d *draft) renumberExchanges() {
	for i := range d.ev.Exchanges {
		d.ev.Exchanges[i].Index = i
	}
}

// freshRequest is a request like that of exchange k with a conversation of its
// own: one prompt, no tools, another system prompt.
func (d *draft) freshRequest(k int, system, prompt string) *node {
	p := d.editableRequest(k)
	for _, key := range []string{"tools", "tool_choice", "toolConfig", "tool_config", "previous_response_id", "conversation", "cachedContent", "context_management", "text", "output_config", "mcp_servers", "container", "prompt_cache_key", "metadata"} {
		p.root.removeKey(key)
	}
	if c, _ := p.root.firstOf("generationConfig", "generation_config"); c != nil {
		for _, key := range []string{"responseSchema", "responseJsonSchema", "responseMimeType", "response_schema", "response_json_schema", "response_mime_type"} {
			c.removeKey(key)
		}
	}
	list := parseLiteral("[]")
	p.root.setMember(listKey[p.provider], list)
	list.appendValue(p.newTurn("user", prompt))
	switch p.provider {
	case evidence.Anthropic:
		p.root.setMember("system", stringNode(system))
	case evidence.OpenAI:
		p.root.setMember("instructions", stringNode(system))
	default:
		p.root.removeKey("system_instruction")
		p.root.setMember("systemInstruction", parseLiteral(`{"parts":[{"text":`+quoteJSON(system)+`}]}`))
	}
	return p.root
}
