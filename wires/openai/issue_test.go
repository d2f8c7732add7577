package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// issued is a response of this provider.
type issued struct {
	ID     string
	Output []json.RawMessage
	Status string
	// Transformations are those of the response to the request.
	Transformations []struct {
		Type, Reason,
		Item_ID string
	} `json:"input_transformations"` //nolint:revive // the wire's name
}

// issue answers a request with blocks.
func issue(t *testing.T, key, request string, form script.Form, blocks ...script.Block) (issued, [][]byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	asked, refusal := Parse(r, []byte(request)).Turn()
	if refusal != nil {
		t.Fatal(refusal)
	}
	asked.Form = form
	frames := Provider{}.Frames(script.Reply{
		Request: asked, Blocks: blocks, Stop: specs.StopEnd, Seed: request, Key: testEnv.Key,
		At: time.Unix(1_795_000_000, 0),
	})
	var out struct {
		issued
		Response issued
	}
	last := frames[len(frames)-1]
	if err := json.Unmarshal(last[max(0, bytes.IndexByte(last, '{')):], &out); err != nil {
		t.Fatalf("%v in %s", err, last)
	}
	if form == script.FormSSE {
		return out.Response, frames
	}
	return out.issued, frames
}

var (
	thinking = script.Block{Kind: specs.KindThinking, Parts: []string{"Hm."}}
	calling  = script.Block{Kind: specs.KindCall, Name: "f", Args: []byte(`{"a":1}`)}
	saying   = script.Block{Kind: specs.KindText, Text: "Done."}
)

const settings = `"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high"},"tools":[{"type":"function","name":"f"}]`

// talk is a conversation: settings beside it, then its items.
func talk(model, beside string, items ...string) string {
	return body(model, settings, beside+`"input":[`+strings.Join(items, ",")+`]`)
}

