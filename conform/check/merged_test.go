package check_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestMaskedTokens: what a recorder put in the place of tokens repeats from session to
// session, and says nothing of the model that issued it.
func TestMaskedTokens(t *testing.T) {
	reply := `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"TOKEN"},{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	next := `{"model":"claude-fable-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"TOKEN"},{"type":"text","text":"ok"}]},{"role":"user","content":"more"}]}`
	for token, found := range map[string]bool{"signature_REDACTED_1": false, "c2lnbmF0dXJlLW5vMDAwMQ==": true} {
		fill := func(s string) string { return strings.Replace(s, "TOKEN", token, 1) }
		tr := recording(asked(0, "anthropic", `{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, 200, fill(reply)),
			asked(1, "anthropic", fill(next), 200, fill(reply)))
		if res := find(t, "SIG-019/own-model").Run(tr); (len(res.Findings) > 0) != found {
			t.Errorf("%s: %+v", token, res)
		}
	}
}

// TestHeadersOfTwoClients: a recording of two clients may keep the headers of one alone;
// a header that the same client sends elsewhere is missing.
func TestHeadersOfTwoClients(t *testing.T) {
	for agent, found := range map[string]bool{"": false, "one/1.0": true} {
		ask := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
		first, second := asked(0, "anthropic", ask, 200, ""), asked(1, "anthropic", ask, 200, "")
		first.Request.Header = http.Header{"Anthropic-Version": {"2023-06-01"}, "User-Agent": {"one/1.0"}}
		second.Request.Header = http.Header{"Content-Type": {"application/json"}}
		if agent != "" {
			second.Request.Header.Set("User-Agent", agent)
		}
		if res := find(t, "PAR-011/headers").Run(recording(first, second)); (len(res.Findings) > 0) != found {
			t.Errorf("%q: %+v", agent, res)
		}
	}
}
