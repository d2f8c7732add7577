package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

const keyInWords, secretInWords = "key-of-a-service", "Ab3dEf9hIj2kLm5nOp"

// testMasks know one key beside what stands in words.
func testMasks() []func(cassette.Request) (cassette.Request, bool) {
	newRedactor := func() *redact.Redactor { return redact.New([]byte("k")) }
	return Masks(func(in cassette.Request, r *redact.Redactor) (cassette.Request, bool) {
		out := r.Request(in)
		out.Body = bytes.ReplaceAll(out.Body, []byte(keyInWords), []byte("REDACTEDREDACTED"))
		return out, !bytes.Equal(out.Body, in.Body)
	}, newRedactor)
}

// A request is answered whichever of its secrets were in it when it was recorded.
func TestMasks(t *testing.T) {
	const sent = `{"messages":[{"role":"user","content":"` + keyInWords + ` and API_KEY=` + secretInWords + `"}]}`
	words := string(redact.MaskPseudonyms(redact.New([]byte("k")).Interaction(pair(sent, "")).Request.Body))
	if strings.Contains(words, secretInWords) {
		t.Fatal(words)
	}
	withoutKey := func(s string) string { return strings.ReplaceAll(s, keyInWords, "REDACTEDREDACTED") }
	for name, recorded := range map[string]string{"as sent": sent, "without secrets in words": words, "without the key": withoutKey(sent), "without both": withoutKey(words)} {
		p := newReplayer(t, Config{Masks: testMasks()}, pair(recorded, "yes"))
		if w, _ := ask(p, endpoint, sent+" "); w.Body.String() != "yes" || !p.Receipt().Strict {
			t.Errorf("recorded %s: %s, %+v", name, w.Body, p.Receipt())
		}
	}
}

// A key that was recorded with an exemption is not a difference, and is not shown.
func TestRecordedKeyIsNoDifference(t *testing.T) {
	body := func(words string) string {
		return `{"system":"` + keyInWords + `","messages":[{"role":"user","content":"` + words + `"}]}`
	}
	var said strings.Builder
	p := newReplayer(t, Config{Masks: testMasks(), Log: func(line string) { said.WriteString(line + "\n") }}, pair(body("heron"), "yes"))
	ask(p, endpoint, body("pelican"))
	if got := said.String(); strings.Contains(got, keyInWords) || strings.Contains(got, "system") || !strings.Contains(got, "pelican") {
		t.Error(got)
	}
}
