package recorder_test

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// completions counts the replies whose ids the next one must not repeat.
var completions atomic.Int64

// completion is a reply of Chat Completions with what its servers do: comments to keep the connection open, odd
// white space, reasoning, pieces of a call, usage behind the end. A body that says fresh is answered with new ids.
func completion(body, authorization string) string {
	id := "1"
	if strings.Contains(body, "fresh") {
		id = fmt.Sprint(completions.Add(1))
	}
	chunk := func(choices, more string) string {
		return fmt.Sprintf(`data: {"id":"chatcmpl-%s","object":"chat.completion.chunk",  "created":179000000%s,`+
			`"model":"m-1","choices":[%s]%s}`+"\n\n", id, id, choices, more)
	}
	said, rest := "", ""
	if strings.Contains(body, "reflect") {
		said, rest = authorization[:24], authorization[24:]
	}
	delta := func(text string) string { return chunk(`{"index":0,"delta":{`+text+`},"finish_reason":null}`, "") }
	return ": OPENROUTER PROCESSING\n\n" +
		delta(`"role":"assistant","content":null,"reasoning_content":"Caf\u00e9 né. `+said+`"`) +
		delta(`"reasoning_content":"`+rest+`"`) +
		delta(`"tool_calls":[{"index":0,"id":"call_`+id+`","type":"function",`+
			`"function":{"name":"read_file","arguments":""}}]`) +
		delta(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`) +
		chunk(`{"index":0,"delta":{},"finish_reason":"tool_calls"}`, `,"usage":null`) +
		chunk("", `,"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}`) +
		"data: [DONE]\r\n\r\n"
}
