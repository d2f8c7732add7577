package gate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// isFoundInsideWord says which keys are found after a few letters of the same word.
func isFoundInsideWord(prefix string) bool {
	for _, f := range families {
		if f.Prefix == prefix {
			return f.mayFollowLetters()
		}
	}
	return false
}

// madeUp are texts that rules of gitleaks describe, put together so that no scanner takes
// this file for a leak.
func madeUp() map[string]string {
	pick := rand.New(rand.NewPCG(1, 2))
	of := func(letters string, n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = letters[pick.IntN(len(letters))]
		}
		return string(out)
	}
	const hex, small, all = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789",
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return map[string]string{
		"databricks-api-token":          "dapi" + of(hex, 32),
		"shopify-access-token":          "shp" + "at_" + of(hex, 32),
		"linear-api-key":                "lin_" + "api_" + of(small, 40),
		"postman-api-token":             "PM" + "AK-" + of(hex, 24) + "-" + of(hex, 34),
		"pulumi-api-token":              "pul-" + of(hex, 40),
		"sentry-user-token":             "sntryu_" + of(hex, 64),
		"planetscale-api-token":         "pscale_" + "tkn_" + of(all, 40),
		"grafana-service-account-token": "glsa_" + of(all, 32) + "_" + of(hex, 8),
		"vault-service-token":           "hvs." + of(all, 95),
		"slack-webhook-url":             "https://hooks." + "slack.com/services/" + of(all, 44),
		"adafruit-api-key":              "adafruit_key = '" + of(small, 32) + "'",
		"new-relic-key":                 "NR" + "AK-" + strings.ToUpper(of(small, 27)),
		"mailgun-key":                   "key" + "-" + of(hex, 32),
		"elevenlabs-key":                "sk" + "_" + of(hex, 48),
		"atlassian-token":               "ATA" + "TT3xFfGF0" + of(all, 120) + "=" + strings.ToUpper(of(hex, 8)),
	}
}

