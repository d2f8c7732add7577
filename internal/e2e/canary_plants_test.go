package e2e_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What becomes of a planted secret.
const (
	redacted = "redacted" // the interaction is saved, with something else in its place
	dropped  = "dropped"  // what held it is not saved
	refused  = "refused"  // the interaction is not saved, and the exit code says so
)

// plant puts a secret of its own into one place of a request or its reply.
type plant struct {
	name string
	want string
	// prefix makes the secret look like a key of that kind.
	prefix string
	// odd makes it one that is written differently in JSON and in URLs.
	odd bool
	// url is where the request goes; nothing is a place at Anthropic.
	url string
	// ask plants it in the request.
	ask func(r *http.Request, secret string)
	// answer plants it in the reply; nil says no more than ok.
	answer func(w http.ResponseWriter, secret string)
	// place is what the refusal must name.
	place string
}

// cores are the parts of the secret that nothing else has.
func (p plant) cores() []string { return []string{core(p.name, 14), core(p.name+", again", 14)} }

func (p plant) secret() string {
	middle := "0"
	if p.odd {
		middle = `/+<&"%= \é`
	}
	return p.prefix + p.cores()[0] + middle + p.cores()[1]
}

const apiURL = "https://api.anthropic.com/v1/plants"

// Ways to ask.

func header(name, format string) func(*http.Request, string) {
	return func(r *http.Request, s string) { r.Header[name] = append(r.Header[name], fmt.Sprintf(format, s)) }
}

func key(r *http.Request, s string) { r.Header.Set("X-Api-Key", s) }

func body(kind, format string) func(*http.Request, string) {
	return func(r *http.Request, s string) { send(r, kind, fmt.Appendf(nil, format, s)) }
}

// known is a body that quotes the key of its own request.
func known(format string) func(*http.Request, string) {
	return func(r *http.Request, s string) {
		key(r, s)
		send(r, "application/json", fmt.Appendf(nil, format, s))
	}
}

func query(format string) func(*http.Request, string) {
	return func(r *http.Request, s string) { r.URL.RawQuery = fmt.Sprintf(format, url.QueryEscape(s)) }
}

// Ways to answer.

func says(kind, format string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprintf(w, format, s)
	}
}

func replies(name, format string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, s string) { w.Header().Set(name, fmt.Sprintf(format, s)) }
}

// streams answers with an event for each nine bytes, in two chunks each that end
// anywhere.
func streams(format string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := "event: x\n"
		for at := 0; at < len(s); at += 9 {
			text += "data: " + strings.ReplaceAll(format, "PIECE", s[at:min(at+9, len(s))]) + "\n\n"
		}
		text += "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		for ; len(text) > 50; text = text[50:] {
			_, _ = w.Write([]byte(text[:50]))
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write([]byte(text))
	}
}

func packs(encoding string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Encoding", encoding)
		w.Header().Set("Content-Type", "application/json")
		text := []byte(`{"error":"bad key ` + s + `"}`)
		if encoding == "deflate" {
			z := zlib.NewWriter(w)
			_, _ = z.Write(text)
			_ = z.Close()
			return
		}
		_, _ = w.Write(zipped(text))
	}
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

func coded(s string) string { return base64.StdEncoding.EncodeToString([]byte("key=" + s)) }

const (
	form = "application/x-www-form-urlencoded"
	js   = "application/json"
)

