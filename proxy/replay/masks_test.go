package replay

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

const keyInWords, secretInWords = "key-of-a-service", "Ab3dEf9hIj2kLm5nOp"

var keysInWords = regexp.MustCompile(`key-of-[ab]-service`)

// testMasks know two keys beside what stands in words.
func testMasks() Masks {
	newRedactor := func() *redact.Redactor { return redact.New([]byte("k")) }
	return NewMasks(func(in cassette.Request, r *redact.Redactor) (cassette.Request, bool) {
		out := r.Request(in)
		out.Body = keysInWords.ReplaceAll(out.Body, []byte("REDACTEDREDACTED"))
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

// A build that knew fewer secrets left some beside pseudonyms. Each of its interactions answers
// once, and a request that differs in more than secrets is not answered.
func TestRecordedWithFewerSecrets(t *testing.T) {
	const sent = `{"messages":[{"role":"user","content":"API_KEY=` + secretInWords + `\nDB_PASSWORD=\"Summer2024!\""}]}`
	recorded := strings.Replace(sent, secretInWords, "REDACTED8ZbtpoFlsY", 1)
	p := newReplayer(t, Config{Masks: testMasks()}, pair(recorded, "yes"))
	if w, _ := ask(p, endpoint, strings.Replace(sent, "DB_", "MY_", 1)); w.Body.String() == "yes" {
		t.Errorf("another request was answered")
	}
	if w, _ := ask(p, endpoint, sent); w.Body.String() != "yes" || len(p.Receipt().Relaxed) > 0 {
		t.Errorf("%s, %+v", w.Body, p.Receipt())
	}
	if w, _ := ask(p, endpoint, sent); w.Body.String() == "yes" {
		t.Errorf("answered twice")
	}
}

// A key that was recorded with an exemption stays one when secrets in words beside it do not.
func TestExemptKeyBesideFewerSecrets(t *testing.T) {
	body := func(key, secret string) string {
		return `{"messages":[{"role":"user","content":"` + key + ` API_KEY=` + secret + ` DB_PASSWORD=\"Summer2024!\""}]}`
	}
	recorded := body(keyInWords, "REDACTED8ZbtpoFlsY")
	for key, isAnswered := range map[string]bool{keyInWords: true, "key-of-b-service": false} {
		p := newReplayer(t, Config{Masks: testMasks()}, pair(recorded, "yes"))
		if w, _ := ask(p, endpoint, body(key, secretInWords)); (w.Body.String() == "yes") != isAnswered {
			t.Errorf("%s: %s", key, w.Body)
		}
	}
}

// An interaction that is given back answers again before the one after it.
func TestMaskedRelease(t *testing.T) {
	const sent = `{"messages":[{"role":"user","content":"API_KEY=` + secretInWords + `\nDB_PASSWORD=\"Summer2024!\""}]}`
	recorded := strings.Replace(sent, secretInWords, "REDACTED8ZbtpoFlsY", 1)
	p := newReplayer(t, Config{Masks: testMasks()}, pair(recorded, "first"), pair(recorded, "second"))
	key := p.newLookup(httptest.NewRequest(http.MethodPost, endpoint, nil), []byte(sent)).maskedLookup(0).levelKey(Exact)
	if found := p.index.acquire(Exact, key); found.reason != missUnknown {
		t.Fatalf("%+v", found)
	}
	first, second := p.index.acquireMasked(Exact, key), p.index.acquireMasked(Exact, key)
	p.index.release(first.at)
	if third := p.index.acquireMasked(Exact, key); first.reason != "" || second.at != 1 || third.at != first.at || third.reason != "" {
		t.Errorf("%+v, %+v, %+v", first, second, third)
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
