package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A reply cites a document whose citations are enabled, streamed and whole; the
// cited text may come back as it was issued.
func TestCitationsWhereAskedFor(t *testing.T) {
	const ask = `{"model":"claude-opus-4-6","max_tokens":999,"stream":%STREAM%,"messages":[{"role":"user","content":[
		{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Herons stand still."},"title":"Birds"%CITED%},{"type":"text","text":"What do they do?"}]}]}`
	request := func(stream, cited string) string {
		return strings.NewReplacer("%STREAM%", stream, "%CITED%", cited).Replace(ask)
	}
	const enabled = `,"citations":{"enabled":true}`
	h := New(Config{})
	streamed := answer(t, h, "POST", "/anthropic/v1/messages", request("true", enabled)).Body.String()
	for _, want := range []string{`"content_block":{"citations":[],"type":"text","text":""}`,
		`"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"Herons stand still.","document_index":0,"document_title":"Birds","start_char_index":0,"end_char_index":19,"file_id":null}}`} {
		if strings.Count(streamed, want) != 1 {
			t.Errorf("%s is not there once in\n%s", want, streamed)
		}
	}
	whole := answer(t, h, "POST", "/anthropic/v1/messages", request("false", enabled)).Body.Bytes()
	var reply struct{ Content json.RawMessage }
	if err := json.Unmarshal(whole, &reply); err != nil ||
		!strings.Contains(string(reply.Content), `{"citations":[{"type":"char_location"`) {
		t.Fatalf("%v: %s", err, whole)
	}
	again := strings.TrimSuffix(request("false", enabled), "]}") + `,{"role":"assistant","content":` +
		string(reply.Content) + `},{"role":"user","content":"Thanks."}]}`
	if w := answer(t, h, "POST", "/anthropic/v1/messages", again); w.Code != 200 {
		t.Errorf("sent back: %s", w.Body)
	}
	if plain := answer(t, h, "POST", "/anthropic/v1/messages", request("true", "")).Body.String(); strings.Contains(plain, "citation") {
		t.Errorf("cites without being asked: %s", plain)
	}
}

// A request that is longer than its threshold gets a compaction item, which stands
// for the conversation and verifies like reasoning does.
func TestCompactionItems(t *testing.T) {
	items := `{"role":"user","content":"Say hi. ` + strings.Repeat("word ", 1000) + `"}`
	request := func(threshold, more string) string {
		return `{"model":"gpt-5.2","store":false,"context_management":[{"type":"compaction","compact_threshold":` +
			threshold + `}],"input":[` + more + `]}`
	}
	h := New(Config{})
	var reply struct{ Output []json.RawMessage }
	whole := answer(t, h, "POST", "/openai/v1/responses", request("1000", items)).Body.Bytes()
	if err := json.Unmarshal(whole, &reply); err != nil || len(reply.Output) == 0 {
		t.Fatalf("%v: %s", err, whole)
	}
	compaction := string(reply.Output[len(reply.Output)-1])
	if !strings.Contains(compaction, `"type":"compaction"`) || !strings.Contains(compaction, `"id":"cmp_`) {
		t.Fatalf("the last item is %s", compaction)
	}
	if w := answer(t, h, "POST", "/openai/v1/responses", request("99999", compaction+","+items)); w.Code != 200 ||
		strings.Contains(w.Body.String(), "cmp_") {
		t.Errorf("sent back: %d %s", w.Code, w.Body)
	}
	altered := strings.Replace(compaction, `"encrypted_content":"gAAAAA`, `"encrypted_content":"gAAAAB`, 1)
	if w := answer(t, h, "POST", "/openai/v1/responses", request("99999", altered+","+items)); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "could not be verified") {
		t.Errorf("altered: %d %s", w.Code, w.Body)
	}
	streamed := answer(t, h, "POST", "/openai/v1/responses",
		strings.Replace(request("1000", items), "{", `{"stream":true,`, 1)).Body.String()
	if strings.Count(streamed, `"type":"compaction"`) != 3 { // added, done, completed
		t.Errorf("streamed: %s", streamed)
	}
}

