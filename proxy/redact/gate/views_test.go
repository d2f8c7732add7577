package gate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

func packed(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.Bytes()
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// bodies are ways to hide a secret in one: the redactor may not know them all.
var bodies = map[string]func(s string) []byte{
	"gzip": func(s string) []byte { return packed(strings.Repeat(".", 200_000) + s) },
	"gzip in base64": func(s string) []byte {
		return []byte(`{"b":"` +
			base64.StdEncoding.EncodeToString(packed(s)) + `"}`)
	},
	"JSON in JSON": func(s string) []byte { return []byte(`{"arguments":` + quoted(`{"k":`+quoted(s)+`}`) + `}`) },
	"URL in JSON": func(s string) []byte {
		return []byte(strings.NewReplacer("/", "%2F", "+", "%2B", "<", `%3C`, "=", `\u0025\u0033d`).Replace(s))
	},
	"all escaped": func(s string) (out []byte) {
		for _, c := range []byte(s) {
			out = fmt.Appendf(out, `\\u%04x`, c)
		}
		return out
	},
	"JSON lines": func(s string) (out []byte) {
		for _, c := range s {
			out = fmt.Appendf(out, `{"response":%s,"done":false}`+"\n", quoted(string(c)))
		}
		return out
	},
	"JSON array": func(s string) []byte {
		var parts []string
		for _, c := range s {
			parts = append(parts, `{"candidates":[{"content":{"parts":[{"text":`+quoted(string(c))+`}]}}]}`)
		}
		return []byte("[" + strings.Join(parts, ",\r\n") + "]")
	},
	"two lines an event": func(s string) (out []byte) {
		for _, c := range s {
			out = fmt.Appendf(out, "event: x\r\ndata: {\"delta\":\r\ndata: %s}\r\n\r\n", quoted(string(c)))
		}
		return out
	},
	"taking turns": func(s string) (out []byte) {
		for at := 0; at < len(s); at += 3 {
			for choice := range 2 {
				out = fmt.Appendf(out, `data: {"choices":[{"index":%d,"delta":{"content":%s}}]}`+"\n\n", choice,
					quoted(s[at:min(at+3, len(s))]))
			}
		}
		return out
	},
	"arguments in pieces": func(s string) (out []byte) {
		inner := `{"k":` + quoted(s) + `}`
		for at := 0; at < len(inner); at += 5 {
			out = fmt.Appendf(out, `data: {"partial_json":%s}`+"\n\n", quoted(inner[at:min(at+5, len(inner))]))
		}
		return out
	},
	"far in": func(s string) []byte {
		return []byte(strings.Repeat(".", window-7) + strings.ReplaceAll(s, "/", `\/`))
	},
	"far in a string": func(s string) []byte {
		return []byte(`{"t":"` + strings.Repeat(".", 3*window) + s[:9] + `"}` + "\n" + `{"t":"` +
			s[9:] + strings.Repeat(".", 3*window) + `"}`)
	},
}

func TestHiddenSecretsAreFound(t *testing.T) {
	keys := "sk-ant-" + "api03-" + strings.Repeat("Ab3dEf9hIj", 3)
	for name, hide := range bodies {
		for secret, learned := range map[string]bool{canary: true, keys: false} {
			g := New()
			if learned {
				g.Learn(secret)
			}
			in := simple()
			in.Response.Body = hide(secret)
			wantHit(t, name, g.Check(in), secret)
			in.Response.Body = hide("nothing to see here at all")
			if err := g.Check(in); err != nil {
				t.Errorf("%s without a secret: %v", name, err)
			}
		}
	}
	in := simple()
	in.Request.Body = []byte(`{"content":"the key:\n` + keys + `"}`)
	wantHit(t, "after a line's end", New().Check(in), keys)
}

// Where a credential may be learned from, beside headers and the query.
func TestBodiesTeachSecrets(t *testing.T) {
	for name, put := range map[string]func(in *cassette.Interaction){
		"form": func(in *cassette.Interaction) {
			in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			in.Request.Body = []byte("a=b&client_secret=" +
				strings.NewReplacer("/", "%2F", "+", "%2B", "&", "%26").Replace(canary))
		},
		"JSON": func(in *cassette.Interaction) {
			in.Request.Body = []byte(`{"a":[1],"api_key":` +
				quoted(canary) + `}`)
		},
		"JSON as a form": func(in *cassette.Interaction) {
			in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			in.Request.Body = []byte(`{"a":[1],"api_key":` + quoted(canary) + `}`)
		},
		"reply": func(in *cassette.Interaction) {
			in.Response.Header.Set("Content-Type", "application/json")
			in.Response.Body = []byte(`{"access_token":` + quoted(canary) + `}`)
		},
	} {
		g := New()
		in := simple()
		put(&in)
		g.Watch(deaf{}).Interaction(in)
		later := simple()
		later.Response.Body = []byte("and again: " + canary)
		wantHit(t, name, g.Check(later), canary)
	}
}

// A short secret is looked for as a word.
func TestShortSecrets(t *testing.T) {
	for body, found := range map[string]bool{"hunter2!": true, "is hunter2!.": true, "xhunter2!": false,
		"hunter3!": false} {
		g := New()
		g.Learn("hunter2!")
		g.Learn("anthropic")
		in := simple()
		in.Request.Body = []byte("anthropic " + body)
		if err := g.Check(in); (err != nil) != found {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// Random letters where providers hand out tokens are not keys.
func TestContinuityTokens(t *testing.T) {
	key := "AIza" + strings.Repeat("Ab3dEf9", 5)
	for body, exempt := range map[string]bool{
		`{"signature":"Eq/` + key + `"}`:                                                            true,
		`data: {"delta":{"type":"signature_delta","signature":"/` + key + `"}}`:                     true,
		`{"type":"redacted_thinking","data":"Eq/` + key + `"}`:                                      true,
		`{"encrypted_content": "` + strings.Repeat("Q/", window) + key + `","a":"\n"}`:              true,
		`{"type":"image","data":"Eq/` + key + `"}`:                                                  false,
		`{"text":"Eq/` + key + `"}`:                                                                 false,
		`{"signature":"no key: ` + key + `"}`:                                                       false,
		"data: {\"signature\":\"Eq/" + key[:9] + "\"}\n\ndata: {\"signature\":\"" + key[9:] + "\"}": true,
		"data: {\"text\":\"Eq/" + key[:9] + "\"}\n\ndata: {\"text\":\"" + key[9:] + "\"}":           false,
	} {
		in := simple()
		in.Response.Body = []byte(body)
		if err := New().Check(in); (err == nil) != exempt {
			t.Errorf("%.60s…: %v", body, err)
		}
	}
}

// Workers share one gate and one redactor.
func TestConcurrentUse(t *testing.T) {
	g := New()
	r := g.Watch(redact.New(nil))
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for k := range 20 {
				in := simple()
				in.Request.Header = http.Header{"X-Api-Key": {fmt.Sprintf("secret-%04d-of-%04d-things", k, n)}}
				in.Response.Body = []byte(in.Request.Header.Get("X-Api-Key"))
				if err := g.Check(r.Interaction(in)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// What begins like packed data again and again is looked through in time, and
// in memory, that its length allows.
func TestManyBeginningsOfPackedData(t *testing.T) {
	in := simple()
	in.Response.Body = bytes.Repeat([]byte("H4sI"), 20_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := New().Check(in); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
		t.Errorf("took %d MiB for %d bytes", took>>20, len(in.Response.Body))
	}
}
