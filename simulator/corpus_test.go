package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
)

// sample is one answer of a model, recorded or ours.
type sample struct {
	provider string
	document bool // unary
	header   http.Header
	events   []event // a document is one
	// recent recordings are those of the API as it is now.
	recent bool
	// genuine says that ids and tokens are as the provider sent them.
	genuine bool
}

// recentSince begins the time in which the API is as it is now.
var recentSince = time.Date(2026, time.April, 1, 0, 0, 0, 0, time.UTC)

// recordings reads what the providers' own APIs answered, or skips the test.
func recordings(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, file := range corpus.Files(t, "*/*/*.response.json") {
		if r, ok := recording(t, file); ok {
			all = append(all, r)
		}
	}
	return all
}

// recording reads one answer; false for one that is not of the provider's own
// API, was refused, or is not a model's reply.
func recording(t *testing.T, file string) (sample, bool) {
	t.Helper()
	var meta struct {
		HostVariant string `json:"host_variant"`
		Fidelity    string
		Provider    string
		Authentic   string `json:"authenticity"`
	}
	var response struct {
		Status  int
		Headers map[string]json.RawMessage
	}
	body, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".body")
	if err != nil || !read(t, filepath.Join(filepath.Dir(file), "meta.json"), &meta) || !read(t, file, &response) {
		return sample{}, false
	}
	if meta.HostVariant != "" || meta.Fidelity != "http" || response.Status != http.StatusOK {
		return sample{}, false
	}
	r := sample{provider: meta.Provider, header: http.Header{}, genuine: meta.Authentic == "recorded"}
	for name, raw := range response.Headers {
		r.header[http.CanonicalHeaderKey(name)] = []string{strings.Trim(string(raw), "[]\" \n")}
	}
	r.events, r.document = loosely(body)
	r.recent = !dateOf(r, body).Before(recentSince)
	return r, len(r.events) > 0 && speaks(r)
}

func read(t *testing.T, file string, into any) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	return err == nil && json.Unmarshal(raw, into) == nil
}

var createdAt = regexp.MustCompile(`"created_at":\s*(\d{10})`)

