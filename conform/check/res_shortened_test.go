package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// TestShortenedAfterTooLong: what was too long may be sent without a part of it, but by
// nothing else may a history change.
func TestShortenedAfterTooLong(t *testing.T) {
	const (
		tooLong    = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
		overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
		answer     = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"thinking","thinking":"Birds.","signature":"c2lnbmF0dXJlLW9mLWEtdGhvdWdodA=="},{"type":"text","text":"A heron is a bird of the water."}],"stop_reason":"end_turn"}`
		after      = `{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn"}`
		reply      = `,{"role":"assistant","content":[{"type":"thinking","thinking":"Birds.","signature":"c2lnbmF0dXJlLW9mLWEtdGhvdWdodA=="},{"type":"text","text":"A heron is a bird of the water."}]},`
	)
	request := func(prompt, more string) string {
		return `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"` + prompt + `"}` +
			more + `]}`
	}
	long, next := strings.Repeat("Tell me of herons. ", 20), reply+`{"role":"user","content":"Is it one?"}`
	for name, c := range map[string]struct {
		refusal string
		status  int
		later   string
		want    int
	}{
		"a part is left out":          {tooLong, 400, request("(left out)", next), 0},
		"it was not too long":         {overloaded, 529, request("(left out)", next), 1},
		"it is longer than before":    {tooLong, 400, request("I told you of herons. "+long, next), 1},
		"as it was, with the refusal": {tooLong, 400, request(long, next), 0},
	} {
		ev := recording(
			asked(0, evidence.Anthropic, request(long, ""), 200, answer),
			asked(1, evidence.Anthropic, request(long, next), c.status, c.refusal),
			asked(2, evidence.Anthropic, c.later, 200, after))
		if res := find(t, "RES-003/history").Run(ev); len(res.Findings) != c.want {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}