// A request whose prompt is longer than the trigger is answered behind a compaction
// block, streamed and whole. The totals of the usage leave out what the compaction took.
// Without the beta or the edit, or below the trigger, there is none.
func TestAnthropicCompaction(t *testing.T) {
	long := `{"role":"user","content":"Say hi. ` + strings.Repeat("word ", 50_000) + `"}`
	const edit = `,"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000}}]}`
	request := func(stream bool, edit, messages string) string {
		return fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":999,"stream":%t,"messages":[%s]%s}`, stream,
			messages, edit)
	}
	h := New(Config{})
	send := func(beta, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/anthropic/v1/messages", strings.NewReader(body))
		for name, values := range credentials["anthropic"] {
			r.Header[name] = values
		}
		r.Header.Set("Anthropic-Beta", beta)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	type pass struct {
		Type         string
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	}
	var reply struct {
		Content []json.RawMessage
		Usage   struct {
			InputTokens int `json:"input_tokens"`
			Iterations  []pass
		}
	}
	whole := send("compact-2026-01-12", request(false, edit, long)).Body.Bytes()
	if err := json.Unmarshal(whole, &reply); err != nil || len(reply.Content) < 2 ||
		!strings.HasPrefix(string(reply.Content[0]), `{"type":"compaction","content":"Summary of the conversation`) {
		t.Fatalf("%v: %s", err, whole)
	}
	u := reply.Usage
	if p := u.Iterations; len(p) != 2 || p[0].Type != "compaction" || p[0].InputTokens < 60_000 ||
		p[0].OutputTokens == 0 || p[1].Type != "message" || p[1].InputTokens != u.InputTokens || u.InputTokens > 100 {
		t.Errorf("usage %+v", u)
	}
	streamed := send("compact-2026-01-12", request(true, edit, long)).Body.String()
	summary, _, _ := strings.Cut(strings.TrimPrefix(string(reply.Content[0]), `{"type":"compaction",`),
		`"encrypted_content"`)
	delta := `"index":0,"delta":{"type":"compaction_delta",` + summary + `"encrypted_content":"E`
	if !strings.Contains(streamed, `"index":0,"content_block":{"type":"compaction","content":null}`) ||
		!strings.Contains(streamed, delta) {
		t.Errorf("%s is not in\n%s", delta, streamed)
	}
	content, _ := json.Marshal(reply.Content)
	again := long + `,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":"Thanks."}`
	for name, c := range map[string]struct{ beta, body string }{
		"sent back":         {"compact-2026-01-12", request(false, edit, again)},
		"below the trigger": {"compact-2026-01-12", request(false, edit, `{"role":"user","content":"Say hi."}`)},
		"no edit":           {"compact-2026-01-12", request(false, "", long)},
		"another beta":      {"context-management-2025-06-27", request(false, edit, long)},
	} {
		if w := send(c.beta, c.body); w.Code != 200 || strings.Contains(w.Body.String(), `"compaction"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// A compaction stands for what was said before it: only it and what follows count.
func TestCompactionCounts(t *testing.T) {
	word := strings.Repeat("word ", 5000)
	h := New(Config{})
	count := func(path, body string) int {
		t.Helper()
		w := answer(t, h, "POST", path, body)
		var counted struct {
			InputTokens int `json:"input_tokens"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &counted); err != nil || w.Code != 200 {
			t.Fatalf("%d %v %s", w.Code, err, w.Body)
		}
		return counted.InputTokens
	}
	anthropic := func(block string) int {
		return count("/anthropic/v1/messages/count_tokens",
			`{"model":"claude-opus-4-6","system":"Be brief.","messages":[{"role":"user","content":"`+word+`"},
			{"role":"assistant","content":[`+block+`{"type":"text","text":"a"}]},{"role":"user","content":"b"}]}`)
	}
	if before, after := anthropic(""), anthropic(`{"type":"compaction","content":"short"},`); before < 6000 ||
		after > 100 {
		t.Errorf("anthropic: %d tokens, behind a compaction %d", before, after)
	}
	var reply struct{ Output []json.RawMessage }
	whole := answer(t, h, "POST", "/openai/v1/responses",
		`{"model":"gpt-5.2","store":false,"context_management":[{"type":"compaction","compact_threshold":1000}],"input":"`+word+`"}`).Body.Bytes()
	if err := json.Unmarshal(whole, &reply); err != nil || len(reply.Output) == 0 {
		t.Fatalf("%v: %s", err, whole)
	}
	openai := func(item string) int {
		return count("/openai/v1/responses/input_tokens",
			`{"model":"gpt-5.2","input":[{"role":"user","content":"`+word+`"},`+item+`{"role":"user","content":"b"}]}`)
	}
	if before, after := openai(""), openai(string(reply.Output[len(reply.Output)-1])+","); before < 6000 ||
		after > 300 {
		t.Errorf("openai: %d tokens, behind a compaction %d", before, after)
	}
}
