package gate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

const canary = "CANARY-7f3a/9c+21<e8>&b4=0d"

func simple() cassette.Interaction {
	return cassette.Interaction{
		Request: cassette.Request{
			Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"model":"m"}`),
		},
		Response: cassette.Response{Status: 200, Header: http.Header{"Server": {"x"}}, Body: []byte("data: {}\n\n"),
			Trailer: http.Header{}},
	}
}

// deaf is a redactor that redacts nothing.
type deaf struct{}

func (deaf) Interaction(in cassette.Interaction) cassette.Interaction { return in }

// Ways in which a secret may have got past the redactor.
var holes = map[string]func(in *cassette.Interaction, s string){
	"method": func(in *cassette.Interaction, s string) { in.Request.Method = s },
	"URL":    func(in *cassette.Interaction, s string) { in.Request.URL += "?q=" + url.QueryEscape(s) },
	"lower-case URL": func(in *cassette.Interaction, s string) {
		in.Request.URL += "?q=" + hexCase.Replace(url.QueryEscape(s))
	},
	"request header":  func(in *cassette.Interaction, s string) { in.Request.Header.Set("User-Agent", "a "+s) },
	"header name":     func(in *cassette.Interaction, s string) { in.Request.Header["X-"+s] = nil },
	"canonical name":  func(in *cassette.Interaction, s string) { in.Request.Header["x-"+strings.ToLower(s)] = nil },
	"response header": func(in *cassette.Interaction, s string) { in.Response.Header.Set("Via", s) },
	"trailer":         func(in *cassette.Interaction, s string) { in.Response.Trailer.Set("X", s) },
	"request body":    func(in *cassette.Interaction, s string) { in.Request.Body = []byte("..." + s) },
	"JSON":            func(in *cassette.Interaction, s string) { in.Response.Body, _ = json.Marshal(s) },
	"JSON with \\/": func(in *cassette.Interaction, s string) {
		b, _ := json.Marshal(s)
		in.Response.Body = []byte(strings.ReplaceAll(string(b), "/", `\/`))
	},
	"base64": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte("=" + base64.StdEncoding.EncodeToString([]byte(s)))
	},
	"base64 +1": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte(base64.StdEncoding.EncodeToString([]byte("u" + s)))
	},
	"base64 +2": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte("abc" + base64.RawURLEncoding.EncodeToString([]byte("u:"+s+"z")))
	},
	"deltas": func(in *cassette.Interaction, s string) {
		in.Response.Body = nil
		for i := range s {
			b, _ := json.Marshal(map[string]any{"delta": map[string]string{"text": s[i : i+1]}, "n": i})
			in.Response.Body = fmt.Appendf(in.Response.Body, "data: %s\n\n", b)
		}
	},
}

var hexCase = strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%3D", "%3d", "%2B", "%2b")

func TestExactSecretsAreFound(t *testing.T) {
	sources := map[string]func(in *cassette.Interaction){
		"authorization": func(in *cassette.Interaction) {
			in.Request.Header.Set("Authorization",
				"Bearer "+canary)
		},
		"x-api-key": func(in *cassette.Interaction) { in.Request.Header.Set("X-Api-Key", canary) },
		"parameter": func(in *cassette.Interaction) { in.Request.URL += "?key=" + url.QueryEscape(canary) },
		"repeated parameter": func(in *cassette.Interaction) {
			in.Request.URL += "?key=&key=" +
				url.QueryEscape(canary)
		},
		"repeated field": func(in *cassette.Interaction) {
			in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			in.Request.Body = []byte("client_secret=a&client_secret=" + url.QueryEscape(canary))
		},
		"user info": func(in *cassette.Interaction) { in.Request.URL = "https://u:" + url.QueryEscape(canary) + "@h/" },
	}
	for source, put := range sources {
		for hole, leak := range holes {
			g := New()
			with := simple()
			put(&with)
			g.Watch(deaf{}).Interaction(with)
			later := simple()
			if err := g.Check(later); err != nil {
				t.Fatalf("without a leak: %v", err)
			}
			leak(&later, canary)
			wantHit(t, source+"/"+hole, g.Check(later), canary)
		}
	}
}

func wantHit(t *testing.T, name string, err error, secret string) {
	t.Helper()
	var hit *Hit
	if !errors.As(err, &hit) {
		t.Errorf("%s: %v, want a hit", name, err)
		return
	}
	for at := 0; at+6 <= len(secret); at++ {
		if strings.Contains(err.Error(), secret[at:at+6]) {
			t.Errorf("%s: %q gives the secret away", name, err)
			return
		}
	}
}

// planted are made-up keys of each family, put together here so that no
// scanner takes this file for a leak.
func planted() map[string]string {
	letters := strings.Repeat("Ab3dEf9hIj", 9)
	out := map[string]string{}
	for _, f := range families {
		key := f.Prefix + letters[:max(f.Least, 36)]
		switch f.Kind {
		case "an AWS key id":
			key = f.Prefix + strings.ToUpper(letters[:16])
		case "a private key":
			key = f.Prefix + "RSA PRIVATE KEY-----"
		case "a signed token (JWT)":
			key = f.Prefix + letters[:20] + "." + f.Prefix + letters[:20] + "." + letters[:30]
		}
		out[f.Prefix] = key
	}
	return out
}

// What people are told names a key's kind, not the key.
func TestMask(t *testing.T) {
	for prefix, key := range planted() {
		for _, text := range []string{key, "a: now \"" + key + "\", " + key + " x"} {
			if got := Mask(text); strings.Contains(got, key[len(prefix):]) || !strings.Contains(got, "[a") {
				t.Errorf("%s: %s", prefix, got)
			}
		}
	}
	for id, secret := range madeUp() {
		in := simple()
		in.Response.Body = []byte("not saved: POST " + secret + " and so on")
		if err := New().Check(in); err == nil {
			continue // its rule wants other words beside it
		}
		if got := Mask(string(in.Response.Body)); strings.Contains(got, secret) ||
			!strings.HasPrefix(got, "not saved: POST ") || !strings.HasSuffix(got, " and so on") {
			t.Errorf("%s: %s", id, got)
		}
	}
	if text := "messages[0].content: now \"sk-ip the asksk-ant-\" – é"; Mask(text) != text {
		t.Errorf("changed: %s", Mask(text))
	}
}

func TestKnownPrefixesAreFound(t *testing.T) {
	for prefix, key := range planted() {
		for name, body := range map[string]string{
			"JSON": `{"messages":[{"content":"use ` + key + ` please"}]}`, "start": key,
			"value": `{"result":"` + key + `"}`,
		} {
			in := simple()
			in.Request.Body = []byte(body)
			err := New().Check(in)
			wantHit(t, prefix+" "+name, err, key[len(prefix):])
			var hit *Hit
			if errors.As(err, &hit) {
				if err := New(hit.Digest).Check(in); err != nil {
					t.Errorf("%s: exempt, and still %v", prefix, err)
				}
			}
		}
		in := simple()
		in.Request.Body = []byte(`{"x":"abc` + key + `"}`)
		if err := New().Check(in); (err != nil) != isFoundInsideWord(prefix) {
			t.Errorf("%s inside a longer word: %v", prefix, err)
		}
	}
}

// Documentation writes keys whose letters are left out.
func TestPlaceholdersAreNoKeys(t *testing.T) {
	for prefix := range planted() {
		for _, letter := range []string{"x", "X", "0", "."} {
			in := simple()
			in.Request.Body = []byte(`{"content":"export TOKEN=` + prefix + strings.Repeat(letter, 40) + `"}`)
			if err := New().Check(in); err != nil {
				t.Errorf("%s of %s: %v", prefix, letter, err)
			}
		}
	}
}

func TestContinuityTokensAreExemptFromPrefixes(t *testing.T) {
	in := simple()
	key := strings.Repeat("Ab3dEf9hIj", 4)
	in.Response.Body = []byte(`{"thoughtSignature" : "EqQB/AIza` + key + `"}`)
	if err := New().Check(in); err != nil {
		t.Error(err)
	}
	g := New()
	g.Learn(key)
	if err := g.Check(in); err == nil {
		t.Error("an exact secret in a continuity token passes")
	}
}

func TestCookiesNeverPass(t *testing.T) {
	for _, h := range []func(*cassette.Interaction) http.Header{
		func(in *cassette.Interaction) http.Header { return in.Request.Header },
		func(in *cassette.Interaction) http.Header { return in.Response.Header },
	} {
		in := simple()
		h(&in)["Set-Cookie"] = []string{"a=b"}
		if New().Check(in) == nil {
			t.Error("a cookie passes")
		}
	}
}

func TestInnocentNamesAreNoSecrets(t *testing.T) {
	g := New()
	in := simple()
	in.Request.Header.Set("Idempotency-Key", "stainless-go-0123456789")
	in.Request.URL += "?pageToken=abcdefghijklmnop"
	in.Response.Header.Set("Anthropic-Ratelimit-Tokens-Reset", "2026-11-21T09:00:00Z")
	g.Watch(deaf{}).Interaction(in)
	if err := g.Check(in); err != nil {
		t.Error(err)
	}
}

// What the redactor lets through, the gate lets through, and only that: the two
// agree without sharing anything.
func TestRedactorAndGateAgree(t *testing.T) {
	for name, leak := range holes {
		if name == "method" || strings.HasSuffix(name, " name") {
			continue // not a place the redactor edits: the gate alone guards it
		}
		g := New()
		r := g.Watch(redact.New(nil))
		in := simple()
		in.Request.Header.Set("Authorization", "Bearer "+canary)
		leak(&in, canary)
		if err := g.Check(r.Interaction(in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if g.Check(in) == nil {
			t.Errorf("%s: the raw interaction passes", name)
		}
	}
}

// exchange is a recorded exchange of the corpus as a recorder would see it.
func exchange(t *testing.T, responseFile string) cassette.Interaction {
	t.Helper()
	type message struct {
		Method, URL string
		Status      int
		Headers     http.Header
		Body        *string
	}
	load := func(file string) (m message) {
		if data, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		return m
	}
	stem := strings.TrimSuffix(responseFile, ".response.json")
	asked, answered := load(stem+".request.json"), load(responseFile)
	body, _ := os.ReadFile(stem + ".response.body")
	in := cassette.Interaction{
		Request:  cassette.Request{Method: asked.Method, URL: asked.URL, Header: asked.Headers},
		Response: cassette.Response{Status: answered.Status, Header: answered.Headers, Body: body},
	}
	if asked.Body != nil {
		in.Request.Body = []byte(*asked.Body)
	}
	return in
}

// Nothing that real providers and clients exchanged is refused, and what they
// said to each other, in which there is no secret, is not changed.
func TestRecordedTrafficPasses(t *testing.T) {
	paths := corpus.Files(t, "*/*/*.response.json")
	if len(paths) < 2000 {
		t.Fatalf("%d exchanges", len(paths))
	}
	g, size := New(), 0
	r := redact.New(nil)
	for _, path := range paths {
		in := exchange(t, path)
		size += len(in.Request.Body) + len(in.Response.Body)
		out := g.Watch(r).Interaction(in)
		if err := g.Check(out); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		// Some of these requests do hold credentials: for MCP servers.
		forServers := strings.Contains(string(in.Request.Body), `"authorization`) ||
			strings.Contains(string(in.Request.Body), `"custom-header-key`)
		if string(out.Request.Body) != string(in.Request.Body) && !forServers {
			t.Errorf("%s: the request changes", path)
		}
		namesKey := strings.Contains(string(in.Response.Body), "Invalid API key: ")
		if string(out.Response.Body) != string(in.Response.Body) && !namesKey {
			t.Errorf("%s: the response changes", path)
		}
	}
	t.Logf("%d exchanges, %d bytes", len(paths), size)
}

