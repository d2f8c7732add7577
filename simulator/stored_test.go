package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/simulator/script"
)

// responses asks the stored side of OpenAI.
type responses struct {
	*testing.T
	h http.Handler
}

// ask sends a request and reads the JSON that answers it.
func (r responses) ask(status int, method, path, body string) map[string]any {
	r.Helper()
	w := answer(r.T, r.h, method, "/openai/v1/responses"+path, body)
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != status {
		r.Fatalf("%s %s: %d %s; want %d", method, path, w.Code, w.Body, status)
	}
	return out
}

func (r responses) message(v map[string]any) string {
	e, _ := v["error"].(map[string]any)
	text, _ := e["message"].(string)
	return text
}

func TestStored(t *testing.T) {
	r := responses{t, New(Config{})}
	made := r.ask(200, "POST", "", `{"model":"gpt-5.5","input":"Say \"heron\"."}`)
	id := made["id"].(string)
	if again := r.ask(200, "GET", "/"+id, ""); fmt.Sprint(again) != fmt.Sprint(made) {
		t.Errorf("stored\n%v\nmade\n%v", again, made)
	}
	items := r.ask(200, "GET", "/"+id+"/input_items", "")
	data, _ := items["data"].([]any)
	if first, _ := data[0].(map[string]any); len(data) != 1 || first["role"] != "user" ||
		!strings.HasPrefix(first["id"].(string), "msg_") || items["first_id"] != first["id"] {
		t.Errorf("input items %v", items)
	}
	if got := r.message(r.ask(400, "POST", "/"+id+"/cancel", "")); got != "Cannot cancel a synchronous response." {
		t.Error(got)
	}
	if gone := r.ask(200, "DELETE", "/"+id, ""); gone["deleted"] != true {
		t.Errorf("%v", gone)
	}
	for _, what := range []string{"", "/input_items"} {
		if got := r.message(r.ask(404, "GET", "/"+id+what, "")); got != "Response with id '"+id+"' not found." {
			t.Error(got)
		}
	}
	unkept := r.ask(200, "POST", "", `{"model":"gpt-5.5","input":"x","store":false}`)
	r.ask(404, "GET", "/"+unkept["id"].(string), "")
}

// TestStoredByAccount holds that what one account stored is not there for
// another.
func TestStoredByAccount(t *testing.T) {
	r := responses{t, New(Config{})}
	made := r.ask(200, "POST", "", `{"model":"gpt-5.2","input":"Say \"heron\"."}`)
	id, output := made["id"].(string), made["output"].([]any)
	item := output[len(output)-1].(map[string]any)["id"].(string)
	own := credentials["openai"]
	credentials["openai"] = http.Header{"Authorization": {"Bearer fake@other"}}
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{404, "GET", "/" + id, ""}, {404, "GET", "/" + id + "/input_items", ""}, {404, "DELETE", "/" + id, ""},
		{404, "POST", "/" + id + "/cancel", ""},
		{400, "POST", "", `{"model":"gpt-5.2","input":"x","previous_response_id":"` + id + `"}`},
		{404, "POST", "", `{"model":"gpt-5.2","input":[{"type":"item_reference","id":"` + item +
			`"},{"role":"user","content":"x"}]}`},
	} {
		if got := r.message(r.ask(c.status, c.method, c.path, c.body)); !strings.HasSuffix(strings.TrimRight(got, "."), "not found") {
			t.Errorf("%s %s: %s", c.method, c.path, got)
		}
	}
	credentials["openai"] = own
	r.ask(200, "POST", "", `{"model":"gpt-5.2","input":[{"type":"item_reference","id":"`+item+
		`"},{"role":"user","content":"x"}]}`)
	r.ask(200, "GET", "/"+id, "")
}

