package simulator

import (
	"encoding/json"
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
	if err := json.Unmarshal(whole, &reply); err != nil || !strings.Contains(string(reply.Content), `{"citations":[{"type":"char_location"`) {
		t.Fatalf("%v: %s", err, whole)
	}
	again := strings.TrimSuffix(request("false", enabled), "]}") + `,{"role":"assistant","content":` + string(reply.Content) + `},{"role":"user","content":"Thanks."}]}`
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
	const items = `{"role":"user","content":"Say hi."}`
	request := func(threshold, more string) string {
		return `{"model":"gpt-5.2","store":false,"context_management":[{"type":"compaction","compact_threshold":` + threshold + `}],"input":[` + more + `]}`
	}
	h := New(Config{})
	var reply struct{ Output []json.RawMessage }
	whole := answer(t, h, "POST", "/openai/v1/responses", request("10", items)).Body.Bytes()
	if err := json.Unmarshal(whole, &reply); err != nil || len(reply.Output) == 0 {
		t.Fatalf("%v: %s", err, whole)
	}
	compaction := string(reply.Output[len(reply.Output)-1])
	if !strings.Contains(compaction, `"type":"compaction"`) || !strings.Contains(compaction, `"id":"cmp_`) {
		t.Fatalf("the last item is %s", compaction)
	}
	if w := answer(t, h, "POST", "/openai/v1/responses", request("99999", compaction+","+items)); w.Code != 200 || strings.Contains(w.Body.String(), "cmp_") {
		t.Errorf("sent back: %d %s", w.Code, w.Body)
	}
	altered := strings.Replace(compaction, `"encrypted_content":"gAAAAA`, `"encrypted_content":"gAAAAB`, 1)
	if w := answer(t, h, "POST", "/openai/v1/responses", request("99999", altered+","+items)); w.Code != 400 || !strings.Contains(w.Body.String(), "could not be verified") {
		t.Errorf("altered: %d %s", w.Code, w.Body)
	}
	streamed := answer(t, h, "POST", "/openai/v1/responses", strings.Replace(request("10", items), "{", `{"stream":true,`, 1)).Body.String()
	if strings.Count(streamed, `"type":"compaction"`) != 3 { // added, done, completed
		t.Errorf("streamed: %s", streamed)
	}
}
