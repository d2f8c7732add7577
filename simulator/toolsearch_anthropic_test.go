package simulator

import (
	"encoding/json"
	"strings"
	"testing"
)

// A deferred tool is searched for before it is called, once in a conversation. What the
// search found goes back, and its tool stays declared.
func TestDeferredTools(t *testing.T) {
	const search = `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`
	const late = `{"name":"conform_echo","input_schema":{"type":"object","properties":{"text":{"type":"string"}}},"defer_loading":true}`
	const ask = `{"role":"user","content":"Call conform_echo with hi."}`
	h := New(Config{})
	send := func(tools, messages string) (int, string) {
		w := answer(t, h, "POST", "/anthropic/v1/messages",
			`{"model":"claude-opus-4-6","max_tokens":999,"tools":[`+tools+`],"messages":[`+messages+`]}`)
		return w.Code, w.Body.String()
	}
	status, first := send(search+","+late, ask)
	if status != 200 || strings.Count(first, `"type":"tool_reference","tool_name":"conform_echo"`) != 1 ||
		!strings.Contains(first, `"name":"tool_search_tool_bm25","input":{"query":`) {
		t.Fatalf("%d %s", status, first)
	}
	var reply struct {
		Content []struct{ Type, ID string }
	}
	var whole struct{ Content json.RawMessage }
	if json.Unmarshal([]byte(first), &reply) != nil || json.Unmarshal([]byte(first), &whole) != nil ||
		len(reply.Content) < 3 {
		t.Fatal(first)
	}
	id := reply.Content[len(reply.Content)-1].ID
	again := ask + `,{"role":"assistant","content":` + string(whole.Content) +
		`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id +
		`","content":"hi"}]},{"role":"assistant","content":"Done."},{"role":"user","content":"Call conform_echo with ho."}`
	if status, body := send(search+","+late, again); status != 200 || !strings.Contains(body, `"tool_use"`) ||
		strings.Contains(body, "tool_reference") {
		t.Errorf("what is loaded is searched for again: %d %s", status, body)
	}
	for name, c := range map[string]struct{ tools, messages, want string }{
		"all deferred": {late, ask, "All tools have defer_loading set. At least one tool must be non-deferred."},
		"a deferred search": {strings.Replace(search, "}", `,"defer_loading":true}`, 1) +
			`,{"name":"b","input_schema":{"type":"object"}}`, ask, "defer_loading: Extra inputs are not permitted"},
		"not declared": {search + "," + strings.Replace(late, "conform_echo", "conform_other", 1), again,
			"Tool reference 'conform_echo' has no corresponding tool definition"},
	} {
		if status, body := send(c.tools, c.messages); status != 400 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s; want %s", name, status, body, c.want)
		}
	}
	const lookalike = ask +
		`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"conform_echo","input":{"text":{"type":"tool_reference","tool_name":"other"}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"hi"}]}`
	if status, body := send(search+","+late, lookalike); status != 200 {
		t.Errorf("arguments that look like a reference: %d %s", status, body)
	}
	const other = `{"name":"b","input_schema":{"type":"object"}}`
	if status, body := send(late+","+other, strings.Replace(ask, "Call conform_echo with hi.", "Hi.", 1)); status != 200 || strings.Contains(body, `"name":"conform_echo"`) {
		t.Errorf("without a search: %d %s", status, body)
	}
}