// dateOf is when a reply was recorded, the zero time when nothing tells.
func dateOf(r sample, body []byte) time.Time {
	if at, err := time.Parse(time.RFC1123, r.header.Get("Date")); err == nil {
		return at
	}
	if m := createdAt.FindSubmatch(body); m != nil {
		seconds, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

// loosely reads a body in any framing, as recorders leave it.
func loosely(body []byte) (events []event, document bool) {
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		var many []map[string]any
		var one map[string]any
		if json.Unmarshal(trimmed, &one) == nil {
			return []event{{data: one, raw: trimmed}}, true
		}
		_ = json.Unmarshal(trimmed, &many) // what is not an array either holds no reply
		for _, m := range many {
			events = append(events, event{data: m})
		}
		return events, false
	}
	for line := range bytes.Lines(body) {
		text, ok := bytes.CutPrefix(line, []byte("data:"))
		var e event
		if ok && json.Unmarshal(text, &e.data) == nil && e.data != nil {
			e.raw = bytes.TrimSpace(text)
			events = append(events, e)
		}
	}
	return events, false
}

// speaks reports whether it is the reply of a model: counts, lists of models,
// stored items and the like are not.
func speaks(r sample) bool {
	e := r.events[0]
	switch r.provider {
	case "anthropic":
		return r.document && e.str("type") == "message" || e.str("type") == "message_start"
	case "openai":
		return r.document && e.str("object") == "response" || e.str("type") == "response.created"
	}
	return e.has("usageMetadata") || e.has("candidates")
}

// ours are the simulator's answers: to every turn of every scenario and, without
// one, to a prompt and to the results of its calls.
func ours(t *testing.T) []sample {
	t.Helper()
	var all []sample
	eachTurn(t, 1, func(t *testing.T, one *specs.Scenario, target specs.Target) {
		for _, form := range forms(target.Provider) {
			if w := firstResponse(t, changed(one, whole), target, form); w.Code == http.StatusOK &&
				len(one.Turns[0].Emit) > 0 {
				all = append(all, sampled(t, target.Provider, form == "unary", w))
			}
		}
	})
	h := New(Config{Seed: "streams"})
	for _, provider := range Providers() {
		for _, model := range talkers[provider] {
			all = append(all, talkWith(t, h, provider, model, true)...)
			all = append(all, talkWith(t, h, provider, model, false)...)
		}
	}
	return append(all, special(t, h)...)
}

// special are answers to requests for what is not sent unasked.
func special(t *testing.T, h http.Handler) []sample {
	t.Helper()
	var all []sample
	for _, stream := range []bool{false, true} {
		for _, display := range []string{"summarized", "omitted"} {
			c := &chat{provider: "anthropic", model: "claude-opus-4-6"}
			c.first("Where do herons stand?", nil, true)
			c.body["stream"] = stream
			c.body["thinking"].(map[string]any)["display"] = display
			r := post("http://sim/v1/messages", asJSON(c.body), "X-Api-Key", "fake", "Anthropic-Version", "2023-06-01",
				"Anthropic-Beta", "context-management-2025-06-27,thinking-token-count-2026-05-13")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			all = append(all, sampled(t, "anthropic", !stream, w))
		}
		c := &chat{provider: "openai", model: "gpt-5.5"}
		c.first("Where do herons stand?", nil, true)
		c.body["stream"] = stream
		c.body["text"] = map[string]any{"format": map[string]any{"type": "json_schema", "name": "place", "strict": true,
			"schema": map[string]any{
				"type": "object", "properties": map[string]any{"place": map[string]any{"type": "string"}},
				"required": []any{"place"}, "additionalProperties": false}}}
		all = append(all, sampled(t, "openai", !stream, answer(t, h, "POST", c.url(""), asJSON(c.body))))
	}
	return all
}

// sampled is one of our answers.
func sampled(t *testing.T, provider string, document bool, w *httptest.ResponseRecorder) sample {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", provider, w.Code, w.Body)
	}
	r := sample{provider: provider, document: document, header: w.Header(), genuine: true, recent: true}
	r.events, _ = loosely(w.Body.Bytes())
	return r
}

// talkWith is a talk with a model without a script.
func talkWith(t *testing.T, h http.Handler, provider, model string, thinks bool) []sample {
	t.Helper()
	var all []sample
	for _, form := range forms(provider) {
		c := &chat{provider: provider, model: model}
		c.first("Look up \"herons\" and tell me where they stand. Call look_up.", map[string]map[string]any{"look_up": {
			"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}}, thinks)
		for range 2 {
			if provider != "gemini" {
				c.body["stream"] = form == "stream"
			}
			all = append(all, sampled(t, provider, form == "unary", answer(t, h, "POST", c.url(form), asJSON(c.body))))
			if status, unary := c.ask(t, h, "unary"); status != http.StatusOK || !c.next(unary) {
				break
			}
		}
	}
	return all
}

// kindsOf are the kinds of the parts of a chunk.
func kindsOf(e event) string {
	var kinds []string
	for _, c := range e.list("candidates") {
		for _, p := range c.list("content", "parts") {
			kind := "text"
			switch data := slices.DeleteFunc(p.keys(),
				func(k string) bool { return k == "thought" || k == "thoughtSignature" || k == "text" }); {
			case len(data) > 0:
				kind = data[0]
			case p.at("thought") == true:
				kind = "thought"
			case p.str("text") == "":
				kind = "empty text"
			}
			if p.has("thoughtSignature") {
				kind += ", signed"
			}
			kinds = append(kinds, kind)
		}
		if len(kinds) == 0 {
			kinds = append(kinds, "nothing")
		}
		if c.has("finishReason") {
			kinds = append(kinds, "finish")
		}
	}
	return strings.Join(slices.Compact(kinds), " + ")
}
