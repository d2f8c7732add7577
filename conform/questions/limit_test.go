package questions

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// TestWaitOf holds how long status 429 is waited for: as the server says, a second where it says nothing, and not at
// all where the client should not ask again or would wait longer than the patience of a run.
func TestWaitOf(t *testing.T) {
	soon := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	for _, tt := range []struct {
		headers     map[string]string
		least, most time.Duration
	}{
		{nil, time.Second, time.Second},
		{map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{map[string]string{"Retry-After": "0"}, 100 * time.Millisecond, 100 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "7"}, 250 * time.Millisecond,
			250 * time.Millisecond},
		{map[string]string{"Retry-After": soon}, 20 * time.Second, 30 * time.Second},
		{map[string]string{"Retry-After": "120"}, patience, patience},
		{map[string]string{"Retry-After": "121"}, -1, -1},
		{map[string]string{"Retry-After": "1", "X-Should-Retry": "false"}, -1, -1},
		{map[string]string{"Retry-After": "soon"}, time.Second, time.Second},
	} {
		h := http.Header{}
		for name, value := range tt.headers {
			h.Set(name, value)
		}
		if got := waitOf(h); got < tt.least || got > tt.most {
			t.Errorf("%v: waits %v, want %v to %v", tt.headers, got, tt.least, tt.most)
		}
	}
}

// TestCutByTheLimit holds what shows that 16 tokens were not obeyed, or that the reply hides that they were reached.
func TestCutByTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name, text, stop, want string
	}{
		{"cut", "1, 2, 3, 4, 5, 6", "max_tokens", ""},
		{"cut in few numbers", "1, 2, 3", "end_turn", ""},
		{"another short answer", "I would rather not.", "end_turn", ""},
		{"the cut is hidden", "1, 2, 3, 4, 5, 6", "end_turn", "says that it stopped with"},
		{"numbers in lines", "1\n2\n3\n4", "end_turn", "says that it stopped with"},
		{"a long text that hides the cut", strings.Repeat("words ", 10), "end_turn", "says that it stopped with"},
		{"the limit is ignored", strings.Repeat("1, 2, 3, ", 60), "max_tokens", "16 tokens were allowed"},
	} {
		j := &judge{Config: Config{Wire: wires.Find("anthropic")}}
		body := fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, tt.text, tt.stop)
		a := &answer{Answer: &client.Answer{Exchange: evidence.Exchange{Provider: "anthropic",
			Response: evidence.Response{Status: http.StatusOK, Body: []byte(body)}}}}
		a.Reply = a.ReadReply()
		got := ""
		if err := j.isCut(a); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
