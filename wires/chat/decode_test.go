package chat_test

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/wire"
)

// describeItems writes items as one short line.
func describeItems(items []wire.Item) string {
	var out []string
	for _, it := range items {
		out = append(out,
			strings.Join(strings.Fields(fmt.Sprintf("%s %q %s %s %s", it.What, it.Text+it.Args, it.ID, it.Name,
				it.Token)), " "))
	}
	return strings.Join(out, "; ")
}

// delta is a chunk with a delta; a finish_reason may follow.
func delta(members string, finish ...string) string {
	reason := "null"
	if finish != nil {
		reason = `"` + finish[0] + `"`
	}
	return `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{` + members + `},"finish_reason":` +
		reason + "}]}\n\n"
}

const done = "data: [DONE]\n\n"

// TestReadStream holds that streams of each known broken kind are read as far as clients read them.
func TestReadStream(t *testing.T) {
	call := func(index, id, name, args string) string {
		return delta(`"tool_calls":[{` + index + id + `"type":"function","function":{` + name + `"arguments":"` +
			args + `"}}]`)
	}
	for _, c := range []struct{ name, body, end, stop, items string }{
		{"whole",
			delta(`"role":"assistant","content":""`) + delta(`"reasoning_content":"hm"`) + delta(`"content":"a"`) + delta(`"content":"b"`, "stop") + done,
			"complete", "stop", `thinking "hm"; text "ab"`},
		{"no DONE", delta(`"content":"a"`, "stop"), "complete", "stop", `text "a"`},
		{"no reason", delta(`"content":"a"`) + done, "complete", "", `text "a"`},
		{"neither", delta(`"content":"a"`), "cut", "", `text "a"`},
		{"two reasons, usage in each chunk, comments",
			": OPENROUTER PROCESSING\n\n" + delta(`"content":"a"`, "stop") + delta(`"content":""`, "stop") +
				`data: {"choices":[],"usage":{"prompt_tokens":1}}` + "\n\n" + done, "complete", "stop", `text "a"`},
		{"parallel calls", call(`"index":0,`, `"id":"x",`, `"name":"f",`, ``) + call(`"index":0,`, ``, ``,
			`{}`) + call(`"index":1,`, `"id":"y",`, `"name":"g",`, `{}`) + delta(``, "tool_calls"),
			"complete", "tool_calls", `tool call "{}" x f; tool call "{}" y g`},
		{"calls without index", call(``, `"id":"x",`, `"name":"f",`, `{`) + call(``, ``, ``, `}`) + call(``,
			`"id":"y",`, `"name":"g",`, `{}`) + delta(``, "tool_calls"),
			"complete", "tool_calls", `tool call "{}" x f; tool call "{}" y g`},
		{"index 0 for all", call(`"index":0,`, `"id":"x",`, `"name":"f",`, `{}`) + call(`"index":0,`, `"id":"y",`,
			`"name":"g",`, `{}`) + delta(``, "tool_calls"),
			"complete", "tool_calls", `tool call "{}" x f; tool call "{}" y g`},
		{"ids repeated", call(`"index":0,`, `"id":"x",`, `"name":"f",`, `{`) + call(`"index":0,`, `"id":"x",`, ``,
			`}`) + delta(``, "tool_calls"),
			"complete", "tool_calls", `tool call "{}" x f`},
		{"an error in the middle", delta(`"content":"a"`) + `data: {"error":{"message":"no"}}` + "\n\n", "failed", "",
			`text "a"`},
		{"null everywhere",
			`data: {"choices":[{"index":null,"delta":{"role":null,"content":null,"tool_calls":null},"finish_reason":null}],"usage":null}` + "\n\n" + delta(``, "stop"),
			"complete", "stop", ``},
		{"details", delta(`"reasoning":"h","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}]`) +
			delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"S"},{"type":"reasoning.encrypted","index":1,"data":"D"}]`, "stop") + done,
			"complete", "stop", `thinking "h" S; redacted thinking "" D`},
		{"thinking chunks",
			delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]`) + delta(`"content":[{"type":"text","text":"a"}]`, "stop"),
			"complete", "stop", `thinking "h"; text "a"`},
		{"thinking in tags", delta(`"content":"<think>\nh"`) + delta(`"content":"m</think>\n\na"`, "stop"), "complete",
			"stop", `thinking "hm"; text "a"`},
		{"a late signature", call(`"index":0,`, `"id":"x",`, `"name":"f",`,
			`{}`) + delta(`"tool_calls":[{"extra_content":{"google":{"thought_signature":"S"}}}]`, "stop"),
			"complete", "stop", `tool call "{}" x f S`},
		{"unary",
			`{"choices":[{"message":{"content":null,"reasoning_content":"h","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			"complete", "tool_calls", `thinking "h"; tool call "{}" x f`},
		{"an error in place of a reply", `{"error":{"message":"no"}}`, "failed", "", ``},
	} {
		r := wire.ReadReply("chat", 200, []byte(c.body))
		if got := describeItems(r.Items); r.End.String() != c.end || r.Stop != c.stop || got != c.items {
			t.Errorf("%s: %s %q\n got %s\nwant %s", c.name, r.End, r.Stop, got, c.items)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add([]byte(delta(`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]`) + done))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"thinking"}],"tool_calls":[{}]}}]}`))
	f.Add([]byte(`data: {"choices":[null,{}],"error":null}` + "\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := wire.ReadReply("chat", 200, body)
		for _, it := range r.Items {
			if it.Place.Off < 0 || it.Place.Off > len(body) || it.Place.Event >= len(r.Events) {
				t.Fatalf("item at byte %d, event %d", it.Place.Off, it.Place.Event)
			}
		}
	})
}

// TestReplay holds that the client sends a streamed reply back so that the decoder reads the same items.
func TestReplay(t *testing.T) {
	stream := delta(`"reasoning_content":"hm"`) + delta(`"content":"a"`) +
		delta(`"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]`,
			"tool_calls") + done
	reply := wire.ReadReply("chat", 200, []byte(stream))
	client := wire.ClientOf("chat")
	history := append([]string{client.Prompt("go")}, client.Replay(reply)...)
	history = append(history, client.Results([]wire.ToolResult{{ID: "x", Name: "f", Text: "1"}})...)
	body := client.Body(&wire.Question{Model: "gpt-5.2", System: "s", Stream: true, MaxTokens: 9}, history)
	q := wire.ReadRequest("chat", "POST", "https://api.openai.com/v1/chat/completions", body)
	if got, want := describeItems(q.Items),
		`text "s"; text "go"; thinking "hm"; text "a"; tool call "{\"a\": 1}" x f; tool result "1" x`; got != want ||
		q.Op != wire.Generate {
		t.Errorf("%s\n got %s\nwant %s", body, got, want)
	}
	if !strings.Contains(string(body), `"max_completion_tokens":9`) {
		t.Errorf("%s: has another limit", body)
	}
}
