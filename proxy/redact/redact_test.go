package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
	"pgregory.net/rapid"
)

const canary = "CANARY-7f3a/9c+21<e8>&b4=0d"

func simple() cassette.Interaction {
	return cassette.Interaction{
		Request: cassette.Request{
			Method: "POST", URL: "https://api.anthropic.com/v1/messages", Proto: "HTTP/1.1",
			Header: http.Header{"X-Api-Key": {canary}, "Content-Type": {"application/json"}},
			Body:   []byte(`{"model":"m"}`),
		},
		Response: cassette.Response{
			Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte("data: {}\n\n"),
			Trailer: http.Header{},
		},
		Timeline: []cassette.Chunk{{At: time.Millisecond, Length: 10}}, End: cassette.EndEOF, Duration: time.Second,
	}
}

// text is everything of an interaction that reaches a file.
func text(in cassette.Interaction) string {
	return fmt.Sprintf("%s\n%s\n%v\n%s\n%v\n%s\n%v", in.Request.Method, in.Request.URL, in.Request.Header,
		in.Request.Body,
		in.Response.Header, in.Response.Body, in.Response.Trailer)
}

// leaks finds what of a secret is left, encodings undone.
func leaks(t rapid.TB, out cassette.Interaction, secret string) {
	t.Helper()
	all := text(out)
	for _, f := range secretForms(secret) {
		if strings.Contains(all, f.text) {
			t.Errorf("%q survives in\n%s", f.text, all)
		}
	}
}

// Where a secret may stand. Each place is a header it is learned from or a
// place it comes back in; in the latter it is also in X-Api-Key.
var places = map[string]func(in *cassette.Interaction, secret string){
	"x-api-key": func(in *cassette.Interaction, s string) {},
	"authorization": func(in *cassette.Interaction, s string) {
		in.Request.Header = http.Header{"Authorization": {"Bearer " + s}}
	},
	"lower case": func(in *cassette.Interaction, s string) { in.Request.Header = http.Header{"x-goog-api-key": {s}} },
	"basic": func(in *cassette.Interaction, s string) {
		in.Request.Header = http.Header{"Authorization": {"Basic " +
			base64.StdEncoding.EncodeToString([]byte("user:"+s))}}
		in.Response.Body = []byte("data: " + s + "\n")
	},
	"api-key": func(in *cassette.Interaction, s string) { in.Request.Header.Set("Api-Key", s) },
	"proxy-authorization": func(in *cassette.Interaction, s string) {
		in.Request.Header = http.Header{"Proxy-Authorization": {"Basic " + s}}
	},
	"cookie": func(in *cassette.Interaction, s string) {
		in.Request.Header = http.Header{"Cookie": {"a=b; session=" + s}}
	},
	"set-cookie": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Response.Header = http.Header{"Set-Cookie": {"__cf_bm=" + s + "; path=/; HttpOnly"}, "X-Echo": {s}}
		in.Response.Body = []byte(`{"cookie":"` + s + `"}`)
	},
	"unknown header": func(in *cassette.Interaction, s string) { in.Request.Header = http.Header{"X-My-Gateway": {s}} },
	"two values": func(in *cassette.Interaction, s string) {
		in.Request.Header["Authorization"] = []string{"Bearer x", "bearer " + s}
	},
	"key parameter": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Request.URL += "?alt=sse&key=" + url.QueryEscape(s)
	},
	"access token": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Request.URL += "?Access_Token=" + url.QueryEscape(s) + "#x"
	},
	"user info": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Request.URL = "https://u:" + url.QueryEscape(s) + "@h/p?x=@"
	},
	"other parameter": func(in *cassette.Interaction, s string) { in.Request.URL += "?q=" + url.QueryEscape(s) },
	"path":            func(in *cassette.Interaction, s string) { in.Request.URL += "/" + url.PathEscape(s) + "/x" },
	"clear header": func(in *cassette.Interaction,
		s string) {
		in.Request.Header.Set("User-Agent", "agent/1 ("+s+")")
	},
	"response header": func(in *cassette.Interaction, s string) {
		in.Response.Header.Set("Www-Authenticate", `Bearer realm="`+s+`"`)
	},
	"trailer":  func(in *cassette.Interaction, s string) { in.Response.Trailer.Set("Server-Timing", s) },
	"raw body": func(in *cassette.Interaction, s string) { in.Request.Body = []byte("--boundary\r\n" + s + "\r\n") },
	"JSON body": func(in *cassette.Interaction, s string) {
		in.Request.Body, _ = json.Marshal(map[string]any{"messages": []string{"my key is " + s + "!"}})
	},
	"JSON in JSON": func(in *cassette.Interaction, s string) {
		inner, _ := json.Marshal(map[string]string{"key": s})
		in.Request.Body, _ = json.Marshal(map[string]string{"arguments": string(inner)})
	},
	"JSON with \\/": func(in *cassette.Interaction, s string) {
		b, _ := json.Marshal(s)
		in.Response.Body = []byte(strings.ReplaceAll(string(b), "/", `\/`))
	},
	"URL in body": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte(`{"u":"https://h/?k=` +
			strings.NewReplacer("%2F", "%2f", "%3C", "%3c").Replace(url.QueryEscape(s)) + `"}`)
	},
	"base64": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte(base64.StdEncoding.EncodeToString([]byte(s)))
	},
	"base64 shifted": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte(base64.StdEncoding.EncodeToString([]byte("a" + s + "bc")))
	},
	"base64url": func(in *cassette.Interaction, s string) {
		in.Response.Body = []byte(base64.RawURLEncoding.EncodeToString([]byte("ab" + s + "c")))
	},
	"deltas": func(in *cassette.Interaction, s string) {
		in.Response.Body = nil
		for _, piece := range []string{"Your key:\n" + s[:3], s[3:4], s[4 : len(s)-5], s[len(s)-5:] + "."} {
			b, _ := json.Marshal(map[string]any{"type": "content_block_delta",
				"delta": map[string]string{"type": "text_delta", "text": piece}})
			in.Response.Body = fmt.Appendf(in.Response.Body, "event: content_block_delta\ndata: %s\n\n", b)
		}
	},
	"MCP server": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Request.Body, _ = json.Marshal(map[string]any{"mcp_servers": []any{map[string]string{"url": "https://h",
			"authorization_token": s}}})
	},
	"tool header": func(in *cassette.Interaction, s string) {
		in.Request.Header = nil
		in.Request.Body, _ = json.Marshal(map[string]any{"tools": []any{map[string]any{"type": "mcp",
			"headers": map[string]string{"Authorization": "Bearer " + s}}}})
		in.Response.Body = []byte("error: bad token " + s)
	},
}

