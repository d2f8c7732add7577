package replay

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

const keyInWords, secretInWords = "key-of-a-service", "Ab3dEf9hIj2kLm5nOp"

var keysInWords = regexp.MustCompile(`key-of-[ab]-service`)

// maskKeys takes two keys out of a request.
func maskKeys(in cassette.Request) cassette.Request {
	in.Body = keysInWords.ReplaceAll(in.Body, []byte("REDACTEDREDACTED"))
	return in
}

// A request is answered whichever of its secrets were in it when it was recorded.
func TestRecordedWithOtherSecrets(t *testing.T) {
	const sent = `{"messages":[{"role":"user","content":"` + keyInWords + ` and API_KEY=` + secretInWords + `"}]}`
	words := string(redact.New([]byte("k")).Interaction(pair(sent, "")).Request.Body)
	if strings.Contains(words, secretInWords) {
		t.Fatal(words)
	}
	withoutKey := func(s string) string { return strings.ReplaceAll(s, keyInWords, "REDACTEDREDACTED") }
	for name, recorded := range map[string]string{"as sent": sent, "without secrets in words": words, "without the key": withoutKey(sent), "without both": withoutKey(words)} {
		p := newReplayer(t, Config{Mask: maskKeys}, pair(recorded, "yes"))
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
	p := newReplayer(t, Config{Mask: maskKeys}, pair(recorded, "yes"))
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
		p := newReplayer(t, Config{Mask: maskKeys}, pair(recorded, "yes"))
		if w, _ := ask(p, endpoint, body(key, secretInWords)); (w.Body.String() == "yes") != isAnswered {
			t.Errorf("%s: %s", key, w.Body)
		}
	}
}

// A key that was recorded with an exemption is not a difference, and is not shown.
func TestRecordedKeyIsNoDifference(t *testing.T) {
	body := func(words string) string {
		return `{"system":"` + keyInWords + `","messages":[{"role":"user","content":"` + words + `"}]}`
	}
	var said strings.Builder
	p := newReplayer(t, Config{Mask: maskKeys, Log: func(line string) { said.WriteString(line + "\n") }}, pair(body("heron"), "yes"))
	ask(p, endpoint, body("pelican"))
	if got := said.String(); strings.Contains(got, keyInWords) || strings.Contains(got, "system") || !strings.Contains(got, "pelican") {
		t.Error(got)
	}
}

// A recorder takes a secret that it learns out of earlier requests, too, where a replayer does not
// know it yet. A pseudonym stands for one word as long as itself, the same one everywhere.
func TestSecretThatWasLearntLater(t *testing.T) {
	const pseudonym = "REDACTEDb2C3d4E5f6G7"
	said := func(words string) string {
		return `{"messages":[{"role":"user","content":"Use ` + words + ` for the lift."}]}`
	}
	for _, c := range []struct {
		name, recorded, asked string
		isAnswered            bool
	}{
		{"the secret", pseudonym, "saffron-kettle-thirty", false}, // one letter longer
		{"as long", pseudonym, "saffron-kettle-three", true},
		{"with an escape", pseudonym, `saffron\"kettle\"tre`, true},
		{"the end of a string after a backslash", pseudonym, `saffron\\","name":"it`, false},
		{"two words", pseudonym, "saffron kettle three", false},
		{"two lines", pseudonym, `saffron\nkettle-three`, false},
		{"half of an escape", pseudonym, `saffron-kettle-thre\"`, false},
		{"the end of a string", pseudonym, `it","name":"kettle-a`, false},
		{"the same twice", pseudonym + " or " + pseudonym, "saffron-kettle-three or saffron-kettle-three", true},
		{"two under one pseudonym", pseudonym + " or " + pseudonym, "saffron-kettle-three or saffron-kettle-eight", false},
		{"one under two", pseudonym + " or REDACTEDz9Y8x7W6v5U4", "saffron-kettle-three or saffron-kettle-three", false},
		{"other words beside it", pseudonym + " twice", "saffron-kettle-three never", false},
		{"two short ones", "REDACTEDREDA and REDACTEDREDA", "kettle-three and kettle-eight", true},
		{"nothing taken out", "saffron-kettle-three", "saffron-kettle-eight", false},
	} {
		p := newReplayer(t, Config{}, pair(said(c.recorded), "yes"))
		w, _ := ask(p, endpoint, said(c.asked))
		if got := w.Body.String() == "yes"; got != c.isAnswered || got && !p.Receipt().Strict {
			t.Errorf("%s: answered %t, %+v", c.name, got, p.Receipt())
		}
	}
}

// Of several interactions that are equal but for secrets the first free one answers, and one that
// is given back answers again.
func TestOrderBesideSecrets(t *testing.T) {
	body := func(secret string) string { return `{"messages":[{"role":"user","content":"` + secret + `"}]}` }
	p := newReplayer(t, Config{}, pair(body("REDACTEDb2C3d4E5f6G7"), "first"), pair(body("REDACTEDb2C3d4E5f6G7"), "second"))
	for i, want := range []string{"first", "first", "second"} {
		w, _ := ask(p, endpoint, body("saffron-kettle-three"))
		if w.Body.String() != want {
			t.Errorf("answer %d is %s, not %s", i, w.Body, want)
		}
		if i == 0 {
			p.index.release(0)
		}
	}
}

// What is equal beside secrets but for a field that a rule leaves out is relaxed, and the receipt
// names the rule.
func TestRelaxedBesideSecrets(t *testing.T) {
	body := func(user, secret string) string {
		return `{"metadata":{"user_id":"` + user + `"},"messages":[{"role":"user","content":"` + secret + `"}]}`
	}
	p := newReplayer(t, Config{}, pair(body("anna", "REDACTEDb2C3d4E5f6G7"), "yes"))
	w, _ := ask(p, endpoint, body("bert", "saffron-kettle-three"))
	if r := p.Receipt(); w.Body.String() != "yes" || r.RelaxedRequests != 1 || len(r.RelaxedAnswers) != 1 {
		t.Errorf("%s, %+v", w.Body, r)
	}
}

// A text of many pseudonyms is compared in proportion to its length, also with one that has none.
func BenchmarkEqualBesideSecrets(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			plain := []byte(strings.Repeat("saffron-kettle-three ", n))
			redacted := bytes.ReplaceAll(plain, []byte("saffron-kettle-three"), []byte("REDACTEDb2C3d4E5f6G7"))
			b.SetBytes(int64(len(plain)))
			for b.Loop() {
				if !EqualBesideSecrets(redacted, plain) {
					b.Fatal("not equal")
				}
			}
		})
	}
}

// What is equal is equal beside secrets, the order of the two does not matter, and taking a word
// out of one changes nothing.
func FuzzEqualBesideSecrets(f *testing.F) {
	f.Add("use REDACTEDb2C3d4E5f6G7 now", "use saffron-kettle-three now")
	f.Add(`{"a":"REDACTEDREDA"}`, `{"a":"kettle\"three"}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		forth, back := EqualBesideSecrets([]byte(a), []byte(b)), EqualBesideSecrets([]byte(b), []byte(a))
		if forth != back || a == b && !forth {
			t.Errorf("%q and %q: %t, %t", a, b, forth, back)
		}
		if forth && !strings.Contains(a+b, "REDACTED") && a != b {
			t.Errorf("%q and %q have no secret and are called equal", a, b)
		}
	})
}
