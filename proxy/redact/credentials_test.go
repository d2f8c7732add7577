package redact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// secretAt makes a secret that nothing but its place gives away.
func secretAt(n int) string { return fmt.Sprintf("%04dplainWordsOnly%04dmore", n, n) }

// A code is a secret where tokens are issued, as in a form; elsewhere it is code, unless
// the document says what it is for.
func TestCodesOfTokenEndpoints(t *testing.T) {
	body := `{"code":"` + secretAt(1) + `"}`
	for path, isSecret := range map[string]bool{"/v1/oauth/token": true, "/v1/messages": false} {
		in := simple()
		in.Request.URL, in.Request.Body = "https://api.example.com"+path, []byte(body)
		if got := New(nil).Interaction(in).Request.Body; strings.Contains(string(got), secretAt(1)) == isSecret {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A short token that its endpoint issues looks like words and numbers.
func TestShortIssuedTokens(t *testing.T) {
	for _, token := range []string{"quLcLzbt8ki8", "oJBYjKavUYUz"} {
		in := simple()
		in.Response.Header = http.Header{"Content-Type": {"application/json"}}
		in.Request.URL, in.Response.Body = "https://api.example.com/oauth/token",
			[]byte(`{"refreshToken":"`+token+`","error":{"token":"invalid_token"}}`)
		if got := string(New(nil).Interaction(in).Response.Body); strings.Contains(got, token) ||
			!strings.Contains(got, "invalid_token") {
			t.Error(got)
		}
	}
}

// Credentials that stand in bodies are known by their names alone, and what
// looks like them in a conversation stays.
func TestCredentialsInBodies(t *testing.T) {
	form, multipart := "application/x-www-form-urlencoded", `multipart/form-data; boundary="b=x"`
	requests := map[string]struct{ kind, body string }{
		"form":            {form, "grant_type=x&client_secret=%s&next=1"},
		"form, last":      {form + "; charset=utf-8", "refresh%%5Ftoken=%s"},
		"JSON as a form":  {form, `{"model":"m","api_key":"%s"}`},
		"deep, as a form": {form, `{"tools":[{"headers":{"Authorization":"Bearer %s"}}]}`},
		"multipart": {multipart,
			"--b=x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n%s\r\n--b=x--"},
		"multipart, torn":  {multipart, "--b=x\r\nContent-Disposition: form-data; name=api_key\r\n\r\n%s"},
		"top of JSON":      {"", `{"grant_type":"x","refresh_token":"%s"}`},
		"MCP header":       {"", `{"mcp_servers":[{"headers":{"X-Our-Name":"%s"}}]}`},
		"tool's URL":       {"", `{"tools":[{"type":"mcp","server_url":"https://h/sse?token=%s&x=1"}]}`},
		"tool's user info": {"", `{"tools":[{"server_url":"https://user:%s@h/"}]}`},
		"metadata":         {"", `{"metadata":{"api_key":"%s"}}`},
		"MCP environment":  {"", `{"mcp_servers":[{"command":"x","env":{"GITHUB_PAT":"%s"}}]}`},
		"MCP flag":         {"", `{"mcp_servers":[{"command":"x","args":["serve","--access_token","%s"]}]}`},
		"MCP flag, joined": {"", `{"mcp_servers":[{"command":"x","args":["--api-key=%s","-v"]}]}`},
		"gateway":          {"", `{"extra_headers":{"Helicone-Auth":"Bearer %s"}}`},
	}
	for name, c := range requests {
		kinds := []string{c.kind}
		if c.kind != multipart { // which says in its type where its parts begin
			kinds = []string{"", "application/json", form, multipart, "text/plain", "application/octet-stream",
				"not a type"}
		}
		for _, kind := range kinds {
			secret := secretAt(len(name))
			in := simple()
			in.Request.Header = http.Header{"Content-Type": {kind}}
			in.Request.Body = fmt.Appendf(nil, c.body, secret)
			in.Response.Body = []byte("you sent " + secret)
			check(t, name+" as "+kind, in, secret)
		}
	}
	for name, body := range map[string]string{
		"access token": `{"access_token":"%s","expires_in":3599}`,
		"camel case":   `[{"accessToken" : "%s"}]`,
		"nested":       `{"credentials":{"secretAccessKey":"%s"}}`,
		"value":        `{"client_secret":{"value":"%s","expires_at":1}}`,
	} {
		secret := secretAt(len(name))
		in := simple()
		in.Response.Header = http.Header{"Content-Type": {"application/json"}}
		in.Response.Body = fmt.Appendf(nil, body, secret)
		in.Response.Trailer = http.Header{"X-Checksum": {secret}}
		check(t, name, in, secret)
	}
}

func check(t *testing.T, name string, in cassette.Interaction, secret string) {
	t.Helper()
	r := New([]byte("k"))
	out := r.Interaction(in)
	leaks(t, out, secret)
	if len(out.Request.Body) != len(in.Request.Body) || len(out.Response.Body) != len(in.Response.Body) {
		t.Errorf("%s: a length changed:\n%s", name, text(out))
	}
	if again := r.Interaction(out); text(again) != text(out) {
		t.Errorf("%s: redacting twice changes\n%s\n%s", name, text(out), text(again))
	}
}

// In a conversation a name alone makes no credential: a value that can be guessed stays.
func TestConversationsAreNotCredentials(t *testing.T) {
	in := simple()
	in.Request.Header = nil
	in.Request.Body = []byte(`{"messages":[{"metadata":{"api_key":"opaque-value-12"},"headers":{"X":"opaque-value-12"}}],"tools":[{"headers":{"Accept":"text/x"},"server_url":"https://h/?a=opaque-value-12"}]}`)
	in.Response.Header = http.Header{"Content-Type": {"application/json"}}
	in.Response.Body = []byte(`{"content":[{"type":"tool_use","input":{"access_token":"opaque-value-12","client_secret":"opaque-value-12"}}]}`)
	if out := New(nil).Interaction(in); text(out) != text(in) {
		t.Errorf("changed:\n%s", text(out))
	}
}

// Short secrets: replaced where credentials stand whatever their length, looked
// for elsewhere from 8 bytes as words, from 16 bytes anywhere; what they become
// is the same under every key.
func TestShortSecrets(t *testing.T) {
	for secret, echo := range map[string]string{
		"abc":             "abcdef abc",
		"anthropic":       "anthropic says",
		"hunter2!":        "HIDDEN and xhunter2!",
		"k3y-of-15-bytes": "HIDDEN.",
	} {
		in := simple()
		in.Request.Header = http.Header{"X-Api-Key": {secret}, "Authorization": {"Bearer " + secret}}
		in.Request.Body = []byte(strings.ReplaceAll(echo, "HIDDEN", secret))
		a, b := New([]byte("a")), New([]byte("b"))
		out := a.Interaction(in)
		want := strings.ReplaceAll(echo, "HIDDEN", values.LongMark[:len(secret)])
		if got := string(out.Request.Body); got != want {
			t.Errorf("%s: body %q, want %q", secret, got, want)
		}
		if got := out.Request.Header.Get("X-Api-Key"); got != values.LongMark[:len(secret)] {
			t.Errorf("%s: header %q", secret, got)
		}
		if text(b.Interaction(in)) != text(out) || text(a.Interaction(out)) != text(out) {
			t.Errorf("%s: depends on the key, or changes when redacted twice", secret)
		}
	}
}

// Streams that take turns under one name cannot hide a secret between them.
func TestInterleavedStreams(t *testing.T) {
	const secret = "sk-ant-api03-0123456789abcdefghijklmnop"
	in := simple()
	in.Request.Header.Set("X-Api-Key", secret)
	in.Response.Body = nil
	for at := 0; at < len(secret); at += 4 {
		for choice := range 2 {
			piece, _ := json.Marshal(secret[at:min(at+4, len(secret))])
			in.Response.Body = fmt.Appendf(in.Response.Body,
				"data: {\"choices\":[{\"index\":%d,\"delta\":{\"content\":%s}}]}\n\n", choice, piece)
		}
	}
	out := New(nil).Interaction(in)
	for choice := range 2 {
		var said strings.Builder
		for line := range strings.Lines(string(out.Response.Body)) {
			var e struct {
				Choices []struct {
					Index int
					Delta struct{ Content string }
				}
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e) == nil && e.Choices[0].Index == choice {
				said.WriteString(e.Choices[0].Delta.Content)
			}
		}
		if strings.Contains(said.String(), secret[:12]) || len(said.String()) != len(secret) {
			t.Errorf("choice %d says %q", choice, said.String())
		}
	}
}

// Pieces are put together however long the texts between them are.
func TestPiecesAcrossWindows(t *testing.T) {
	const secret = "sk-ant-api03-0123456789abcdefghijklmnop"
	for _, fill := range []int{0, 10, window - len(secret), window - 3, window, 3 * window, 2*130 + 1} {
		in := simple()
		in.Request.Header.Set("X-Api-Key", secret)
		in.Response.Body = fmt.Appendf(nil,
			"data: {\"t\":\"%s%s\"}\n\ndata: {\"t\":\"%s\"}\n\ndata: {\"t\":\"%s%s\"}\n\n",
			strings.Repeat("x", fill), secret[:5], secret[5:20], secret[20:], strings.Repeat("y", fill))
		got := string(New(nil).Interaction(in).Response.Body)
		for _, piece := range []string{secret[:5] + `"`, secret[5:20], secret[20:]} {
			if strings.Contains(got, piece) {
				t.Errorf("%d bytes around: %q survives", fill, piece)
			}
		}
		if len(got) != len(in.Response.Body) || strings.Count(got, "x") < fill || strings.Count(got, "y") < fill {
			t.Errorf("%d bytes around: the rest changed", fill)
		}
	}
}

// A stream may be cut anywhere, also where a string begins.
func TestCutStreams(t *testing.T) {
	const whole = "data: {\"args\":\"--token\",\"headers\":{\"X-Key\":\"v\"}}\n\n"
	for n := range len(whole) {
		in := simple()
		in.Response.Body = []byte(whole[:n])
		if out := New(nil).Interaction(in); len(out.Response.Body) != n {
			t.Errorf("%d bytes became %d", n, len(out.Response.Body))
		}
	}
}

// Late tells when what was redacted may hold what was not known then.
func TestLate(t *testing.T) {
	r := New(nil)
	r.Learn(secretAt(1))
	first := simple()
	first.Response.Body = []byte("a later key: " + secretAt(2))
	kept := r.Interaction(first)
	if r.Late() != 0 {
		t.Fatal("late before a second interaction")
	}
	again := simple()
	again.Request.Header.Set("X-Api-Key", canary)
	if r.Interaction(again); r.Late() != 0 {
		t.Fatal("late without a new secret")
	}
	again.Request.Header.Set("Cookie", "session="+secretAt(2))
	if r.Interaction(again); r.Late() != 2 {
		t.Fatal("a new secret is late for the two before it")
	}
	leaks(t, r.Interaction(kept), secretAt(2))
	if got := r.Text("dial " + secretAt(2)); strings.Contains(got, "plainWords") {
		t.Errorf("text %q", got)
	}
}

// A header with a new value each time holds ids: they are not collected.
func TestGuessesAreBounded(t *testing.T) {
	r := New(nil)
	for n := range 100 {
		in := simple()
		in.Request.Header.Set("X-Trace", fmt.Sprintf("1-abcdef01-%024d", n))
		r.Interaction(in)
	}
	got := 0
	for _, l := range r.known.layers {
		got += len(l.secrets)
	}
	if got != 1+maxGuesses {
		t.Errorf("%d secrets", got)
	}
}

// Whatever a body claims to be, its length stays, and what is replaced once is
// left alone the second time.
func FuzzBody(f *testing.F) {
	f.Add("application/x-www-form-urlencoded", "a=b&client_secret=0123456789abcdef&=&&x", `{"access_token":"x`)
	f.Add("multipart/form-data; boundary=b",
		"--b\r\nContent-Disposition: form-data; name=key\r\n\r\nv\r\n--b--", "[{}]")
	f.Add("application/json", `{"tools":[{"headers":{"X":"y"},"u":"https://a:b@c?key=d#e"}],"password":"\u00e9\`,
		`data: {"index":1}`)
	f.Fuzz(func(t *testing.T, kind, asked, answered string) {
		in := simple()
		in.Request.Header.Set("Content-Type", kind)
		in.Request.Body = []byte(asked)
		in.Response.Header.Set("Content-Type", kind)
		in.Response.Body = []byte(answered)
		r := New([]byte("k"))
		out := r.Interaction(in)
		if len(out.Request.Body) != len(asked) || len(out.Response.Body) != len(answered) {
			t.Fatalf("lengths changed: %q, %q", out.Request.Body, out.Response.Body)
		}
		if string(in.Request.Body) != asked || string(in.Response.Body) != answered {
			t.Fatal("the input changed")
		}
	})
}

// A body of nothing but credentials takes time in proportion to its length.
func TestManyCredentials(t *testing.T) {
	in := simple()
	in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for n := range 4000 {
		in.Request.Body = fmt.Appendf(in.Request.Body, "&key=%016d-credential", n)
	}
	began := time.Now()
	New(nil).Interaction(in)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// A client that follows a redirect must get to the same place on replay.
func TestRedirectsStay(t *testing.T) {
	r := New([]byte("k"))
	in := simple()
	in.Response.Header = http.Header{"Location": {"/v1/messages/next?page=2&token=aSecretOf24Characters000"}}
	got := r.Interaction(in).Response.Header.Get("Location")
	if !strings.HasPrefix(got, "/v1/messages/next?page=2&token=REDACTED") || strings.Contains(got, "aSecret") {
		t.Errorf("Location: %s", got)
	}
}

// What is not a flag for a credential stays: a tool's arguments tell it what to do.
func TestOtherArgumentsStay(t *testing.T) {
	r := New([]byte("k"))
	in := simple()
	in.Request.Body = []byte(`{"mcp_servers":[{"args":["--token=","--verbose","--path","/srv/data","token"],"env":{}}],"messages":[{"content":"args: --token abcdefghijklmnop12"}]}`)
	if got := r.Interaction(in).Request.Body; string(got) != string(in.Request.Body) {
		t.Errorf("changed to %s", got)
	}
}

// A body of nothing but braces costs no memory, and what follows it is read
// where it stands.
func TestDeepBodies(t *testing.T) {
	in := simple()
	in.Request.Body = []byte(strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) +
		`{"api_key":"plainWordsOnlyAndMore"}`)
	in.Response.Body = nil
	check(t, "behind depth", in, "plainWordsOnlyAndMore")
}
