package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// TestHostedPairing holds that the item of a tool that the provider ran knows
// the reasoning before it, and that from it knows the item that followed.
func TestHostedPairing(t *testing.T) {
	key := seal.NewKey("hosted")
	const ask = `{"model":"gpt-5.5","reasoning":{"effort":"high"},"tools":[{"type":"web_search"}],"input":[{"role":"user","content":"go"}]}`
	post := func(body string) *http.Request {
		r, err := http.NewRequest(http.MethodPost, "http://sim/v1/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer made-up")
		return r
	}
	req, refusal := Parse(post(ask), []byte(ask)).Turn()
	if refusal != nil {
		t.Fatal(refusal)
	}
	for kind, b := range map[string]script.Block{
		"web_search_call":       {Kind: specs.KindSearch, Search: &specs.Search{Query: "herons"}},
		"code_interpreter_call": {Kind: specs.KindCode, Code: &specs.Code{Source: "6"}},
	} {
		req.Form = script.FormUnary
		reply := script.Reply{Request: req, Key: key, At: time.Unix(1, 0),
			Blocks: []script.Block{{Kind: specs.KindThinking}, b, {Kind: specs.KindText, Text: "done"}}}
		var doc struct{ Output []json.RawMessage }
		if err := json.Unmarshal((Provider{}).Frames(reply)[0], &doc); err != nil || len(doc.Output) != 3 {
			t.Fatalf("%v: %s", err, Provider{}.Frames(reply)[0])
		}
		for _, c := range []struct {
			keep []int
			want string
		}{
			{[]int{0, 1, 2}, ""},
			{[]int{1, 2}, "of type '" + kind + "' was provided without its required 'reasoning' item"},
			{[]int{0, 2}, "of type 'reasoning' was provided without its required following item"},
		} {
			input := []string{`{"role":"user","content":"go"}`}
			for _, i := range c.keep {
				input = append(input, string(doc.Output[i]))
			}
			body := strings.Replace(ask, `{"role":"user","content":"go"}`,
				strings.Join(append(input, `{"role":"user","content":"on"}`), ","), 1)
			got := Parse(post(body), []byte(body)).Check(rule.Env{Key: key, Now: time.Unix(1, 0)})
			if c.want == "" && got != nil || c.want != "" && (got == nil || !strings.Contains(got.Message, c.want)) {
				t.Errorf("%s %v: %+v, want %q", kind, c.keep, got, c.want)
			}
		}
	}
}
