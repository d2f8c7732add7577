package replay

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	for name, recorded := range map[string]string{"as sent": sent, "without secrets in words": words,
		"without the key": withoutKey(sent), "without both": withoutKey(words)} {
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
		return `{"messages":[{"role":"user","content":"` + key + ` API_KEY=` + secret +
			` DB_PASSWORD=\"Summer2024!\""}]}`
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
	p := newReplayer(t, Config{Mask: maskKeys, Log: func(line string) { said.WriteString(line + "\n") }},
		pair(body("heron"), "yes"))
	ask(p, endpoint, body("pelican"))
	if got := said.String(); strings.Contains(got, keyInWords) || strings.Contains(got, "system") ||
		!strings.Contains(got, "pelican") {
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
		{"the secret, and the pseudonym that a replayed reply said", pseudonym + " or " + pseudonym,
			"saffron-kettle-three or " + pseudonym, true},
		{"two under one pseudonym, and the pseudonym", pseudonym + " or " + pseudonym + " or " + pseudonym,
			"saffron-kettle-three or " + pseudonym + " or saffron-kettle-eight", false},
		{"two under one pseudonym", pseudonym + " or " + pseudonym,
			"saffron-kettle-three or saffron-kettle-eight", false},
		{"one under two", pseudonym + " or REDACTEDz9Y8x7W6v5U4",
			"saffron-kettle-three or saffron-kettle-three", false},
		{"other words beside it", pseudonym + " twice", "saffron-kettle-three never", false},
		{"two short ones", "REDACTEDREDA and REDACTEDREDA", "kettle3three and kettle8eight", true},
		{"one that people choose", "REDACTEDREDAC", "Jackal_kiosk!", true},
		{"what somebody wrote", "REDACTED", "pancakes", false},
		{"two short words", "REDACTEDREDA", "kettle-three", false},
		{"a key that begins as a path does", pseudonym, "/Ab3dEf9hIj2kLm5nOp7", true},
		{"a path", pseudonym, "/etc/kubernetes/pki/", false},
		{"a file", pseudonym, "internal/kettle/x.go", false},
		{"a page", pseudonym, "https://kettle.test/", false},
		{"characters that Go escapes", pseudonym, `kettle\u003cthree\u0026`, false}, // longer
		{"an escape as recorded", "REDACTEDb2C3d4E5f6G7Hi", `kettle\u003c-3-\u0026k`, true},
		{"a slash as recorded", pseudonym, `kettle\/three\/six88`, true},
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
	p := newReplayer(t, Config{}, pair(body("REDACTEDb2C3d4E5f6G7"), "first"),
		pair(body("REDACTEDb2C3d4E5f6G7"), "second"))
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

// Elsewhere than in the last words of the user a path stands for a pseudonym, because earlier builds
// replaced some. A short word does not: people write REDACTED, too.
func TestPathBesideSecrets(t *testing.T) {
	body := func(path string) string {
		return `{"system":"Work in ` + path + `","messages":[{"role":"user","content":"Go on."}]}`
	}
	for _, c := range []struct {
		recorded, asked string
		isAnswered      bool
	}{
		{"REDACTEDb2C3d4E5f6G7", "/srv/heron/projects/", true},
		{"REDACTEDb2C3d4E5f6G7", "/srv/heron/my files/", false},
		{"REDACTED", "pancakes", false},
	} {
		p := newReplayer(t, Config{}, pair(body(c.recorded), "yes"))
		if w, _ := ask(p, endpoint, body(c.asked)); (w.Body.String() == "yes") != c.isAnswered {
			t.Errorf("%s: %s", c.asked, w.Body)
		}
	}
}

// A secret keeps its length when a rule or a level leaves out something else.
func TestSignsInSecretsAtEachLevel(t *testing.T) {
	body := func(prompt, secret string) string {
		return `{"system":"` + prompt + `","messages":[{"role":"user","content":"` + secret + `"}]}`
	}
	for level := Anchored; level <= Shape; level++ {
		p := newReplayer(t, Config{Match: level}, pair(body("old", "REDACTEDb2C3d4E5f6G7"), "yes"))
		if w, _ := ask(p, endpoint, body("new", "saffron&kettle<three")); w.Body.String() != "yes" {
			t.Errorf("%v: %s", level, w.Body)
		}
	}
	rules, err := ParseScrub("date")
	if err != nil {
		t.Fatal(err)
	}
	body = func(day, secret string) string {
		return `{"system":"Today is ` + day + `","messages":[{"role":"user","content":"` + secret + `"}]}`
	}
	p := newReplayer(t, Config{Scrubs: Scrubs{rules}}, pair(body("2026-11-25", "REDACTEDb2C3d4E5f6G7"), "yes"))
	if w, _ := ask(p, endpoint, body("2026-11-26", "saffron&kettle<three")); w.Body.String() != "yes" {
		t.Errorf("%s", w.Body)
	}
}

// Interactions without a secret, and those that are played, do not keep others from being looked at.
func TestManyBesideSecrets(t *testing.T) {
	body := func(n int, secret string) string {
		return `{"messages":[{"role":"user","content":"` + strconv.Itoa(1000+n) + " " + secret + `"}]}`
	}
	var ins []cassette.Interaction
	for n := range 3 * maxCandidates {
		secret := "saffron-kettle-three"
		if n >= maxCandidates {
			secret = "REDACTEDb2C3d4E5f6G7"
		}
		ins = append(ins, pair(body(n, secret), strconv.Itoa(n)))
	}
	p := newReplayer(t, Config{}, ins...)
	for n := maxCandidates; n < len(ins); n++ {
		if w, _ := ask(p, endpoint, body(n, "saffron-kettle-three")); w.Body.String() != strconv.Itoa(n) {
			t.Fatalf("%d: %s", n, w.Body)
		}
	}
}

// The answer may be in a part of the cassette that cannot be read, so nothing else is tried.
func TestDamageBesideSecrets(t *testing.T) {
	body := func(secret string) string { return `{"messages":[{"role":"user","content":"` + secret + `"}]}` }
	whole := newCassette(t, pair(body("saffron-kettle-three"), "first"), pair(body("REDACTEDb2C3d4E5f6G7"), "second"))
	data := bytes.Replace(readFile(t, whole.Name()), []byte("saffron"), []byte("Saffron"), 1)
	c, err := cassette.Parse("y.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Cassette: c, Redactor: masked{}})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ask(p, endpoint, body("saffron-kettle-three")); w.Header().Get("X-Cassette-Miss") != missDamaged {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Bodies that are not JSON are compared in the same way, whatever the boundary of their parts.
func TestOtherBodiesBesideSecrets(t *testing.T) {
	parts := func(boundary, secret string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n" + secret + "\r\n--" +
			boundary + "--\r\n"
	}
	for _, c := range []struct{ kind, recorded, asked string }{
		{"multipart/form-data; boundary=", parts("one", "REDACTEDb2C3d4E5f6G7"), parts("two", "saffron-kettle-three")},
		{"application/x-www-form-urlencoded; one=", "note=REDACTEDb2C3d4E5f6G7&n=1", "note=saffron-kettle-three&n=1"},
	} {
		in := pair(c.recorded, "yes")
		in.Request.Header = http.Header{"Content-Type": {c.kind + "one"}}
		p := newReplayer(t, Config{}, in)
		r := httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(c.asked))
		r.Header.Set("Content-Type", c.kind+"two")
		w := httptest.NewRecorder()
		if p.ServeHTTP(w, r); w.Body.String() != "yes" || !p.Receipt().Strict {
			t.Errorf("%s: %s", c.kind, w.Body)
		}
	}
}

// Equal requests that come together get an interaction each.
func TestTogetherBesideSecrets(t *testing.T) {
	body := func(secret string) string { return `{"messages":[{"role":"user","content":"` + secret + `"}]}` }
	const n = 24
	p := newReplayer(t, Config{},
		slices.Repeat([]cassette.Interaction{pair(body("REDACTEDb2C3d4E5f6G7"), "yes")}, n)...)
	var group sync.WaitGroup
	for range n {
		group.Go(func() { ask(p, endpoint, body("saffron-kettle-three")) })
	}
	group.Wait()
	if r := p.Receipt(); r.Served != n || r.Missed != 0 || r.Unused != 0 {
		t.Error(r.Summary())
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