// plants is every place of a request and a reply.
var plants = []plant{
	// The request's header.
	{name: "Authorization", want: redacted, ask: header("Authorization", "Bearer %s")},
	{name: "x-api-key", want: redacted, ask: header("X-Api-Key", "%s"), prefix: "sk-ant-api03-"},
	{name: "api-key", want: redacted, ask: header("Api-Key", "%s")},
	{name: "x-goog-api-key", want: redacted, ask: header("X-Goog-Api-Key", "%s"), prefix: "AIza"},
	{name: "x-auth-token", want: redacted, ask: header("X-Auth-Token", "%s")},
	{name: "x-amz-security-token", want: redacted, ask: header("X-Amz-Security-Token", "%s")},
	{name: "subscription key", want: redacted, ask: header("Ocp-Apim-Subscription-Key", "%s")},
	{name: "gateway's key", want: redacted, ask: header("Helicone-Auth", "Bearer %s")},
	{name: "AWS signature", want: redacted,
		ask: header("Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us/bedrock, Signature=%s")},
	{name: "second value", want: redacted,
		ask: func(r *http.Request, s string) { r.Header["X-Api-Key"] = []string{"dummy", s} }},
	{name: "basic password", want: redacted, ask: func(r *http.Request, s string) { r.SetBasicAuth("u", s) },
		answer: says("text/plain", "no such user: %s")},
	{name: "basic user", want: redacted, ask: func(r *http.Request, s string) { r.SetBasicAuth(s, "") },
		answer: says("text/plain", "no such user: %s")},
	{name: "account", want: redacted, ask: header("Openai-Organization", "org:%s"),
		answer: says(js, `{"error":"org:%s is over its limit"}`)},
	{name: "unlisted header", want: redacted, ask: header("X-Our-Gateway", "%s"),
		answer: says("text/plain", "who is %s?")},
	{name: "unlisted header named like a key", want: redacted, ask: header("X-Acme-Secret", "%s"),
		answer: says("text/plain", "who is %s?")},
	{name: "harmless header", want: redacted,
		ask: func(r *http.Request, s string) { key(r, s); r.Header.Set("User-Agent", "agent ("+s+")") }},
	{name: "idempotency key", want: redacted,
		ask: func(r *http.Request, s string) { key(r, s); r.Header.Set("Idempotency-Key", s) }},
	{name: "cookie", want: dropped, ask: header("Cookie", "a=b; session=%s"),
		answer: says("text/plain", "your session %s ended")},
	{name: "proxy-authorization", want: dropped, ask: header("Proxy-Authorization", "Basic %s")},
	{name: "header of the connection", want: dropped,
		ask: func(r *http.Request, s string) { r.Header["Connection"] = []string{"X-Hop"}; r.Header.Set("X-Hop", s) }},
	// Its URL.
	{name: "key parameter", want: redacted, ask: query("alt=sse&key=%s"),
		answer: says(js, `{"error":"API key %s is not valid"}`)},
	{name: "key parameter, escaped", want: redacted, odd: true, ask: query("key=%s")},
	{name: "access token parameter", want: redacted, ask: query("Access_Token=%s&x=1")},
	{name: "signature parameter", want: redacted, ask: query("X-Amz-Signature=%s")},
	{name: "token parameter", want: redacted, ask: query("a=1&token=%s")},
	{name: "known in another parameter", want: redacted,
		ask: func(r *http.Request, s string) { key(r, s); query("q=%s")(r, s) }},
	{name: "known in the path", want: redacted,
		ask: func(r *http.Request, s string) { key(r, s); r.URL.Path += "/of/" + s }},
	{name: "user info", want: redacted, ask: func(r *http.Request, s string) { r.URL.User = url.UserPassword("u", s) }},
	// Its body.
	{name: "form", want: redacted, ask: body(form, "grant_type=refresh&client_secret=%s&x=1")},
	{name: "form, escaped", want: redacted, odd: true, ask: func(r *http.Request,
		s string) {
		send(r, form, []byte("password="+url.QueryEscape(s)))
	}, answer: says("text/plain", "wrong: %s")},
	{name: "multipart", want: redacted, ask: func(r *http.Request, s string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("purpose", "x")
		_ = w.WriteField("api_key", s)
		_ = w.Close()
		send(r, w.FormDataContentType(), b.Bytes())
	}},
	{name: "tool's authorization", want: redacted, ask: body(js, `{"tools":[{"type":"mcp","authorization":"%s"}]}`)},
	{name: "MCP server's token", want: redacted, ask: body(js, `{"mcp_servers":[{"authorization_token":"%s"}]}`),
		answer: says(js, `{"error":"%s was rejected"}`)},
	{name: "tool's header", want: redacted, ask: body(js, `{"tools":[{"headers":{"X-Whatever":"%s"}}]}`)},
	{name: "tool's URL", want: redacted, ask: body(js, `{"tools":[{"server_url":"https://h/sse?token=%s"}]}`)},
	{name: "tool's user info", want: redacted, ask: body(js, `{"tools":[{"server_url":"https://user:%s@h/"}]}`)},
	{name: "metadata", want: redacted, ask: body(js, `{"metadata":{"api_key":"%s"}}`)},
	{name: "gateway's field", want: redacted, ask: body(js, `{"model":"m","api_key":"%s"}`)},
	{name: "message", want: redacted, ask: known(`{"messages":[{"content":"my key is %s!"}]}`)},
	{name: "nested strings", want: redacted, ask: known(`{"a":[[{"b":["%s"]}]]}`)},
	{name: "JSON in JSON", want: redacted, odd: true, ask: func(r *http.Request, s string) {
		key(r, s)
		send(r, js, []byte(`{"arguments":"`+inJSON(`{"k":"`+inJSON(s)+`"}`)+`"}`))
	}},
	{name: "base64", want: redacted,
		ask: func(r *http.Request, s string) { key(r, s); send(r, js, []byte(`{"file":"`+coded(s)+`"}`)) }},
	{name: "compressed request", want: redacted, ask: func(r *http.Request, s string) {
		key(r, s)
		send(r, js, zipped([]byte(`{"k":"`+s+`"}`)))
		r.Header.Set("Content-Encoding", "gzip")
	}},
	{name: "large request", want: redacted, ask: func(r *http.Request, s string) {
		key(r, s)
		send(r, js, []byte(`{"a":"`+strings.Repeat("some words ", 60_000)+s+`"}`))
	}},
	{name: "environment", want: redacted, ask: body(js, `{"messages":[{"content":"env says %s"}]}`)},
	// The reply.
	{name: "error text", want: redacted, ask: key, prefix: "sk-proj-", answer: func(w http.ResponseWriter, s string) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s. You can find your API key at …"}}`,
			s)
	}},
	{name: "challenge", want: redacted, ask: key, answer: replies("Www-Authenticate", `Bearer realm="%s"`)},
	{name: "redirect", want: redacted, answer: func(w http.ResponseWriter, s string) {
		w.Header().Set("Location", "https://h/cb?access_token="+s)
		w.WriteHeader(http.StatusFound)
		_, _ = fmt.Fprintf(w, "moved to %s", s)
	}},
	{name: "set-cookie", want: dropped, answer: func(w http.ResponseWriter, s string) {
		w.Header().Set("Set-Cookie", "__cf_bm="+s+"; Path=/; HttpOnly")
		_, _ = fmt.Fprintf(w, `{"cookie":"%s"}`, s)
	}},
	{name: "unlisted reply header", want: redacted, answer: replies("X-Debug", "%s")},
	{name: "reply header named like a key", want: redacted, answer: func(w http.ResponseWriter, s string) {
		w.Header().Set("X-Refresh-Token", s)
		_, _ = fmt.Fprintf(w, "next time use %s", s)
	}},
	{name: "known in a harmless reply header", want: redacted, ask: key, answer: replies("Via", "1.1 %s")},
	{name: "reply", want: redacted, ask: key, answer: says(js, `{"content":[{"text":"it is %s"}]}`)},
	{name: "reply, escaped", want: redacted, odd: true, ask: key, answer: func(w http.ResponseWriter, s string) {
		says(js, `{"text":"it is %s"}`)(w, strings.ReplaceAll(inJSON(s), "/", `\/`))
	}},
	{name: "URL in a reply", want: redacted, odd: true, ask: key, answer: func(w http.ResponseWriter, s string) {
		says(js, `{"next":"https://h/?k=%s"}`)(w, url.QueryEscape(s))
	}},
	{name: "base64 in a reply", want: redacted, ask: key,
		answer: func(w http.ResponseWriter, s string) { says(js, `{"b":"%s"}`)(w, coded(s)) }},
	{name: "stream", want: redacted, ask: key, answer: streams(`{"delta":{"text":"PIECE"}}`)},
	{name: "stream of arguments", want: redacted, ask: key, answer: streams(`{"delta":{"partial_json":"PIECE"}}`)},
	{name: "streams that take turns", want: redacted, ask: key,
		answer: streams("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"PIECE\"}}]}\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"PIECE\"}}]}")},
	{name: "chunks of a reply", want: redacted, ask: key, answer: func(w http.ResponseWriter, s string) {
		for at := range s {
			_, _ = w.Write([]byte(s[at : at+1]))
			w.(http.Flusher).Flush()
		}
	}},
	{name: "gzip", want: redacted, ask: key, answer: packs("gzip")},
	{name: "deflate", want: redacted, ask: key, answer: packs("deflate")},
	{name: "large reply", want: redacted, ask: key, answer: func(w http.ResponseWriter, s string) {
		says(js, `{"text":"`+strings.Repeat("some words ", 60_000)+`%s"}`)(w, s)
	}},
	{name: "cut reply", want: redacted, ask: key, answer: func(w http.ResponseWriter, s string) {
		says("text/event-stream", "data: {\"text\":\"%s")(w, s)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}},
	{name: "trailer", want: redacted, answer: func(w http.ResponseWriter, s string) {
		_, _ = w.Write([]byte("ok"))
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+"X-Sum", s)
	}},
	{name: "known in a harmless trailer", want: redacted, ask: key, answer: func(w http.ResponseWriter, s string) {
		_, _ = w.Write([]byte("ok"))
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+"Server-Timing", s)
	}},
	{name: "token endpoint", want: redacted, answer: says(js, `{"access_token":"%s","expires_in":3599}`)},
	{name: "refresh token", want: redacted, answer: says(js, "{\n \"refresh_token\" : \"%s\"\n}")},
	{name: "identity token", want: redacted, prefix: "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.",
		answer: says(js, `{"id_token":"%s"}`)},
	{name: "client secret", want: redacted, answer: says(js, `{"client_secret":{"value":"%s","expires_at":1}}`)},
	{name: "no upstream", want: redacted, url: "https://api.openai.com/v1/plants", ask: query("key=%s")},
	{name: "no upstream, path", want: redacted, url: "https://api.openai.com/v1/plants",
		ask: func(r *http.Request, s string) { key(r, s); r.URL.Path += "/" + s }},

	// What nobody could know: the gate.
	{name: "unknown Anthropic key", want: refused, prefix: "sk-ant-api03-", answer: says(js, `{"text":"use %s"}`),
		place: "the response body holds what looks like an Anthropic key"},
	{name: "unknown OpenAI key, streamed", want: refused, prefix: "sk-proj-",
		answer: streams(`{"delta":{"text":"PIECE"}}`), place: "the response body holds what looks like an OpenAI key"},
	{name: "unknown key after a line", want: refused, prefix: "sk-ant-api03-", ask: body(js, `{"text":"key:\n%s"}`),
		place: "the request body holds what looks like an Anthropic key"},
	{name: "unknown Google key", want: refused, prefix: "AIza0123456", ask: body(js, `{"arguments":"{\"k\":\"%s\"}"}`),
		place: "the request body holds what looks like a Google API key"},
	{name: "unknown GitHub token", want: refused, prefix: "ghp_0123456", ask: header("User-Agent", "agent/1 %s"),
		place: "the request header User-Agent holds what looks like a GitHub token"},
	{name: "unknown token in a trailer", want: refused, prefix: "hf_0123456",
		answer: func(w http.ResponseWriter, s string) {
			_, _ = w.Write([]byte("ok"))
			w.(http.Flusher).Flush()
			w.Header().Set(http.TrailerPrefix+"Server-Timing", s)
		}, place: "the trailer Server-Timing holds what looks like a Hugging Face token"},
	{name: "unknown token in the query", want: refused, prefix: "ya29.", ask: query("q=%s"),
		place: "the URL holds what looks like a Google access token"},
	{name: "unknown signed token", want: redacted, prefix: "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.",
		answer: says(js, `{"next":"%s"}`)},
	{name: "unknown key in base64", want: refused, prefix: "sk-ant-api03-",
		answer: func(w http.ResponseWriter, s string) {
			says(js, `{"b":"%s"}`)(w, base64.StdEncoding.EncodeToString([]byte("see "+s)))
		}, place: "the response body holds what looks like an Anthropic key"},
	{name: "unknown private key", want: redacted, prefix: "-----BEGIN RSA " + "PRIVATE KEY-----\\n",
		answer: says(js, `{"pem":"%s"}`)},
	{name: "known in a header's name", want: refused,
		ask:   func(r *http.Request, s string) { key(r, s); r.Header["X-"+s] = []string{"1"} },
		place: "the name of a header holds a credential this process has used"},
	{name: "known, packed in base64", want: refused, ask: func(r *http.Request, s string) {
		key(r, s)
		send(r, js, []byte(`{"file":"`+base64.StdEncoding.EncodeToString(zipped([]byte(s)))+`"}`))
	}, place: "the request body holds a credential this process has used"},
	{name: "known, packed and undeclared", want: refused, ask: key, answer: func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(zipped([]byte(s)))
	}, place: "the response body holds a credential this process has used"},
}

// There are as many as were asked for, and each has a secret of its own.
func TestPlants(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range plants {
		if seen[p.name] || seen[p.secret()] {
			t.Errorf("%s: twice", p.name)
		}
		seen[p.name], seen[p.secret()] = true, true
	}
	if len(plants) < 60 {
		t.Errorf("%d plants", len(plants))
	}
}
