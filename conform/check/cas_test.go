package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
)

// TestRecorded: a miss is a finding that repeats what the replaying proxy said
// is different.
func TestRecorded(t *testing.T) {
	for _, sample := range []string{"anthropic-loop", "openai-loop", "gemini-loop"} {
		ev := samples(t)[sample]
		c := find(t, "CAS-001/recorded")
		if res := c.Run(check.Decode(&ev)); res.Observed == 0 || len(res.Findings) > 0 {
			t.Fatalf("%s: before: %+v", sample, res)
		}
		last := len(ev.Exchanges) - 1
		ev.Exchanges[last].Missed = true
		ev.Exchanges[last].Response.Status = 400
		ev.Exchanges[last].Response.Body = []byte(`{"error":{"message":"it differs in messages[0].content"}}`)
		res := c.Run(check.Decode(&ev))
		if len(res.Findings) != 1 || int(res.Findings[0].Exchange) != ev.Exchanges[last].Index ||
			!strings.Contains(res.Findings[0].Message, "it differs in messages[0].content") ||
			res.Findings[0].Fix == "" {
			t.Errorf("%s: %+v", sample, res.Findings)
		}
	}
}