// What gitleaks knows is found: in a body, escaped, glued to a word, exempt by its digest.
func TestGitleaksRules(t *testing.T) {
	if n := len(loadPatterns().buckets); n < 100 || n > 256 { // their numbers are bytes
		t.Fatalf("%d buckets of anchors", n)
	}
	for id, secret := range madeUp() {
		for place, body := range map[string]string{
			"plain": "the value is " + secret + " today", "line": secret + "\n",
			"JSON": `{"text":` + quoted("use "+secret+"\nnow") + `}`,
			"far":  strings.Repeat("some words and ", 20_000) + secret + strings.Repeat(" and more", 20_000),
		} {
			in := simple()
			in.Response.Body = []byte(body)
			err := New().Check(in)
			wantHit(t, id+" "+place, err, secret[max(len(secret)-12, 0):])
			var hit *Hit
			if errors.As(err, &hit) {
				if hit.What != "a secret of the kind "+id {
					t.Errorf("%s %s: is %s", id, place, hit.What)
				}
				if err := New(hit.Digest).Check(in); err != nil {
					t.Errorf("%s %s: exempt, and still %v", id, place, err)
				}
			}
		}
	}
	glued := madeUp()["databricks-api-token"]
	for body, found := range map[string]bool{"key" + glued: true, "x=" + glued + ";": true,
		strings.Repeat("Ab3dEf9h", 4) + glued: false, "dapi and databricks": false,
		"dapi" + strings.Repeat("0", 32): false} {
		in := simple()
		in.Response.Body = []byte(body)
		if err := New().Check(in); (err != nil) != found {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A word in quotes after "password" costs no recording.
func TestWordsAfterPassword(t *testing.T) {
	for value, found := range map[string]bool{"j_password": false, "required": false, "your-password": false,
		"KWWUZZFA": false, "Newpassword1": false, "Sommer" + "haus": false,
		"kXbWqTnPz" + "LmRvJc": true, "lift8-kettle3" + "x": true} {
		in := simple()
		in.Response.Body = []byte(`db_password = "` + value + `"`)
		if err := New().Check(in); (err != nil) != found {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// Text that is full of anchors takes time in proportion to its length.
func TestPatternsAreLinear(t *testing.T) {
	for _, word := range []string{"sk-ant-api03-", "adafruit ", "dapi", "https://hooks.slack.com/",
		"sumo sentry jira "} {
		in := simple()
		in.Response.Body = []byte(strings.Repeat(word, (1<<20)/len(word)))
		began := time.Now()
		_ = New().Check(in)
		if took := time.Since(began); took > 60*time.Second {
			t.Errorf("%q again and again: %v", word, took)
		}
	}
}

// A redactor that is taught what was found takes it out, and a hit never shows it.
func TestTeach(t *testing.T) {
	in := simple()
	secret := madeUp()["linear-api-key"]
	in.Response.Body = []byte(secret)
	var hit *Hit
	if err := New().Check(in); !errors.As(err, &hit) {
		t.Fatal(err)
	}
	var learnt []string
	if !hit.Teach(func(secrets ...string) bool { learnt = secrets; return true }) || len(learnt) != 1 ||
		learnt[0] != secret {
		t.Errorf("taught %q", learnt)
	}
	if new(Hit).Teach(func(...string) bool { t.Error("taught nothing"); return true }) {
		t.Error("a cookie has nothing to teach")
	}
}

// Quotes that a rule finds with a secret are not taught: the text may escape them as \u0022.
func TestTeachWithoutQuotes(t *testing.T) {
	secret := "kXbWqTnPz" + "LmRvJc"
	in := simple()
	in.Request.Body = []byte(`{"content":"\\u0022password\\u0022:\\u0022` + secret + `\\u0022"}`)
	var hit *Hit
	if err := New().Check(in); !errors.As(err, &hit) {
		t.Fatal(err)
	}
	if !hit.Teach(func(secrets ...string) bool { return len(secrets) == 1 && secrets[0] == secret }) {
		t.Error("something else was taught")
	}
}

// A credential of which the redactor does not know is taught whole.
func TestTeachExact(t *testing.T) {
	secret := strings.Repeat("Ab3dEf9hIj", 40)
	guard := New()
	guard.Learn(secret)
	in := simple()
	in.Response.Body = []byte("you sent " + secret)
	var hit *Hit
	if err := guard.Check(in); !errors.As(err, &hit) {
		t.Fatal(err)
	}
	if !hit.Teach(func(secrets ...string) bool { return len(secrets) == 1 && secrets[0] == secret }) {
		t.Error("something else was taught")
	}
}

// A private key is found as a whole, whatever its line ends, also when it is cut off.
func TestPrivateKeys(t *testing.T) {
	const kind = " RSA PRIVATE KEY" // alone, so that no search for keys finds one here
	const begin, end = "-----BEGIN" + kind + "-----", "-----END" + kind + "-----"
	lines := []string{strings.Repeat("Ab3dEf9h", 8), strings.Repeat("Zy+x/w7v", 8), "Qw3rTy=="}
	for _, sep := range []string{"\n", "\\r\\n", "\r\n", "\\\\n", " "} {
		whole := begin + sep + strings.Join(lines, sep) + sep + end
		cut := begin + sep + strings.Join(lines[:2], sep)
		for text, want := range map[string]string{
			`"` + whole + `"`: whole, "see " + whole + " there": whole, `{"a":"` + cut + `","b":1}`: cut,
			cut + "\n(and so on)": cut, cut + "\r\n--boundary--\r\n": cut, begin + " is how it begins": begin,
			"grep '-----BEGIN" + kind + "' says: " + whole: whole,
		} {
			in := simple()
			in.Response.Body = []byte(text)
			var hit *Hit
			if err := New().Check(in); !errors.As(err, &hit) {
				t.Fatalf("%s: %v", text, err)
			}
			if got := hit.secret(); got != want {
				t.Errorf("of %s\nfound %s", text, got)
			}
		}
	}
}

// A private key of PGP is found as a whole, with lines about it that no other key has.
func TestPGPKeys(t *testing.T) {
	const kind = " PGP PRIVATE KEY" // alone, so that no search for keys finds one here
	key := "-----BEGIN" + kind + " BLOCK-----\nVersion: GnuPG v1.4.11 (GNU/Linux)\n\n" + strings.Repeat("Ab3dEf9h", 8) +
		"\n=abcd\n-----END" + kind + " BLOCK-----"
	in := simple()
	in.Response.Body = []byte("see " + key + " there")
	var hit *Hit
	if err := New().Check(in); !errors.As(err, &hit) || hit.secret() != key {
		t.Error(err)
	}
	in.Response.Body = []byte("grep '-----BEGIN" + kind + "' finds such a key")
	if err := New().Check(in); err != nil {
		t.Error(err)
	}
}

// No key is longer than maxKey: a text of beginnings is not read to its end at each of them.
func TestLongestKey(t *testing.T) {
	for _, f := range families {
		text := []byte(f.Prefix + strings.Repeat("A1b2"+f.Letters, maxKey))
		if key, _ := f.keyAt(text, 0); f.Also == "" && f.Prefix != signedTokenBegin && f.Prefix != privateKeyBegin &&
			len(key) != maxKey {
			t.Errorf("%s: %d bytes", f.Prefix, len(key))
		}
	}
}

// All keys of a request are masked, also those that were met before; without one nothing
// changes.
func TestMaskRequest(t *testing.T) {
	secrets := madeUp()
	one, two := secrets["linear-api-key"], secrets["databricks-api-token"]
	redactor := &replacer{}
	for body, isMasked := range map[string]bool{"use " + one + " and " + two: true, "again " + two: true,
		"nothing": false} {
		for range 2 {
			out := New().MaskRequest(cassette.Request{Body: []byte(body)}, redactor)
			if text := string(out.Body); strings.Contains(text, one) || strings.Contains(text, two) ||
				(text != body) != isMasked {
				t.Errorf("%s: %s", body, text)
			}
		}
	}
}

// replacer replaces what it learnt.
type replacer struct{ known []string }

func (r *replacer) Learn(secrets ...string) (isNew bool) {
	for _, s := range secrets {
		if !slices.Contains(r.known, s) {
			r.known, isNew = append(r.known, s), true
		}
	}
	return isNew
}

func (r *replacer) Request(in cassette.Request) cassette.Request {
	for _, s := range r.known {
		in.Body = bytes.ReplaceAll(in.Body, []byte(s), []byte("REDACTED"))
	}
	return in
}
