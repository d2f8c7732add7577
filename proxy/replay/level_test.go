package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const (
	responses = "https://api.openai.com/v1/responses"
	generate  = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
	assist    = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
)

// strictest is the first level at which two requests are equal, or levels.
func strictest(url, recorded, now string) Level {
	a, b := asked(recorded), asked(now)
	a.URL, b.URL = url, url
	x, y := formOf(a).withoutVolatile(ruleSet{fields: volatileFields()}),
		formOf(b).withoutVolatile(ruleSet{fields: volatileFields()})
	for l := Exact; l < levels; l++ {
		if x.reduceTo(l).computeDigest() == y.reduceTo(l).computeDigest() {
			return l
		}
	}
	return levels
}

func TestStrictestLevel(t *testing.T) {
	const claude = `{"model":"m","max_tokens":9,"stream":true,"system":"S","tools":[{"name":"f","description":"D"}],"messages":[` +
		`{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a1","name":"f","input":{"x":1,"id":"d"}},{"type":"tool_use","id":"a2","name":"g","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"one"},{"type":"tool_result","tool_use_id":"a2","content":[{"type":"text","text":"two"}],"cache_control":{"type":"ephemeral"}}]}]}`
	const openai = `{"model":"m","instructions":"S","input":[{"role":"developer","content":"D"},{"role":"user","content":"hi"},` +
		`{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}]}`
	const gemini = `{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
		`{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"id":"7"}},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"id":"7"}}}]}]}`
	for name, c := range map[string]struct {
		url, recorded string
		edits         []string // pairs of old and new
		want          Level
	}{
		"same": {endpoint, claude, nil, Exact},
		"volatile": {endpoint, claude,
			[]string{`"stream"`, `"metadata":{"user_id":"u"},"stream"`}, Exact},
		"system edited":    {endpoint, claude, []string{`"S"`, `"T"`}, Anchored},
		"system as blocks": {endpoint, claude, []string{`"S"`, `[{"type":"text","text":"S"}]`}, Anchored},
		"tool text edited": {endpoint, claude, []string{`"D"`, `"E"`}, Anchored},
		"a tool more":      {endpoint, claude, []string{`"tools":[`, `"tools":[{"name":"h"},`}, Anchored},
		"cache mark moved": {endpoint, claude,
			[]string{`,"cache_control":{"type":"ephemeral"}`, ``}, Anchored},
		"ids of calls": {endpoint, claude, []string{`"a1"`, `"z9"`, `"a2"`, `"a1"`}, Anchored},
		"results swapped": {endpoint, claude, []string{`"tool_use_id":"a1"`, `"tool_use_id":"zz"`,
			`"tool_use_id":"a2"`, `"tool_use_id":"a1"`, `"zz"`, `"a2"`}, Nth},
		"user's word":               {endpoint, claude, []string{`"hi"`, `"ho"`}, Nth},
		"tool's argument":           {endpoint, claude, []string{`"x":1`, `"x":2`}, Shape},
		"an id among the arguments": {endpoint, claude, []string{`"id":"d"`, `"id":"e"`}, Shape},
		"tool's result":             {endpoint, claude, []string{`"two"`, `"three"`}, Shape},
		"limit":                     {endpoint, claude, []string{`:9`, `:10`}, Shape},
		"tool's name":               {endpoint, claude, []string{`"name":"g"`, `"name":"h"`}, Nth},
		"failed": {endpoint, claude,
			[]string{`"content":"one"`, `"content":"one","is_error":true`}, Nth},
		"failed or not": {endpoint,
			strings.Replace(claude, `"content":"one"`, `"content":"one","is_error":true`, 1),
			[]string{`true}`, `false}`, `"is_error":true`, `"is_error":false`}, Nth},
		"kind of block": {endpoint, claude, []string{`"type":"thinking"`, `"type":"text"`}, Nth},
		"a turn more": {endpoint, claude,
			[]string{`]}]}`, `]},{"role":"user","content":"and"}]}`}, Nth},
		"model":                {endpoint, claude, []string{`"m"`, `"n"`}, levels},
		"no stream":            {endpoint, claude, []string{`true`, `false`}, levels},
		"openai: instructions": {responses, openai, []string{`"S"`, `"T"`}, Anchored},
		"openai: developer":    {responses, openai, []string{`"D"`, `"E"`}, Anchored},
		"openai: ids":          {responses, openai, []string{`"fc_1"`, `"fc_9"`, `"c1"`, `"c7"`}, Anchored},
		"openai: no id":        {responses, openai, []string{`"id":"fc_1",`, ``}, Nth},
		"openai: output":       {responses, openai, []string{`"x"`, `"y"`}, Shape},
		"openai: text":         {responses, `{"model":"m","input":"a"}`, []string{`"a"`, `"b"`}, Nth},
		"openai: reminder within": {responses, openai, []string{`,{"type":"function_call_output"`,
			`,{"role":"developer","content":"now"},{"type":"function_call_output"`}, Nth},
		"openai: nothing but a prompt": {responses, `{"model":"m","input":[{"role":"developer","content":"D"}]}`,
			[]string{`"D"`, `"E"`}, Shape},
		"openai: earlier word": {responses,
			`{"model":"m","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"input_text","text":"c"}]}]}`, []string{`"a"`, `"A"`, `"b"`, `"B"`}, Shape},
		"openai: last word": {responses,
			`{"model":"m","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"type":"message","role":"user","content":[{"type":"input_text","text":"c"}]},{"type":"reasoning","summary":[]}]}`, []string{`"c"`, `"C"`}, Nth},
		"openai: one message": {responses, `{"model":"m","input":{"role":"user","content":"a"}}`,
			[]string{`"a"`, `"b"`}, Nth},
		"openai: a bare text": {responses, `{"model":"m","input":["a"]}`, []string{`"a"`, `"b"`}, Nth},
		"words beside a result": {endpoint,
			strings.Replace(claude, `{"type":"tool_result","tool_use_id":"a2"`,
				`{"type":"text","text":"now"},{"type":"tool_result","tool_use_id":"a2"`, 1),
			[]string{`"now"`, `"not now"`}, Nth},
		"a result beside words": {endpoint,
			strings.Replace(claude, `{"type":"tool_result","tool_use_id":"a2"`,
				`{"type":"text","text":"now"},{"type":"tool_result","tool_use_id":"a2"`, 1),
			[]string{`"one"`, `"two"`, `"hi"`, `"ho"`}, Shape},
		"an image": {endpoint,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"data":"AA"}}]}]}`,
			[]string{`AA`, `BB`}, Nth},
		"gemini: word": {generate, gemini, []string{`"hi"`, `"ho"`}, Nth},
		"gemini: no role": {generate, `{"contents":[{"parts":[{"text":"hi"}]}]}`,
			[]string{`"hi"`, `"ho"`}, Nth},
		"gemini: system":                {generate, gemini, []string{`"S"`, `"T"`}, Anchored},
		"gemini: id":                    {generate, gemini, []string{`"id":"1"`, `"id":"2"`}, Anchored},
		"gemini: an id in the response": {generate, gemini, []string{`"id":"7"`, `"id":"8"`}, Shape},
		"code assist: session": {assist,
			`{"model":"m","user_prompt_id":"a","request":{"session_id":"s","contents":[]}}`,
			[]string{`"a"`, `"b"`, `"s"`, `"t"`}, Exact},
		"code assist: system": {assist, `{"model":"m","request":{"contents":[],"systemInstruction":1}}`,
			[]string{`:1`, `:2`}, Anchored},
		"code assist: text": {assist, `{"model":"m","request":{"contents":[{"parts":[{"text":"a"}]}]}}`,
			[]string{`"a"`, `"b"`}, Nth},
		"code assist: model": {assist, `{"model":"m","request":{"contents":[]}}`,
			[]string{`"m"`, `"n"`}, levels},
		"no conversation: values": {endpoint, `{"model":"m","a":{"b":[1,"x"]}}`,
			[]string{`1`, `2`, `"x"`, `"y"`}, Nth},
		"no conversation: outline": {endpoint, `{"model":"m","a":1}`, []string{`"a"`, `"b"`}, Nth},
		"not JSON":                 {endpoint, `model=m`, []string{`m`, `n`}, Nth},
	} {
		if got := strictest(c.url, c.recorded, strings.NewReplacer(c.edits...).Replace(c.recorded)); got != c.want {
			t.Errorf("%s: equal at %s, want %s", name, got, c.want)
		}
	}
}

// What is equal at one level is equal at all later ones, so that the levels
// have an order.
func TestLevelsAreOrdered(t *testing.T) {
	block := rapid.Custom(func(r *rapid.T) map[string]any {
		return map[string]any{
			"type":        rapid.SampledFrom([]string{"text", "tool_use"}).Draw(r, "type"),
			"text":        rapid.SampledFrom([]string{"", "a"}).Draw(r, "text"),
			"id":          rapid.SampledFrom([]string{"1", "2"}).Draw(r, "id"),
			"tool_use_id": rapid.SampledFrom([]string{"1", "2"}).Draw(r, "of"),
		}
	})
	turn := rapid.Custom(func(r *rapid.T) map[string]any {
		return map[string]any{"role": rapid.SampledFrom([]string{"system", "user"}).Draw(r, "role"),
			"content": rapid.SliceOfN(block, 0, 2).Draw(r, "content")}
	})
	body := rapid.Custom(func(r *rapid.T) string {
		b, _ := json.Marshal(map[string]any{
			"model": rapid.SampledFrom([]string{"m", "n"}).Draw(r, "model"), "system": rapid.Bool().Draw(r, "system"),
			"metadata": rapid.Bool().Draw(r, "metadata"), "messages": rapid.SliceOfN(turn, 0, 2).Draw(r, "messages"),
		})
		return string(b)
	})
	rapid.Check(t, func(r *rapid.T) {
		x, y := formOf(asked(body.Draw(r, "a"))).withoutVolatile(ruleSet{fields: volatileFields()}),
			formOf(asked(body.Draw(r, "b"))).withoutVolatile(ruleSet{fields: volatileFields()})
		equal := false
		for l := Exact; l < levels; l++ {
			now := x.reduceTo(l).computeDigest() == y.reduceTo(l).computeDigest()
			if equal && !now {
				r.Fatalf("no longer equal at %s:\n%s\n%s", l, x.reduceTo(l).body, y.reduceTo(l).body)
			}
			equal = now
		}
	})
}

// The replayer tries the levels in their order and counts the one it needed. An
// exact answer is never given away while there is one.
func TestLevelsAreTriedInOrder(t *testing.T) {
	say := func(system, word string) string {
		return fmt.Sprintf(`{"model":"m","system":%q,"messages":[{"role":"user","content":%q}]}`, system, word)
	}
	heated := func(t int) string { return fmt.Sprintf(`{"temperature":%d,`, t) + say("S", "a")[1:] }
	p := newReplayer(t, Config{Match: Nth}, pair(heated(0), "1"), pair(say("S", "b"), "2"), pair(say("S", "c"), "3"),
		pair(`{"model":"m","messages":[]}`, "4"))
	for _, c := range []struct{ body, want string }{
		{say("T", "c"), "3"}, {say("S", "b"), "2"}, {heated(1), "1"}, {say("U", "y"), "4"},
	} {
		if w, _ := ask(p, endpoint, c.body); w.Body.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.body, w.Body, c.want)
		}
	}
	got := p.Receipt()
	if want := map[string]int{"exact": 1, "anchored": 1, "shape": 1, "nth": 1}; !maps.Equal(got.Levels, want) ||
		got.Strict || got.RelaxedRequests != 3 {
		t.Errorf("receipt %+v, want levels %v", got, want)
	}
}

// No level is used that was not asked for (pitfall V8).
func TestLooserLevelsAreNotUsed(t *testing.T) {
	for limit := Exact; limit < levels; limit++ {
		p := newReplayer(t, Config{Match: limit},
			pair(`{"model":"m","system":"S","messages":[{"role":"user","content":"a"}]}`, "ok"))
		for l, body := range []string{
			Anchored: `{"model":"m","system":"T","messages":[{"role":"user","content":"a"}]}`,
			Shape:    `{"model":"m","system":"T","top_p":1,"messages":[{"role":"user","content":"a"}]}`,
			Nth:      `{"model":"m","system":"S","messages":[{"role":"user","content":"b"}]}`,
		} {
			if Level(l) <= limit {
				continue
			}
			if w, _ := ask(p, endpoint, body); w.Code != 400 {
				t.Errorf("--match %s answered what is equal at %s only", limit, Level(l))
			}
		}
	}
}

// The n-th request gets the n-th answer, of its model.
func TestNth(t *testing.T) {
	p := newReplayer(t, Config{Match: Nth}, pair(`{"model":"a","n":1}`, "a1"), pair(`{"model":"b","n":1}`, "b1"),
		pair(`{"model":"a","n":2}`, "a2"))
	for _, c := range [][2]string{{`{"model":"a"}`, "a1"}, {`{"model":"a"}`, "a2"}, {`{"model":"b"}`, "b1"}} {
		if w, _ := ask(p, endpoint, c[0]); w.Body.String() != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], w.Body, c[1])
		}
	}
	if w, _ := ask(p, endpoint, `{"model":"a"}`); w.Code != 400 {
		t.Errorf("one more than recorded: %d", w.Code)
	}
}

func TestParseLevel(t *testing.T) {
	for l := Exact; l < levels; l++ {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("%s is %v, %v", l, got, err)
		}
	}
	if _, err := ParseLevel("fuzzy"); err == nil || !strings.Contains(err.Error(), "exact, anchored, shape, nth") {
		t.Errorf("fuzzy: %v", err)
	}
}

// Real conversations: an edited system prompt leaves every one anchored, another
// last word of the user only the n-th.
func TestLevelsOnTraffic(t *testing.T) {
	prompts := map[string]string{"anthropic": "system", "openai": "instructions", "gemini": "systemInstruction"}
	seen := 0
	for i, file := range corpus.Files(t, "*/*/*.request.json") {
		if i%4 != 0 {
			continue // all of them take two seconds
		}
		r, body := recordedRequest(t, file)
		if body == nil {
			continue
		}
		f := formOf(r).withoutVolatile(ruleSet{fields: volatileFields()})
		if f.provider == "" || body["model"] == nil && f.provider != "gemini" {
			continue
		}
		seen++
		body[prompts[f.provider]] = "another prompt altogether"
		if got := levelOf(t, f, r, body); got != Anchored {
			t.Errorf("%s: with another prompt it is equal at %s", file, got)
		}
		if !reword(body) {
			continue
		}
		if got := levelOf(t, f, r, body); got != Nth {
			t.Errorf("%s: with another word it is equal at %s", file, got)
		}
	}
	t.Logf("%d requests", seen)
}

func levelOf(t *testing.T, f form, r cassette.Request, body map[string]any) Level {
	t.Helper()
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	edited := formOf(r).withoutVolatile(ruleSet{fields: volatileFields()})
	for l := Exact; l < levels; l++ {
		if f.reduceTo(l).computeDigest() == edited.reduceTo(l).computeDigest() {
			return l
		}
	}
	return levels
}

func recordedRequest(t *testing.T, file string) (cassette.Request, map[string]any) {
	t.Helper()
	var stored struct {
		Method, URL string
		Body        *string
	}
	if err := json.Unmarshal(readFile(t, file), &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Body == nil {
		return cassette.Request{}, nil
	}
	v, err := decodeJSON([]byte(*stored.Body))
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return cassette.Request{}, nil
	}
	return cassette.Request{Method: stored.Method, URL: stored.URL, Body: []byte(*stored.Body)}, body
}

// reword changes the last text of a conversation's last turn.
func reword(body map[string]any) bool {
	for _, name := range []string{"messages", "input", "contents"} {
		if text, ok := body[name].(string); ok {
			body[name] = text + "!"
			return true
		}
		turns, _ := body[name].([]any)
		if len(turns) == 0 {
			continue
		}
		turn, _ := turns[len(turns)-1].(map[string]any)
		if role, _ := turn["role"].(string); role != "user" {
			return false
		}
		if text, ok := turn["content"].(string); ok {
			turn["content"] = text + "!"
			return true
		}
		for _, name := range []string{"content", "parts"} {
			blocks, _ := turn[name].([]any)
			for _, b := range blocks {
				if block, _ := b.(map[string]any); block["text"] != nil {
					block["text"] = fmt.Sprint(block["text"], "!")
					return true
				}
			}
		}
	}
	return false
}