// edited changes a member of an item; "" drops it.
func edited(t *testing.T, raw json.RawMessage, name, value string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	members[name] = json.RawMessage(value)
	if value == "" {
		delete(members, name)
	}
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func member(t *testing.T, raw json.RawMessage, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	s, _ := members[name].(string)
	return s
}

func answerTo(t *testing.T, call json.RawMessage) string {
	t.Helper()
	return `{"type":"function_call_output","call_id":"` + member(t, call, "call_id") + `","output":"1"}`
}

// TestPairing is the pairing matrix of reference §5.2 and what is around it.
func TestPairing(t *testing.T) {
	kept, _ := issue(t, "test-key", talk("gpt-5.2", "", prompt), script.FormUnary, thinking, calling, thinking, saying)
	gone, _ := issue(t, "test-key", talk("gpt-5.2", `"store":false,`, prompt), script.FormUnary, thinking, calling)
	twice, _ := issue(t, "test-key", talk("gpt-5.2", "", prompt, prompt), script.FormUnary, thinking, calling,
		thinking, calling)
	after, _ := issue(t, "test-key", talk("gpt-5.2", "", prompt, prompt, prompt), script.FormUnary, thinking,
		saying, calling)
	rs, fc, rs2, msg := kept.Output[0], kept.Output[1], kept.Output[2], kept.Output[3]
	rsID, fcID, rs2ID, msgID := member(t, rs, "id"), member(t, fc, "id"), member(t, rs2, "id"), member(t, msg, "id")
	out, callID := answerTo(t, fc), member(t, fc, "call_id")
	bare := func(raw json.RawMessage) string { return edited(t, raw, "id", "") }
	stored := func(items ...string) string { return talk("gpt-5.2", "", append([]string{prompt}, items...)...) }
	unstored := func(items ...string) string {
		return talk("gpt-5.2", `"store":false,`, append([]string{prompt}, items...)...)
	}
	whole := stored(string(rs), string(fc), string(rs2), string(msg), out)
	try(t, []trial{
		{stored(string(rs), string(fc), string(rs2), string(msg), string(msg), out), whole, want{"O-9", 0, "", "input",
			"Duplicate item found with id " + msgID + ". Remove duplicate items from your input and try again."}},
		{stored(string(rs), string(fc), string(rs2), bare(msg), out), whole, want{"O-12", 0, "", "input",
			"Item '" + rs2ID + "' of type 'reasoning' was provided without its required following item."}},
		{stored(string(rs), bare(fc), out),
			unstored(string(gone.Output[0]), bare(gone.Output[1]), answerTo(t, gone.Output[1])),
			want{"O-12", 0, "", "input", "Item '" + rsID +
				"' of type 'reasoning' was provided without its required following item."}},
		{stored(`{"id":"` + msgID + `"}`), whole,
			want{"O-13", 0, "", "input", "Item '" + msgID +
				"' of type 'message' was provided without its required 'reasoning' item: '" + rs2ID + "'."}},
		{stored(string(fc), out), stored(string(after.Output[2]), answerTo(t, after.Output[2])),
			want{"O-13", 0, "", "input", "Item '" + fcID +
				"' of type 'function_call' was provided without its required 'reasoning' item: '" + rsID + "'."}},
		{stored(string(rs), string(fc), string(msg), out), whole,
			want{"O-13", 0, "", "input", "Item '" + msgID +
				"' of type 'message' was provided without its required 'reasoning' item: '" + rs2ID + "'."}},
		{stored(string(rs), string(fc), string(rs2), string(msg)), whole,
			want{"O-10", 0, "", "input", "No tool output found for function call " + callID + "."}},
		{stored(`{"type":"custom_tool_call","call_id":"c","name":"n","input":""}`),
			stored(`{"type":"custom_tool_call","call_id":"c","name":"n","input":""}`,
				`{"type":"custom_tool_call_output","call_id":"c","output":""}`),
			want{"O-10", 0, "", "input", "No tool output found for custom tool call c."}},
		{stored(`{"type":"local_shell_call","call_id":"c","action":{}}`),
			stored(`{"type":"shell_call","call_id":"c","action":{},"environment":{"type":"container_reference"}}`),
			want{"O-10", 0, "", "input", "No tool output found for local shell call c."}},
		{stored(`{"type":"shell_call","call_id":"c","action":{}}`, prompt,
			`{"type":"shell_call_output","call_id":"d","output":[]}`),
			stored(`{"type":"tool_search_call","call_id":"c","execution":"server","arguments":{}}`),
			want{"O-10", 0, "", "input", "No tool output found for shell call c."}},
		{stored(`{"type":"shell_call_output","call_id":"c","output":[]}`),
			stored(`{"type":"shell_call","call_id":"c","action":{}}`,
				`{"type":"shell_call_output","call_id":"c","output":[]}`),
			want{"O-11", 0, "", "input", "No tool call found for shell call output with call_id c."}},
		{stored(out), talk("gpt-5.2", `"previous_response_id":"`+kept.ID+`",`, out),
			want{"O-11", 0, "", "input", "No tool call found for function call output with call_id " + callID + "."}},
		{stored(string(rs), string(fc), string(rs2), string(msg), out, out), whole,
			want{"OAI-P6", 0, "", "input", "Duplicate function_call_output for call_id '" + callID + "'."}},
		{unstored(bare(gone.Output[0]), prompt),
			unstored(bare(gone.Output[0]), bare(gone.Output[1]), answerTo(t, gone.Output[1])),
			want{"O-12", 0, "", "input",
				"Item '' of type 'reasoning' was provided without its required following item."}},
		{unstored(bare(rs2), bare(msg)), unstored(bare(rs), bare(fc), out, bare(rs2), bare(msg)),
			want{"O-12", 0, "", "input", "Item '" + rs2ID + "' of type 'reasoning'"}},
		{unstored(bare(rs2), bare(msg), bare(rs), bare(fc), out), unstored(bare(rs), bare(fc), bare(rs2), bare(msg),
			out), want{"O-12", 0, "", "input", "Item '" + rs2ID + "' of type 'reasoning'"}},
		{unstored(bare(rs), bare(fc), out), unstored(bare(fc), out),
			want{"O-12", 0, "", "input", "Item '" + rsID + "' of type 'reasoning'"}},
		{unstored(bare(rs), bare(fc), out, prompt, string(gone.Output[0]), string(gone.Output[1]),
			answerTo(t, gone.Output[1])),
			unstored(bare(fc), out, prompt, string(gone.Output[0]), string(gone.Output[1]),
				answerTo(t, gone.Output[1])), want{"O-12", 0, "", "input", "Item '" + rsID + "' of type 'reasoning'"}},
		{stored(string(rs), string(twice.Output[1]), answerTo(t, twice.Output[1])), whole,
			want{"O-12", 0, "", "input", "Item '" + rsID + "' of type 'reasoning'"}},
		{stored(string(twice.Output[0]), string(twice.Output[3]), answerTo(t, twice.Output[3])),
			stored(string(after.Output[0]), string(after.Output[1]), string(after.Output[2]),
				answerTo(t, after.Output[2])),
			want{"O-12", 0, "", "input", "Item '" + member(t, twice.Output[0], "id") + "' of type 'reasoning'"}},
		{unstored(edited(t, gone.Output[0], "encrypted_content", ""), string(gone.Output[1]),
			answerTo(t, gone.Output[1])), stored(edited(t, rs, "encrypted_content", ""), string(fc), out),
			want{"O-14", 404, "", "input", "Item with id '" + member(t, gone.Output[0], "id") +
				"' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."}},
		{stored(edited(t, rs, "content", `[{"type":"reasoning_text","text":"Hm."}]`), string(fc), string(rs2),
			string(msg), out), whole, want{"O-17", 0, "array_above_max_length", "input[1].content",
			"Invalid 'input[1].content': array too long. Expected an array with maximum length 0, but got an array with length 1 instead."}},
		{unstored(`{"type":"image_generation_call","id":"ig_x","status":"failed","result":null}`),
			unstored(`{"type":"image_generation_call","id":"ig_x","status":"completed","result":"aQ=="}`),
			want{"O-14", 404, "", "input",
				"Item with id 'ig_x' not found. Items are not persisted when `store` is set to false."}},
		{stored(`{"type":"item_reference","id":"msg_x"}`), stored(`{"id":"`+rs2ID+`"}`, `{"id":"`+msgID+`"}`),
			want{"O-14", 404, "", "input", "Item with id 'msg_x' not found."}},
		{talk("gpt-5.2", `"previous_response_id":"resp_x",`, prompt),
			talk("gpt-5.2", `"previous_response_id":"`+kept.ID+`",`, prompt),
			want{"O-25", 0, "previous_response_not_found", "previous_response_id",
				"Previous response with id 'resp_x' not found."}},
		{talk("gpt-5.2", `"previous_response_id":"`+gone.ID+`",`, prompt),
			talk("gpt-5.2", `"previous_response_id":"`+kept.ID+`",`, prompt),
			want{"O-25", 0, "previous_response_not_found", "previous_response_id",
				"Previous response with id '" + gone.ID + "' not found."}},
		{talk("gpt-5.2", `"conversation":"conv_1","previous_response_id":"`+kept.ID+`",`, prompt),
			talk("gpt-5.2", `"conversation":"conv_1",`, prompt),
			want{"O-26", 0, "mutually_exclusive_parameters", "previous_response_id",
				"Mutually exclusive parameters: "}},
	})
	zdr := ask(testEnv, "test-key@zdr", stored(`{"id":"msg_x"}`))
	want{"O-14", 404, "", "input",
		"Item with id 'msg_x' not found. Items are not persisted for Zero Data Retention organizations."}.compare(t,
		zdr)
	unkept, _ := issue(t, "test-key@zdr", talk("gpt-5.2", "", prompt), script.FormUnary, saying)
	id := member(t, unkept.Output[0], "id")
	want{"O-14", 404, "", "input", "Item with id '" + id + "' not found."}.compare(t,
		ask(testEnv, "test-key@zdr", stored(`{"id":"`+id+`"}`)))
	if got := ask(testEnv, "test-key",
		talk("gpt-5.2", `"previous_response_id":"`+kept.ID+`",`, prompt, string(rs), string(fc),
			`{"type":"function_call_output","call_id":"other","output":""}`, out)); got == nil || got.Rule != "O-11" {
		t.Errorf("an orphan beside the whole conversation: %v", got)
	}
}

// TestSeals holds that whatever is done to an encrypted content shows.
func TestSeals(t *testing.T) {
	response, frames := issue(t, "test-key", talk("gpt-5.2", `"store":false,`, prompt), script.FormSSE,
		thinking, calling)
	other, _ := issue(t, "test-key", talk("gpt-5.2", "", prompt), script.FormUnary, saying, thinking, calling)
	rs, fc := response.Output[0], response.Output[1]
	id, token := member(t, rs, "id"), member(t, rs, "encrypted_content")
	replay := func(model, rs string) string {
		return talk(model, `"store":false,`, prompt, rs, edited(t, fc, "id", ""), answerTo(t, fc))
	}
	seal := func(token string) string { return edited(t, rs, "encrypted_content", `"`+token+`"`) }
	flipped := []byte(token)
	flipped[len(token)/2] ^= 1
	named := "The encrypted content for item " + id + " could not be verified. Reason: "
	parsed, target := named+"Encrypted content could not be decrypted or parsed.",
		named+"Encrypted content item_id did not match the target item id."
	otherID := member(t, other.Output[1], "id")
	refused := func(message string) want { return want{"O-15", 0, "invalid_encrypted_content", "", message} }
	passes := replay("gpt-5.2", string(rs))
	try(t, []trial{
		{replay("gpt-5.2", seal(string(flipped))), passes, refused(parsed)},
		{replay("gpt-5.2", seal(token[:len(token)-24])), passes, refused(parsed)},
		{replay("gpt-5.2", seal("gAAAAABforeign")), passes, refused(parsed)},
		{replay("gpt-5.2", seal("")), passes, refused(parsed)},
		{replay("gpt-5.2", seal(member(t, other.Output[1], "encrypted_content"))), passes, refused(target)},
		{replay("gpt-5.2", edited(t, rs, "id", `"`+otherID+`"`)), replay("gpt-5.2", edited(t, rs, "id", "")),
			refused("The encrypted content for item " + otherID +
				" could not be verified. Reason: Encrypted content item_id did not match the target item id.")},
		{replay("gpt-5.2", edited(t, json.RawMessage(seal(string(flipped))), "id", "")), passes,
			refused("The encrypted content gAAA..." + token[len(token)-4:] + " could not be verified.")},
		{replay("gpt-5.5", string(rs)), replay("gpt-5.2-2025-12-11", string(rs)), refused(parsed)},
		{replay("gpt-5.2", `{"type":"compaction","encrypted_content":"gAAA"}`), passes,
			refused("The encrypted content gAAA could not be verified.")},
	})
	refused(parsed).compare(t, ask(testEnv, "test-key@other", passes))
	foreign := rule.Env{Key: testEnv.Key, ForeignTokens: true}
	if got := ask(foreign, "test-key", replay("gpt-5.2", seal("gAAAAABforeign"))); got != nil {
		t.Errorf("foreign seals are to be accepted: %v", got)
	}
	refused(strings.Replace(target, id, otherID, 1)).compare(t,
		ask(foreign, "test-key", replay("gpt-5.2", edited(t, rs, "id", `"`+otherID+`"`))))

	tokens := sealsOf(t, frames)
	if len(tokens) != 3 || len(slices.Compact(slices.Sorted(slices.Values(tokens)))) != 3 ||
		len(tokens[0]) >= len(tokens[1]) {
		t.Fatalf("added, done and completed show %d strings, the first not shorter", len(tokens))
	}
	for i, token := range tokens {
		if got := ask(testEnv, "test-key", replay("gpt-5.2", seal(token))); got != nil {
			t.Errorf("string %d does not verify: %v", i, got)
		}
	}
}

// sealsOf are the encrypted contents of a stream in order.
func sealsOf(t *testing.T, frames [][]byte) (tokens []string) {
	t.Helper()
	for _, frame := range frames {
		_, rest, found := strings.Cut(string(frame), `"encrypted_content":"`)
		if token, _, ok := strings.Cut(rest, `"`); found && ok {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// TestPrefixBinding is rule OAI-B1: nothing is refused, thoughts are dropped.
func TestPrefixBinding(t *testing.T) {
	const model = "gpt-6-sol"
	first, _ := issue(t, "test-key", talk(model, "", `{"role":"user","content":"hi"}`), script.FormUnary,
		thinking, calling)
	rs, fc := string(first.Output[0]), string(first.Output[1])
	id := member(t, first.Output[0], "id")
	out := answerTo(t, first.Output[1])
	for _, c := range []struct {
		name, request string
		dropped       bool
	}{
		{"as it was", talk(model, "", prompt, rs, fc, out), false},
		{"spelt otherwise", talk(model, "",
			`{"content":[{"text":"hi","type":"input_text"}], "role":"user","type":"message"}`, rs, fc, out), false},
		{"more at the end", talk(model, "", prompt, rs, fc, out, `{"role":"developer","content":"be brief"}`), false},
		{"another prompt", talk(model, "", `{"role":"user","content":"ho"}`, rs, fc, out), true},
		{"something before", talk(model, "", `{"role":"system","content":"x"}`, prompt, rs, fc, out), true},
		{"another tool", strings.Replace(talk(model, "", prompt, rs, fc, out), `"name":"f"`, `"name":"g"`, 1), true},
		{"another format", talk(model,
			`"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}},`, prompt, rs, fc, out),
			true},
	} {
		if got := ask(testEnv, "test-key", c.request); got != nil {
			t.Errorf("%s: %v", c.name, got)
		}
		next, _ := issue(t, "test-key", c.request, script.FormUnary, saying)
		if got := next.Transformations; len(got) > 0 != c.dropped ||
			c.dropped && (got[0].Item_ID != id || got[0].Reason != "prefix_mismatch") {
			t.Errorf("%s: %+v, dropped must be %t", c.name, got, c.dropped)
		}
	}
	long, _ := issue(t, "test-key", talk(model, "", prompt), script.FormUnary, thinking, calling, thinking, saying)
	again, _ := issue(t, "test-key", talk(model, "", prompt, string(long.Output[0]), string(long.Output[1]),
		string(long.Output[2]), string(long.Output[3]), answerTo(t, long.Output[1])), script.FormUnary, saying)
	if again.Transformations != nil {
		t.Errorf("two thoughts of one reply: %+v", again.Transformations)
	}
	older, _ := issue(t, "test-key", talk("gpt-5.5", "", `{"role":"user","content":"other"}`), script.FormUnary,
		thinking, calling)
	next, _ := issue(t, "test-key", talk("gpt-5.5", "", prompt, string(older.Output[0]), string(older.Output[1]),
		answerTo(t, older.Output[1])), script.FormUnary, saying)
	if next.Transformations != nil {
		t.Errorf("a model that does not bind: %+v", next.Transformations)
	}
}

func TestModels(t *testing.T) {
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
		}
	}
	if err := json.Unmarshal(Models(), &list); err != nil || list.Object != "list" {
		t.Fatal(list.Object, err)
	}
	for _, m := range list.Data {
		one, ok := Model(m.ID)
		if !ok || !bytes.Contains(one, []byte(`"id":"`+m.ID+`"`)) || m.Object != "model" || m.Created == 0 {
			t.Errorf("%+v: %s", m, one)
		}
	}
	if len(list.Data) != len(models) {
		t.Errorf("%d models, %d listed", len(models), len(list.Data))
	}
	if _, ok := Model("gpt-9"); ok {
		t.Error("serves gpt-9")
	}
}

// TestIDs holds that an id tells what it was issued for, and no other does.
func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place{
			prefix: rapid.SampledFrom([]string{prefixResponse, prefixReasoning, prefixMessage, prefixCall}).Draw(t,
				"prefix"),
			next: rapid.SampledFrom(prefixes).Draw(t, "next"), stored: rapid.Bool().Draw(t, "stored"),
			ordinal: rapid.Uint8().Draw(t, "ordinal"), run: rapid.Uint8Max(15).Draw(t, "run"),
			reply:   [13]byte(rapid.SliceOfN(rapid.Byte(), 13, 13).Draw(t, "reply")),
			account: rapid.SampledFrom([]string{"", "other"}).Draw(t, "account"),
		}
		id := p.signID(testEnv.Key)
		if got, ok := openID(testEnv.Key, id, p.account); !ok || got != p || len(id) != len(p.prefix)+50 {
			t.Fatalf("%s: %+v %t, want %+v", id, got, ok, p)
		}
		next := p
		next.ordinal, next.prefix = p.ordinal+1, p.next
		elsewhere, later := next, next
		elsewhere.reply[0]++
		later.ordinal++
		if !next.follows(p) || elsewhere.follows(p) || later.follows(p) || p.follows(p) {
			t.Fatalf("%+v: what follows is %t, in another reply %t, later %t", p, next.follows(p), elsewhere.follows(p),
				later.follows(p))
		}
		at := rapid.IntRange(len(p.prefix), len(id)-1).Draw(t, "at")
		other := []byte(id)
		other[at] = "0123456789abcdef0"[strings.IndexByte("0123456789abcdef", id[at])+1]
		if _, ok := openID(testEnv.Key, string(other), p.account); ok {
			t.Fatalf("%s passes for %s", other, id)
		}
		if _, ok := openID(testEnv.Key, id, p.account+"x"); ok {
			t.Fatalf("%s passes for one of another account", id)
		}
	})
}