// No canary survives in any place, nothing changes its length, and what the
// client and the provider exchange stays as it was.
func TestCanaries(t *testing.T) {
	for name, put := range places {
		t.Run(name, func(t *testing.T) {
			for _, secret := range []string{canary, "sk-ant-api03-0123456789abcdefghijklmnop"} {
				in, before := simple(), simple()
				for _, i := range []*cassette.Interaction{&in, &before} {
					i.Request.Header.Set("X-Api-Key", secret)
					put(i, secret)
				}
				out := New([]byte("k")).Interaction(in)
				leaks(t, out, secret)
				if d := cmp.Diff(before, in); d != "" {
					t.Errorf("the input changed:\n%s", d)
				}
				if len(out.Request.Body) != len(in.Request.Body) || len(out.Response.Body) != len(in.Response.Body) ||
					len(out.Request.URL) != len(in.Request.URL) {
					t.Errorf("lengths changed:\n%s", text(out))
				}
				if d := cmp.Diff(out, New([]byte("k")).Overwrite(in)); d != "" {
					t.Errorf("Overwrite differs:\n%s", d)
				}
			}
		})
	}
}

func TestCopySharesNoMemory(t *testing.T) {
	in := simple()
	out := New(nil).Interaction(in)
	out.Request.Header["Content-Type"][0] = "!"
	out.Response.Header.Set("New", "!")
	out.Timeline[0].Length = 99
	if d := cmp.Diff(simple(), in); d != "" {
		t.Errorf("a change of the copy shows in the original:\n%s", d)
	}
}