// A gate says when what it let pass may hold what it learnt since.
func TestLate(t *testing.T) {
	g := New()
	g.Learn("known-from-the-start")
	if g.Late() != 0 {
		t.Error("nothing was checked yet")
	}
	if err := g.Check(simple()); err != nil {
		t.Fatal(err)
	}
	if g.Learn("known-from-the-start"); g.Late() != 0 {
		t.Error("that is no news")
	}
	if g.Learn("learnt-a-moment-ago"); g.Late() != 1 {
		t.Error("what was checked may hold it")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(canary, `{"x":"%2F\u002f\/"}`)
	f.Add("sk-ant-", `data: {"a":"sk-`)
	f.Fuzz(func(t *testing.T, secret, body string) {
		g := New()
		g.Learn(secret)
		in := simple()
		in.Response.Body = []byte(body + secret)
		err := g.Check(in)
		if len(secret) >= minSecret && err == nil {
			t.Fatal("a secret passes")
		}
		if err != nil && len(secret) >= minSecret && strings.Contains(err.Error(), secret) {
			t.Fatal("the error quotes the secret")
		}
	})
}

// A form is one under whatever type a client sends it, and prose is none.
func TestFormsAreKnownByTheirText(t *testing.T) {
	for kind, refused := range map[string]bool{
		"application/x-www-form-urlencoded": true, "": true, "application/octet-stream": true, "text/plain": false,
	} {
		g := New()
		g.Learn(g.credentialsOf(cassette.Interaction{Request: cassette.Request{
			Header: http.Header{"Content-Type": {kind}}, Body: []byte("grant=x&client_secret=twentyFourLettersOfWords"),
		}})...)
		err := g.Check(cassette.Interaction{Response: cassette.Response{Body: []byte("it was twentyFourLettersOfWords")}})
		if (err != nil) != refused {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// An author, the address of a secret and its name are none.
func TestNamesNearSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"secretArn": false, "secret_name": false, "client_secret": true,
		"author": false, "co_authors": false, ":authority": false, "Authorization": true, "x-auth": true,
		"authorization_token": true, "Author-Api-Key": true,
	} {
		if isSecretName(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// Redaction replaces the lines of a private key. What is left of it is none, also where the
// text stands in base64, in which a pseudonym decodes to anything.
func TestReplacedPrivateKey(t *testing.T) {
	begin, line := "-----BEGIN RSA "+"PRIVATE KEY-----\n", "MIIEowIBAAKCAQEA4xgZ3eRPkwoRvy7q"
	for body, isKey := range map[string]bool{
		begin + line + "\n-----END RSA " + "PRIVATE KEY-----\n":                 true,
		begin + "     2\t" + line:                                               true,
		begin + "REDACTED" + line + "\n":                                        false,
		begin + "     2\tREDACTED" + line + "\n":                                false,
		strings.ReplaceAll(begin, "\n", `\n`) + "REDACTED" + line + `\n`:        false,
		begin + "D@\xc0L\x8e\x11\xfe" + line:                                    false,
		strings.ReplaceAll(begin+line+"\n"+line+"\n", "\n", `\n`) + `\n` + "\"": true,
	} {
		in := cassette.Interaction{Request: cassette.Request{Body: []byte(body)}}
		if err := New().Check(in); (err != nil) != isKey {
			t.Errorf("%q: %v", body, err)
		}
	}
}
