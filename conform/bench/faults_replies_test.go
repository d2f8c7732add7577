package bench

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// replyFaults change what came back, so that what the agent did with it, or what
// the recording shows, is wrong.
var replyFaults = []Kind{
	{Name: "cut-stream-taken-as-history", Rule: "R32 D-32", Providers: all, alter: beforeContinuation(cutStream)},
	{Name: "error-stream-taken-as-history", Rule: "R32 A3", Providers: all, alter: beforeContinuation(errorStream)},
	{Name: "malformed-call-run", Rule: "R29 R30", Providers: all, alter: malformedCall},
	{Name: "truncated-call-run", Rule: "R30", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: truncatedCall},
	{Name: "refusal-repeated-unchanged", Rule: "R48", Providers: all, prepare: refusedOnce, onFailing: true, alter: repeatedRefusal(2)},
	{Name: "refusal-repeated-five-times", Rule: "R48", Providers: all, prepare: refusedOnce, onFailing: true, alter: repeatedRefusal(5)},
	{Name: "every-call-refused", Rule: "§3.3 no accepted call", Providers: all, alter: everyCallRefused, ofVerdict: true},
	{Name: "every-call-unauthorised", Rule: "§3.3 no accepted call", Providers: all, alter: everyCallUnauthorised, ofVerdict: true},
	{Name: "empty-200", Rule: "empty reply", Providers: all, alter: lastReply(func(*scene, []byte) []byte { return []byte{} })},
	{Name: "document-cut", Rule: "cut reply", Providers: all, alter: lastReply(cutDocument)},
	{Name: "reply-is-html", Rule: "no reply at all", Providers: all, alter: lastReply(func(*scene, []byte) []byte { return []byte("<html><body>Sign in to the proxy</body></html>") })},
	{Name: "reply-is-null", Rule: "no reply at all", Providers: all, alter: lastReply(func(*scene, []byte) []byte { return []byte("null") })},
	{Name: "reply-is-foreign-json", Rule: "no reply at all", Providers: all, alter: lastReply(func(*scene, []byte) []byte { return []byte(`{"ok":true}`) })},
	{Name: "reply-is-chat-completion", Rule: "no reply at all", Providers: all, alter: lastReply(func(*scene, []byte) []byte {
		return []byte(`{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	})},
}

// isStreamed holds for a reply in events.
func isStreamed(body []byte) bool {
	return bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:"))
}

// beforeContinuation alters a streamed reply that a later request sends back.
func beforeContinuation(edit func(provider string, body []byte) []byte) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		var found []int
		for _, k := range d.modelCalls() {
			for _, b := range d.blocks[k] {
				if b.from != unknownOrigin && !slices.Contains(found, b.from.exchange) && isStreamed(d.ev.Exchanges[b.from.exchange].Response.Body) {
					found = append(found, b.from.exchange)
				}
			}
		}
		r.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		for _, j := range found {
			body := edit(d.provider, d.ev.Exchanges[j].Response.Body)
			if body != nil {
				d.setReply(j, 200, body)
				return d.placeAt(j, nil), true
			}
		}
		return Place{}, false
	}
}

// splitEvents splits a stream into its events, blank lines included.
func splitEvents(body []byte) [][]byte {
	sep := []byte("\n\n")
	if bytes.Contains(body, []byte("\r\n\r\n")) {
		sep = []byte("\r\n\r\n")
	}
	return bytes.SplitAfter(body, sep)
}

// cutStream drops the events that end a stream.
func cutStream(provider string, body []byte) []byte {
	if provider == evidence.Gemini {
		return withoutFinish(body)
	}
	var out []byte
	dropped := false
	for _, e := range splitEvents(body) {
		if endsStream(provider, e) {
			dropped = true
			continue
		}
		out = append(out, e...)
	}
	if !dropped || len(out) == 0 {
		return nil
	}
	return out
}

// withoutFinish takes the reason out of Gemini's last chunk, which may hold the
// content as well.
func withoutFinish(body []byte) []byte {
	var out []byte
	dropped := false
	for _, e := range splitEvents(body) {
		if !endsStream(evidence.Gemini, e) {
			out = append(out, e...)
			continue
		}
		doc := splitDocuments(e)
		if len(doc) != 1 || !doc[0].at("candidates", 0).isObject() {
			return nil
		}
		dropped = doc[0].at("candidates", 0).removeKey("finishReason") || dropped
		out = append(append(append(out, "data: "...), doc[0].encodeJSON()...), "\r\n\r\n"...)
	}
	if !dropped {
		return nil
	}
	return out
}

func endsStream(provider string, event []byte) bool {
	marks := map[string][]string{
		evidence.Anthropic: {`"message_delta"`, `"message_stop"`},
		evidence.OpenAI:    {`"response.completed"`, `"response.incomplete"`},
		evidence.Gemini:    {`"finishReason"`},
	}[provider]
	for _, m := range marks {
		if bytes.Contains(event, []byte(m)) {
			return true
		}
	}
	return false
}

func errorStream(provider string, body []byte) []byte {
	out := cutStream(provider, body)
	if out == nil {
		return nil
	}
	failure := map[string]string{
		evidence.Anthropic: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		evidence.OpenAI:    "event: error\ndata: {\"type\":\"error\",\"sequence_number\":900,\"error\":{\"type\":\"server_error\",\"code\":\"server_error\",\"message\":\"The server had an error while processing your request.\",\"param\":null}}\n\n",
		evidence.Gemini:    "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded. Please try again later.\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n",
	}[provider]
	next := bytes.Count(out, []byte(`"sequence_number":`))
	failure = strings.Replace(failure, "900", strconv.Itoa(next), 1)
	return append(out, failure...)
}

// malformedCall makes the arguments that the model issued no JSON, so that a
// call in the history was run with made-up arguments.
func malformedCall(d *draft, r *rand.Rand) (Place, bool) {
	return onIssuedCall(d, r, func(body []byte, it issued) []byte {
		switch d.provider {
		case evidence.Gemini:
			if !bytes.Contains(body, []byte(`"STOP"`)) {
				return nil
			}
			return bytes.ReplaceAll(body, []byte(`"STOP"`), []byte(`"MALFORMED_FUNCTION_CALL"`))
		case evidence.OpenAI:
			return breakArguments(body, it)
		}
		return breakPartialJSON(body, it)
	})
}

// truncatedCall cuts the arguments and says that the limit of tokens did it.
func truncatedCall(d *draft, r *rand.Rand) (Place, bool) {
	return onIssuedCall(d, r, func(body []byte, it issued) []byte {
		if d.provider == evidence.OpenAI {
			body = breakArguments(body, it)
			if body == nil || isStreamed(body) {
				return nil
			}
			doc, ok := parseJSON(body)
			if !ok {
				return nil
			}
			doc.setMember("status", parseLiteral(`"incomplete"`))
			doc.setMember("incomplete_details", parseLiteral(`{"reason":"max_output_tokens"}`))
			return doc.encodeJSON()
		}
		body = breakPartialJSON(body, it)
		return bytes.Replace(body, []byte(`"stop_reason":"tool_use"`), []byte(`"stop_reason":"max_tokens"`), 1)
	})
}

// onIssuedCall alters the reply of a call that a later request holds with a
// result, as if it had been run.
func onIssuedCall(d *draft, r *rand.Rand, edit func(body []byte, it issued) []byte) (Place, bool) {
	var found []*block
	for _, k := range d.modelCalls() {
		for _, b := range d.blocks[k] {
			if b.kind == callBlock && b.from != unknownOrigin && d.resultOf(k, b) != nil {
				found = append(found, b)
			}
		}
	}
	r.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for _, b := range found {
		j := b.from.exchange
		old := d.ev.Exchanges[j].Response.Body
		body := edit(old, d.replies[j][b.from.item])
		if body != nil && !bytes.Equal(body, old) {
			d.setReply(j, 200, body)
			return d.placeAt(j, nil), true
		}
	}
	return Place{}, false
}

// breakArguments cuts the argument string of a call, wherever the reply holds it.
func breakArguments(body []byte, it issued) []byte {
	const key = `"arguments":`
	if len(it.arguments) < 8 || !strings.HasSuffix(it.arguments, "}") {
		return nil
	}
	whole := stringNode(it.arguments).raw
	cut := stringNode(it.arguments[:len(it.arguments)-4]).raw
	out := bytes.ReplaceAll(body, append([]byte(key), whole...), append([]byte(key), cut...))
	out = bytes.ReplaceAll(out, append([]byte(key+" "), whole...), append([]byte(key+" "), cut...))
	if isStreamed(out) {
		out = dropArgumentDeltas(out)
	}
	return out
}

// dropArgumentDeltas removes the events that deliver arguments piece by piece, so
// that only the cut whole remains.
func dropArgumentDeltas(body []byte) []byte {
	var out []byte
	for _, e := range splitEvents(body) {
		if !bytes.Contains(e, []byte(`function_call_arguments.delta"`)) {
			out = append(out, e...)
		}
	}
	return out
}

// breakPartialJSON drops the last piece of the arguments of a streamed call.
func breakPartialJSON(body []byte, it issued) []byte {
	if !isStreamed(body) || it.id == "" || len(it.arguments) < 4 {
		return nil
	}
	list := splitEvents(body)
	mine, last := false, -1
	for i, e := range list {
		switch {
		case bytes.Contains(e, []byte(`"content_block_start"`)):
			mine = bytes.Contains(e, []byte(`"`+it.id+`"`))
		case mine && bytes.Contains(e, []byte(`"input_json_delta"`)) && !bytes.Contains(e, []byte(`"partial_json":""`)):
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	return bytes.Join(slices.Delete(slices.Clone(list), last, last+1), nil)
}

// lastReply replaces the body of the last accepted reply.
func lastReply(edit func(s *scene, body []byte) []byte) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		k := list[len(list)-1]
		body := edit(d.scene, d.ev.Exchanges[k].Response.Body)
		if body == nil {
			return Place{}, false
		}
		d.setReply(k, 200, body)
		return d.placeAt(k, nil), true
	}
}

func cutDocument(_ *scene, body []byte) []byte {
	if isStreamed(body) || len(body) < 80 {
		return nil
	}
	return body[: len(body)/2 : len(body)/2]
}

// refusedOnce lets the last call be refused for its form.
func refusedOnce(d *draft, r *rand.Rand) bool {
	_, ok := refuseLast(formRefusals(d.provider)[0])(d, r)
	return ok && len(d.modelCalls()) > 1
}

// repeatedRefusal sends the refused request again and again.
func repeatedRefusal(times int) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		k := len(d.ev.Exchanges) - 1
		if d.requests[k] == nil || d.ev.Exchanges[k].Response.Status/100 != 4 {
			return Place{}, false
		}
		for range times - 1 {
			d.repeatExchange(k)
		}
		return d.placeAt(k, nil), true
	}
}

