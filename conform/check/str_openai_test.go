package check_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestSummaryBegunAnew: OpenAI gives up a summary at times and begins it anew in the same
// part. Deltas that are lost, sent twice or made up do not look like that.
func TestSummaryBegunAnew(t *testing.T) {
	const head, first, second = "**Herons**\n\nI",
		" see that I look for herons in all the lakes of the land, and start now.",
		" look for herons in the one lake that has them."
	for _, c := range []struct {
		name, kind, done string
		deltas           []string
		found            bool
	}{
		{"begun anew behind its head", "reasoning_summary_text", head + second, []string{head, first, second}, false},
		{"begun anew with its head", "reasoning_summary_text", head + second,
			[]string{head, first, head, second}, false},
		{"as it was", "reasoning_summary_text", head + second, []string{head, second}, false},
		{"a delta is lost", "reasoning_summary_text", head + second, []string{head}, true},
		{"a delta came twice", "reasoning_summary_text", head + second, []string{head, second, second}, true},
		{"all came twice", "reasoning_summary_text", head + second, []string{head, second, head, second}, true},
		{"words were put in", "reasoning_summary_text", head + second, []string{head, " (no)", second}, true},
		{"the end was cut off", "reasoning_summary_text", head, []string{head, first, second}, true},
		{"the second text is another", "reasoning_summary_text", head + second,
			[]string{head, first, strings.ToUpper(second)}, true},
		{"an answer", "output_text", head + second, []string{head, first, second}, true},
	} {
		event := func(rest string) string { return "data: {" + rest + "}\n\n" }
		reply := event(`"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}`)
		for _, d := range c.deltas {
			reply += event(fmt.Sprintf(`"type":"response.%s.delta","output_index":0,"summary_index":0,"delta":%q`,
				c.kind, d))
		}
		reply += event(fmt.Sprintf(`"type":"response.%s.done","output_index":0,"summary_index":0,"text":%q`,
			c.kind, c.done))
		reply += event(`"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}`)
		x := asked(0, "openai", `{"model":"gpt-5.5","stream":true,"input":"hi"}`, 200, reply)
		if res := find(t, "STR-006/deltas").Run(recording(x)); res.Observed != 1 || len(res.Findings) > 0 != c.found {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
}
