package anthropic

import (
	"strings"
	"testing"
)

// TestCompactionBinding: a compaction begins the prefix that later thinking is bound to.
// What stands before it may be cut off then; without the compaction, or with another
// one, the thinking behind it is refused. Thinking from before it still verifies.
func TestCompactionBinding(t *testing.T) {
	const edit = `messages.3.content.1: ` + boundElsewhere + needsBeta
	for name, c := range map[string]struct {
		edit     func(*dialogue)
		id, says string
	}{
		"as it was": {func(*dialogue) {}, "", ""},
		"cut off before": {func(d *dialogue) {
			d.body["messages"] = append([]any{fields{"role": "user", "content": "hi"}}, d.messages()[3:]...)
		}, "", ""},
		"edited before": {func(d *dialogue) { d.block(2, 0)["content"] = "cleared" }, "", ""},
		"without it": {func(d *dialogue) { d.cut(3, 0) }, "A-41",
			strings.Replace(edit, "content.1", "content.0", 1)},
		"another summary": {func(d *dialogue) { d.block(3, 0)["content"] = "other" }, "A-41", edit},
		"another token": {func(d *dialogue) {
			d.block(3,
				0)["encrypted_content"] = flip(d.block(3, 0)["encrypted_content"])
		}, "A-41", edit},
		"without its token": {func(d *dialogue) { delete(d.block(3, 0), "encrypted_content") }, "A-41", edit},
		"an altered signature": {func(d *dialogue) { d.block(1, 0)["signature"] = flip(d.block(1, 0)["signature"]) },
			"A-34", "messages.1.content.0: " + wrongSignature},
		"no thinking before it": {func(d *dialogue) { d.cut(1, 0) }, "", ""},
	} {
		d := talk(t, "claude-fable-5-1")
		d.headers = []string{"Anthropic-Beta: " + betaCompact}
		d.messages()[0].(fields)["content"] = strings.Repeat("word ", 50_000)
		d.step(thinks("one"), invokes())
		d.body["context_management"] = fields{"edits": []any{fields{"type": compactEdit,
			"trigger": fields{"type": "input_tokens", "value": leastTrigger}}}}
		d.step(thinks("two"), invokes()).step(thinks("three"), speaks("end"))
		if kind := d.block(3, 0)["type"]; kind != "compaction" || d.block(5, 0)["type"] != "thinking" {
			t.Fatalf("the second reply begins with %v, the third with %v", kind, d.block(5, 0)["type"])
		}
		c.edit(d)
		d.expect(name, c.id, c.says)
	}
}

// TestCompactionTrigger: a threshold that is too small is refused, other edits pass.
func TestCompactionTrigger(t *testing.T) {
	const refused = "context_management.edits.1.compact_20260112: trigger.value must be at least 50000"
	for edit, says := range map[string]string{
		`{"type":"compact_20260112","trigger":{"type":"input_tokens","value":49999}}`:   refused,
		`{"type":"compact_20260112","trigger":{"type":"input_tokens","value":"60000"}}`: refused,
		`{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}`:   "",
		`{"type":"compact_20260112","trigger":null}`:                                    "",
		`{"type":"compact_20260112"}`:                                                   "",
		`{}`:                                                                            "context_management.edits.1.type: Field required",
	} {
		got := check(with(t, `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},`+edit+`]}`),
			"Anthropic-Beta: "+betaCompact)
		if says == "" && got != nil || says != "" && (got == nil || got.Message != says || got.Status != 400) {
			t.Errorf("%s: %v, want %q", edit, got, says)
		}
	}
}
