package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// TestCopiedSignature holds what a signature on another call of its reply leads to: one
// that was copied is taken by the API, one that was moved is not.
func TestCopiedSignature(t *testing.T) {
	const (
		signedA = `{"functionCall": {"name": "read_a", "args": {}}, "thoughtSignature": "c2lnbmF0dXJl"}`
		bareA   = `{"functionCall": {"name": "read_a", "args": {}}}`
		signedB = `{"functionCall": {"name": "read_b", "args": {}}, "thoughtSignature": "c2lnbmF0dXJl"}`
		bareB   = `{"functionCall": {"name": "read_b", "args": {}}}`
		resultA = `{"functionResponse": {"name": "read_a", "response": {"output": "42 lines"}}}`
		resultB = `{"functionResponse": {"name": "read_b", "response": {"output": "7 lines"}}}`
		between = `]}, {"role": "user", "parts": [` + resultA + `]}, {"role": "model", "parts": [`
		prompt  = `{"contents": [{"role": "user", "parts": [{"text": "Read both files."}]}`
	)
	r, err := specs.FindRequirement("SIG-016")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sent, results, message string
		want                   specs.Consequence // "" for that of the requirement
	}{
		"copied": {signedA + ", " + signedB, resultA + ", " + resultB,
			"is copied to another call of the reply, read_b, which came without one", specs.Degraded},
		"copied and split": {signedA + between + signedB, resultB,
			"is copied to another call of the reply, read_b, which came without one", specs.Degraded},
		"moved":      {bareA + ", " + signedB, resultA + ", " + resultB, "is sent on another call, read_b", ""},
		"as it came": {signedA + ", " + bareB, resultA + ", " + resultB, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ev := evidence.FromExample(r, specs.Example{Provider: "gemini", Model: "gemini-3-flash-preview",
				Exchanges: []specs.ExampleExchange{
					{Request: prompt + "]}", Reply: `{"candidates": [{"content": {"role": "model", "parts": [` +
						signedA +
						", " + bareB +
						`]}, "finishReason": "STOP", "index": 0}], "modelVersion": "gemini-3-flash-preview", "responseId": "r1"}`},
					{Request: prompt + `, {"role": "model", "parts": [` + c.sent + `]}, {"role": "user", "parts": [` +
						c.results + `]}]}`},
				}})
			findings := find(t, "SIG-016/same-part").Run(check.Decode(&ev)).Findings
			if len(findings) == 0 && c.message == "" {
				return
			}
			if len(findings) != 1 || c.message == "" || !strings.Contains(findings[0].Message, c.message) ||
				findings[0].Consequence != c.want {
				t.Errorf("got %+v, want one that %q, %q", findings, c.message, c.want)
			}
		})
	}
}