// TestInputItems holds that items are given back as the API keeps them: with ids
// and types, complete, a text as a part.
func TestInputItems(t *testing.T) {
	r := responses{t, New(Config{})}
	made := r.ask(200, "POST", "",
		`{"model":"gpt-5.5","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"d"},
		{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"e"}]}]}`)
	list := r.ask(200, "GET", "/"+made["id"].(string)+"/input_items?order=asc", "")
	var got []string
	for _, i := range list["data"].([]any) {
		item := i.(map[string]any)
		id, _, _ := strings.Cut(item["id"].(string), "_")
		got = append(got, fmt.Sprint(item["type"], " ", id, " ", item["status"], " ", asJSON(item["content"])))
	}
	want := []string{
		`message msg completed [{"text":"a","type":"input_text"}]`,
		`message msg completed [{"annotations":[],"logprobs":[],"text":"b","type":"output_text"}]`,
		`function_call fc completed null`, `function_call_output fc completed null`,
		`message msg completed [{"text":"e","type":"input_text"}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("input items\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestResume holds that a stream can be taken up behind any event.
func TestResume(t *testing.T) {
	r := responses{t, New(Config{})}
	whole := answer(t, r.h, "POST", "/openai/v1/responses",
		`{"model":"gpt-5.5","input":"Say \"heron\".","stream":true}`).Body.String()
	all := strings.SplitAfter(whole, "\n\n")
	_, rest, _ := strings.Cut(all[0], `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	for after, want := range map[string]string{"": whole, "&starting_after=0": strings.Join(all[1:], ""),
		"&starting_after=3": strings.Join(all[4:], ""), "&starting_after=999": ""} {
		w := answer(t, r.h, "GET", "/openai/v1/responses/"+id+"?stream=true"+after, "")
		if w.Code != 200 || w.Body.String() != want ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			t.Errorf("%q: %d, %d bytes of %d", after, w.Code, w.Body.Len(), len(want))
		}
	}
	r.ask(400, "GET", "/"+id+"?stream=true&starting_after=x", "")
}

// TestBackground holds that a background response is queued, in progress
// and done, or cancelled.
func TestBackground(t *testing.T) {
	r := responses{t, New(Config{})}
	const body = `{"model":"gpt-5.5","input":"x %d","background":true}`
	made := r.ask(200, "POST", "", fmt.Sprintf(body, 1))
	id := "/" + made["id"].(string)
	statuses := []any{made["status"], r.ask(200, "GET", id, "")["status"], r.ask(200, "GET", id, "")["status"]}
	if got := fmt.Sprint(statuses); got != "[queued in_progress completed]" || len(made["output"].([]any)) != 0 ||
		made["background"] != true {
		t.Errorf("%s: %v", got, made)
	}
	id = "/" + r.ask(200, "POST", "", fmt.Sprintf(body, 2))["id"].(string)
	if got := r.ask(200, "POST", id+"/cancel", "")["status"]; got != "cancelled" {
		t.Errorf("cancel: %v", got)
	}
	for range 3 {
		if got := r.ask(200, "GET", id, "")["status"]; got != "cancelled" {
			t.Errorf("after cancel: %v", got)
		}
	}
}

// TestPrevious holds that previous_response_id continues a conversation.
func TestPrevious(t *testing.T) {
	r := responses{t, New(Config{})}
	const tool = `"tools":[{"type":"function","name":"echo","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]`
	made := r.ask(200, "POST", "", `{"model":"gpt-5.5","input":"Echo \"heron\".",`+tool+`}`)
	var called map[string]any
	for _, o := range made["output"].([]any) {
		if item, _ := o.(map[string]any); item["type"] == "function_call" {
			called = item
		}
	}
	if called["arguments"] != `{"text":"heron"}` {
		t.Fatalf("%v", made)
	}
	next := fmt.Sprintf(`{"model":"gpt-5.5","previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"a heron came back"}],%s}`, made["id"], called["call_id"], tool)
	if got := fmt.Sprint(r.ask(200, "POST", "", next)["output"]); !strings.Contains(got, "The tool echo answered: a heron came back.") {
		t.Error(got)
	}
	got := r.ask(400, "POST", "", `{"model":"gpt-5.5","previous_response_id":"resp_none","input":"x"}`)
	if fmt.Sprint(got["error"].(map[string]any)["code"]) != "previous_response_not_found" {
		t.Errorf("%v", got)
	}
}

// TestEviction holds that the table forgets the oldest, by number and by size.
func TestEviction(t *testing.T) {
	table := newTable()
	of := func(size int) *script.Kept {
		return &script.Kept{Reply: script.Reply{Request: script.Request{Body: make([]byte, size)}}}
	}
	for i := range maxStored + 2 {
		table.put(fmt.Sprint(i), of(1))
	}
	has := func(id string) bool { return table.get(id, "", func(*script.Kept) {}) }
	if has("1") || !has("2") || len(table.byID) != maxStored || table.bytes != maxStored {
		t.Errorf("%d entries of %d bytes; 1 is there: %t", len(table.byID), table.bytes, has("1"))
	}
	table.put("large", of(maxStoredBytes))
	if !has("large") || has("5") || table.bytes > maxStoredBytes {
		t.Errorf("%d entries of %d bytes beside a large one", len(table.byID), table.bytes)
	}
	table.put("large", of(3))
	if table.bytes != 3 || len(table.order) != 1 {
		t.Errorf("replaced: %d bytes, %d in order", table.bytes, len(table.order))
	}
}