func TestHarmlessStaysAsItIs(t *testing.T) {
	in := simple()
	in.Request.Header = http.Header{
		"Anthropic-Version": {"2023-06-01"}, "X-Stainless-Lang": {"go"}, "Idempotency-Key": {"0123456789abcdef"},
		"Accept": {"*/*"},
	}
	in.Request.URL += "?alt=sse&pageToken=abcdefghijklmnop&key="
	in.Request.Body = []byte(`{"messages":[{"content":[{"type":"tool_use","input":{"password":"must be longer","api_key":"abcdefghijklmnop"}}]}],"tools":[{"input_schema":{"properties":{"password":{"type":"string"}},"required":["password"]}}]}`)
	in.Response.Header = http.Header{"Request-Id": {"req_011CU0123456789"},
		"Anthropic-Ratelimit-Tokens-Limit": {"4000000"}, "Retry-After": {"3"}}
	in.Response.Body = []byte(`{"signature":"EqQBCkYIBxgCKkAbase64/+","logprobs":[{"token":"abcdefghijklmnop"}]}`)
	if d := cmp.Diff(in, New(nil).Interaction(in)); d != "" {
		t.Errorf("changed:\n%s", d)
	}
}

func TestCookiesLeaveNoName(t *testing.T) {
	in := simple()
	in.Request.Header.Set("Cookie", "a=b")
	in.Response.Header.Add("Set-Cookie", "c=d")
	out := New(nil).Interaction(in)
	if len(out.Request.Header) != 2 || len(out.Response.Header) != 1 {
		t.Errorf("headers %v and %v", out.Request.Header, out.Response.Header)
	}
}

// Dummy keys are ordinary words: replacing them in bodies would corrupt the recording. The names
// and ids of accounts are no secrets at all, but a key in their place is one.
func TestWordsAreNotSecrets(t *testing.T) {
	const key = "Ab3dEf9hIj2kLm5nOp7q"
	in := simple()
	in.Request.Header = http.Header{"X-Api-Key": {"anthropic"}, "Openai-Organization": {"meerkat-burrow-labs"},
		"Openai-Project": {"proj_abcdef0123456789"}, "Anthropic-Workspace-Id": {key}}
	in.Response.Body = []byte(`{"a":"anthropic","o":"meerkat-burrow-labs","p":"proj_abcdef0123456789","w":"` +
		key + `"}`)
	out := New([]byte("k")).Interaction(in)
	if got, want := string(out.Response.Body),
		strings.ReplaceAll(string(in.Response.Body), key, New([]byte("k")).pseudonymFor(key)); got != want {
		t.Errorf("body %s", got)
	}
	for name, isKept := range map[string]bool{"X-Api-Key": false, "Openai-Organization": true, "Openai-Project": true,
		"Anthropic-Workspace-Id": false} {
		if v := out.Request.Header.Get(name); (v == in.Request.Header.Get(name)) != isKept ||
			len(v) != len(in.Request.Header.Get(name)) {
			t.Errorf("%s = %q", name, v)
		}
	}
}

// The same secret is the same token: in every place, on both sides of a match,
// in another process with the same key, but not with another key.
func TestPseudonyms(t *testing.T) {
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz"
	a, b := New([]byte("k")), New([]byte("k"))
	in := simple()
	in.Request.Header = http.Header{"Authorization": {"Bearer " + secret}}
	in.Request.Body = []byte(`{"x":"` + secret + `"}`)
	out := a.Interaction(in)
	again := b.Request(in.Request)
	if !reflect.DeepEqual(out.Request, again) {
		t.Errorf("stored %+v\n asked %+v", out.Request, again)
	}
	tok := strings.TrimPrefix(out.Request.Header.Get("Authorization"), "Bearer ")
	if !strings.HasPrefix(tok, values.Mark) || len(tok) != len(secret) ||
		string(out.Request.Body) != `{"x":"`+tok+`"}` {
		t.Errorf("token %q, body %s", tok, out.Request.Body)
	}
	if other := New([]byte("l")).Request(in.Request); other.Header.Get("Authorization") == out.Request.Header.Get("Authorization") {
		t.Error("another key gives the same token")
	}
	if twice := a.Interaction(out); !reflect.DeepEqual(twice, out) {
		t.Errorf("redacting twice changes\n%+v\n%+v", out, twice)
	}
}

