package bench

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

func editHeaders(edit func(h http.Header) bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		changed := false
		for i := range d.ev.Exchanges {
			h := d.ev.Exchanges[i].Request.Header.Clone()
			if len(h) > 0 && edit(h) {
				d.ev.Exchanges[i].Request.Header = h
				changed = true
			}
		}
		return Place{}, changed
	}
}

func lowerHeaders(h http.Header) bool {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	for _, name := range names {
		values := h[name]
		delete(h, name)
		h[strings.ToLower(name)] = values
	}
	return true
}

func addHeaders(h http.Header) bool {
	if h.Get("Anthropic-Version")+h.Get("Authorization")+h.Get("X-Goog-Api-Key") == "" {
		return false // the recorder kept a few headers only
	}
	h.Set("User-Agent", "some-agent/3.1 (linux)")
	h.Set("X-Stainless-Retry-Count", "1")
	h.Set("Accept-Language", "*")
	h.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	return true
}

func bearerAuth(h http.Header) bool {
	if h.Get("Anthropic-Version") == "" {
		return false // the recorder kept a few headers only
	}
	h.Del("X-Api-Key")
	h.Set("Authorization", "Bearer REDACTED")
	return true
}

func interleavedHeader(h http.Header) bool {
	if h.Get("Anthropic-Version") == "" {
		return false
	}
	beta := h.Get("Anthropic-Beta")
	if strings.Contains(beta, "interleaved") {
		return false
	}
	h.Set("Anthropic-Beta", strings.Trim(beta+",interleaved-thinking-2025-05-14", ","))
	return true
}

func keyInQuery(d *draft, _ *rand.Rand) (Place, bool) {
	for i := range d.ev.Exchanges {
		ex := &d.ev.Exchanges[i]
		sep := "?"
		if strings.Contains(ex.Request.URL, "?") {
			sep = "&"
		}
		ex.Request.URL += sep + "key=REDACTED"
		ex.Request.Header = ex.Request.Header.Clone()
		ex.Request.Header.Del("X-Goog-Api-Key")
	}
	return Place{}, true
}

func editReplies(edit func(provider string, body []byte) []byte) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		changed := false
		for _, k := range d.modelCalls() {
			old := d.ev.Exchanges[k].Response.Body
			body := edit(d.provider, old)
			if body != nil && !bytes.Equal(body, old) {
				d.setReply(k, d.ev.Exchanges[k].Response.Status, body)
				changed = true
			}
		}
		return Place{}, changed
	}
}

// afterFirst puts an event behind the first one of a stream.
func afterFirst(body []byte, event string) []byte {
	if !isStreamed(body) {
		return nil
	}
	list := splitEvents(body)
	if len(list) < 2 {
		return nil
	}
	return bytes.Join(slices.Insert(slices.Clone(list), 1, []byte(event)), nil)
}

func addPing(_ string, body []byte) []byte {
	return afterFirst(body, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
}

func addUnknownEvent(_ string, body []byte) []byte {
	return afterFirst(body, "event: budget_note\ndata: {\"type\":\"budget_note\",\"left\":3}\n\n")
}

func addComment(_ string, body []byte) []byte { return afterFirst(body, ": keep-alive\n\n") }

func addDone(_ string, body []byte) []byte {
	if !isStreamed(body) || bytes.Contains(body, []byte("[DONE]")) {
		return nil
	}
	return append(bytes.Clone(body), "data: [DONE]\n\n"...)
}

func otherLineEnds(_ string, body []byte) []byte {
	if !isStreamed(body) {
		return nil
	}
	if bytes.Contains(body, []byte("\r\n")) {
		return bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	}
	return bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
}

func unknownMembers(_ string, body []byte) []byte {
	doc, ok := parseJSON(body)
	if !ok || !doc.isObject() {
		return nil
	}
	doc.setMember("billing_tier_note", parseLiteral(`{"a":1}`))
	return doc.encodeJSON()
}

func unknownUsage(_ string, body []byte) []byte {
	for _, key := range []string{`"output_tokens":`, `"totalTokenCount":`} {
		body = bytes.ReplaceAll(body, []byte(key), []byte(`"quantum_tokens":3,`+key))
	}
	return body
}
