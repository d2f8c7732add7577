package check_test

import (
	"regexp"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// A request that the profile says to be beside the conversation is named as such and is in
// no conversation.
func TestDeclaredSide(t *testing.T) {
	ask := func(body string) evidence.Exchange {
		return evidence.Exchange{Provider: "anthropic",
			Request:  evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages", Body: []byte(body)},
			Response: evidence.Response{Status: 200, Body: []byte(`{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)}}
	}
	ev := evidence.Evidence{Exchanges: []evidence.Exchange{
		ask(`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"billing"},{"type":"text","text":"You are a title generator."}],"messages":[{"role":"user","content":"A title for: birds"}]}`),
		ask(`{"model":"m","max_tokens":9,"system":"You are careful.","messages":[{"role":"user","content":"Name one bird."}]}`),
		ask(`{"model":"m","max_tokens":9,"system":"You are careful.","messages":[{"role":"user","content":"Is this a new topic?"}]}`),
	}}
	ev.Exchanges[1].Index, ev.Exchanges[2].Index = 1, 2
	kinds := func() (list [3]check.Kind) {
		for i, p := range check.Decode(&ev).Placements() {
			list[i] = p.Kind
		}
		return list
	}
	if got := kinds(); got != [3]check.Kind{check.Main, check.Main, check.Main} {
		t.Errorf("undeclared: %q", got)
	}
	ev.Side = []*regexp.Regexp{regexp.MustCompile("^You are a title generator"), regexp.MustCompile("new topic")}
	if got := kinds(); got != [3]check.Kind{check.Title, check.Main, check.Side} {
		t.Errorf("declared: %q", got)
	}
}