// repeatExchange inserts a copy of exchange k behind it and renumbers the rest.
func (d *draft) repeatExchange(k int) {
	d.ev.Exchanges = slices.Insert(d.ev.Exchanges, k+1, d.ev.Exchanges[k])
	for i := range d.ev.Exchanges[k+1:] {
		d.ev.Exchanges[k+1+i].Index++
	}
}

func everyCallRefused(d *draft, _ *rand.Rand) (Place, bool) {
	refused := formRefusals(d.provider)[0].withStatus()
	for k := range d.ev.Exchanges {
		model := ""
		if d.requests[k] != nil {
			model = d.modelName(k)
		}
		d.setReply(k, refused.status, []byte(refused.encodeBody(d.provider, model)))
	}
	return d.placeAt(0, nil), true
}

func everyCallUnauthorised(d *draft, _ *rand.Rand) (Place, bool) {
	body := map[string]string{
		evidence.Anthropic: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_011CTest"}`,
		evidence.OpenAI:    `{"error":{"message":"Incorrect API key provided: sk-inval***-key. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		evidence.Gemini:    `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
	}[d.provider]
	status := 401
	if d.provider == evidence.Gemini {
		status = 400
	}
	for k := range d.ev.Exchanges {
		d.setReply(k, status, []byte(body))
	}
	return d.placeAt(0, nil), true
}