// A short secret is replaced when it is no word.
func TestShortLearnedSecrets(t *testing.T) {
	for secret, isReplaced := range map[string]bool{"zqdTuRHJkilf": true, "oJ3kL9mn": true, "production": false,
		"claudeSonnet": false} {
		in := simple()
		in.Request.Body = []byte(`{"input":"say ` + secret + `"}`)
		r := New(nil)
		r.Learn(secret)
		if got := string(r.Interaction(in).Request.Body); strings.Contains(got, secret) == isReplaced {
			t.Errorf("%s: %s", secret, got)
		}
	}
}

// A short secret is replaced as a word. The code of another character before it is no part of it.
func TestShortSecretsBesideEscapes(t *testing.T) {
	r := New([]byte("k"))
	secret := "kXbWqTn" + "PzLmRvJc"
	r.Learn(secret)
	for before, isWord := range map[string]bool{`\n`: true, `%3D`: true, `\u0022`: true, `\\u0022`: true,
		"u0022": false, "x": false} {
		if got := r.Text(`"` + before + secret + `"`); strings.Contains(got, secret) == isWord {
			t.Errorf("after %s: %s", before, got)
		}
	}
}

// A secret with the code of a letter in it is shorter as JSON.
func TestSecretsWithCodes(t *testing.T) {
	const secret = `Ab3dE` + `\u003c\u003c`
	r := New([]byte("k"))
	r.Learn(secret, `\u003c\u003e\u0026`)
	if got := r.Text("it is " + secret + "."); strings.Contains(got, secret) {
		t.Error(got)
	}
}

// A secret learned once is found in later interactions that do not carry it.
func TestLearnedSecretsAreRemembered(t *testing.T) {
	r := New(nil)
	r.Interaction(simple())
	r.Learn("from-the-environment")
	later := simple()
	later.Request.Header = nil
	later.Response.Body = []byte(canary + " and from-the-environment")
	leaks(t, r.Interaction(later), canary)
	leaks(t, r.Interaction(later), "from-the-environment")
}

func TestRules(t *testing.T) {
	for _, rule := range New(nil).Rules() {
		if rule == "" || strings.ContainsAny(rule, " \t\n") {
			t.Errorf("rule %q cannot stand in a cassette's meta", rule)
		}
	}
}

// Whatever the secret and wherever it stands, it does not survive.
func TestNoSecretSurvives(t *testing.T) {
	var names []string
	for name := range places {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		// What a header can carry; a cookie carries less.
		secret := rapid.StringMatching(`[A-Za-z0-9+/_.~=<>&%-]{16,60}`).Draw(t, "secret")
		place := rapid.SampledFrom(names).Draw(t, "place")
		if strings.Contains(secret, values.Mark) {
			t.Skip("already a pseudonym")
		}
		if !values.HasEntropy(secret) || values.IsReference(secret) {
			t.Skip("could be words, a placeholder or a path")
		}
		in := simple()
		in.Request.Header.Set("X-Api-Key", secret)
		places[place](&in, secret)
		out := New([]byte("k")).Interaction(in)
		leaks(t, out, secret)
		if len(out.Response.Body) != len(in.Response.Body) || len(out.Request.Body) != len(in.Request.Body) {
			t.Errorf("%s: lengths changed", place)
		}
	})
}

func FuzzInteraction(f *testing.F) {
	f.Add("Bearer "+canary, "https://h/?key=x", `{"tools":[{"authorization":"y"}]}`, "data: {\"text\":\"z\"}\n\n")
	f.Add("", "://@?&=", `"\`, "{\"a\":")
	f.Fuzz(func(t *testing.T, credential, url, request, response string) {
		in := cassette.Interaction{
			Request: cassette.Request{URL: url, Header: http.Header{"Authorization": {credential}},
				Body: []byte(request)},
			Response: cassette.Response{Body: []byte(response)},
		}
		out := New([]byte("k")).Interaction(in)
		if len(out.Request.Body) != len(request) || len(out.Response.Body) != len(response) ||
			len(out.Request.URL) != len(url) || len(out.Request.Header.Get("Authorization")) != len(credential) {
			t.Fatalf("lengths changed: %+v", out)
		}
		if secret := values.WithoutScheme(credential); len(secret) >= values.MinSecret && !values.IsPseudonym(secret) {
			leaks(t, out, secret)
		}
	})
}
