package evidence

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meerkat-go/conformance/proxy/cassette"
	_ "github.com/meerkat-go/conformance/wires/all"
)

func TestBadCase(t *testing.T) {
	for name, want := range map[string]string{
		"a/case/02.request.json":  "root/a/case/02.request.json: unreadable JSON",
		"a/case/02.response.json": "root/a/case/02.response.json: unreadable JSON",
	} {
		fsys := corpusCase()
		fsys[name] = &fstest.MapFile{Data: []byte("{")}
		if _, err := FindFS(fsys, "root")[0].Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fsys := corpusCase()
	delete(fsys, "a/case/02.response.body")
	if _, err := FindFS(fsys, "root")[0].Read(); err == nil ||
		!strings.Contains(err.Error(), "02.response.body: file does not exist; check") {
		t.Error(err)
	}
}

// locked is a file system with one directory nobody may list: the tests may run
// as root, who may list them all.
type locked struct{ fstest.MapFS }

func (l locked) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "b" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.ReadDir(name)
}

func TestUnreadableDirectoryIsReported(t *testing.T) {
	found := FindFS(locked{corpusCase()}, "root")
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	if _, err := found[0].Read(); err != nil {
		t.Error("the rest is still read:", err)
	}
	_, err := found[1].Read()
	if !errors.Is(err, fs.ErrPermission) ||
		err.Error() != "root/b: permission denied; check the path and its permissions" {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.yaml": vcrpy("body: x", "body: y"), "notes.yaml": "a: 1",
		"bad.yaml": "interactions:\n - {a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Load(dir)
	if len(all) != 1 || err == nil || !strings.Contains(err.Error(), "bad.yaml: is unreadable") ||
		strings.Contains(err.Error(), "notes") {
		t.Fatal(len(all), err)
	}
	if _, err := Load(filepath.Join(dir, "notes.yaml")); !errors.Is(err, ErrNotRecording) {
		t.Error("a file asked for by name is not passed over:", err)
	}
	if _, err := Load(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasSuffix(err.Error(), "check the path and its permissions") {
		t.Error(err)
	}
}

func TestProvider(t *testing.T) {
	for _, c := range []struct{ url, body, provider, reason string }{
		{"https://api.anthropic.com/v1/messages", "", Anthropic, ""},
		{"https://api.anthropic.com/v1/messages/count_tokens", "", "", "counts tokens only"},
		{"https://api.anthropic.com/v1/models?limit=5", "", "", "no generation, nothing to judge"},
		{"https://api.anthropic.com/v1/messages/batches", "", "", "no generation, nothing to judge"},
		{"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4@20250514:streamRawPredict", "", Anthropic, ""},
		{"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "", "", "counts tokens only"},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-3-haiku/invoke", `{"messages":[]}`,
			Anthropic, ""},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-3-haiku/invoke-with-response-stream", `{"messages":[]}`,
			Anthropic, ""},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2/invoke", `{"prompt":"Human:"}`, "",
			"the Bedrock API is not judged"},
		{"https://x.services.ai.azure.com/anthropic/v1/messages", `{"messages":[]}`, Anthropic, ""},
		{"http://127.0.0.1:9/v1/messages", `{"messages":[]}`, Anthropic, ""},
		{"http://mail.example.com/v1/messages", `{"to":"you"}`, "", unknownProvider()},
		{"https://api.openai.com/v1/responses", "", OpenAI, ""},
		{"https://api.openai.com/v1/responses/resp_1?stream=true", "", OpenAI, ""},
		{"https://api.openai.com/v1/responses/compact", "", OpenAI, ""},
		{"https://api.openai.com/v1/responses/resp_1/cancel", "", "", "no generation, nothing to judge"},
		{"https://api.openai.com/v1/responses/input_tokens", "", "", "counts tokens only"},
		{"https://api.openai.com/v1/chat/completions", "", "chat", ""},
		{"http://localhost:11434/v1/chat/completions", `{"messages":[]}`, "chat", ""},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-3-haiku/converse", "", "",
			"the Bedrock API is not judged"},
		{"https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1:0/invoke", "", "",
			"the Bedrock API is not judged"},
		{"http://localhost:11434/api/chat", "", "", "the Ollama API is not judged"},
		{"https://generativelanguage.googleapis.com/v1beta/interactions", "", "",
			"the Interactions API of Gemini is not judged"},
		{"https://example.com/blog/api/chats", "", "", unknownProvider()},
		{"https://me.openai.azure.com/openai/responses?api-version=preview", "", OpenAI, ""},
		{"https://chatgpt.com/backend-api/codex/responses", "", OpenAI, ""},
		{"http://localhost:1234/v1/responses", `{"input":"x"}`, OpenAI, ""},
		{"http://localhost:1234/survey/responses", `{"answer":"x"}`, "", unknownProvider()},
		{"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "",
			Gemini, ""},
		{"https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "",
			Gemini, ""},
		{"https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", "", "", "counts tokens only"},
		{"https://generativelanguage.googleapis.com/v1beta/models?key=x", "", "", "no generation, nothing to judge"},
		{"https://gateway.example.com/v1beta/models/g:generateContent", `{"contents":[]}`, Gemini, ""},
		{"https://example.com/", "", "", unknownProvider()},
		{"https://evil-anthropic.com/v1/messages", "", "", unknownProvider()},
		{"http://[bad", "", "", "unreadable URL"},
	} {
		provider, reason := Provider(Request{Method: http.MethodPost, URL: c.url, Body: []byte(c.body)})
		if provider != c.provider || reason != c.reason {
			t.Errorf("%s: %q, %q", c.url, provider, reason)
		}
	}
}

// TestRefusedOperations holds that a request of any operation that is refused for its form is judged,
// and that one that is answered is not.
func TestRefusedOperations(t *testing.T) {
	for _, c := range []struct {
		url, body string
		status    int
		provider  string
	}{
		{"https://api.anthropic.com/v1/messages/count_tokens", "{}", 400, Anthropic},
		{"https://api.anthropic.com/v1/messages/batches", "{}", 400, Anthropic},
		{"https://api.openai.com/v1/responses/input_tokens", "{}", 400, OpenAI},
		{"https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", "{}", 400, Gemini},
		{"https://generativelanguage.googleapis.com/v1beta/cachedContents", "{}", 422, Gemini},
		{"https://api.anthropic.com/v1/messages/count_tokens", "{}", 200, ""},
		{"https://api.anthropic.com/v1/messages/count_tokens", "{}", 429, ""},
		{"https://api.anthropic.com/v1/messages/batches", "", 400, ""},
		{"https://gateway.example.com/v1/messages/count_tokens", "{}", 400, ""},
		{"https://api.openai.com/v1/chat/completions", "{}", 400, "chat"},
	} {
		in := cassette.Interaction{Request: cassette.Request{Method: http.MethodPost, URL: c.url, Body: []byte(c.body)},
			Response: cassette.Response{Status: c.status, Body: []byte("{}")}}
		ex, reason := newExchange(0, in)
		if ex.Provider != c.provider || (reason == "") != (c.provider != "") {
			t.Errorf("%s (%d): %q, %q", c.url, c.status, ex.Provider, reason)
		}
	}
}

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPackedExchanges(t *testing.T) {
	in := interactions()[1]
	in.Response.Body = gzipped(t, gotBody)
	in.Request.Body = gzipped(t, sentBody)
	ev, _ := FromInteractions("c", SourceCassette, interactionsOf(in))
	if len(ev.Exchanges) != 1 || string(ev.Exchanges[0].Response.Body) != gotBody ||
		string(ev.Exchanges[0].Request.Body) != sentBody {
		t.Fatalf("%+v", ev)
	}
	if ev.Exchanges[0].Response.Chunks != nil {
		t.Error("chunks of compressed bytes say nothing about the decoded ones")
	}
	in.Response.Body, in.Response.Header = []byte("\xff\xfe"), http.Header{"Content-Encoding": {"compress"}}
	_, skipped := FromInteractions("c", SourceCassette, interactionsOf(in))
	if len(skipped) != 1 || !strings.Contains(skipped[0].Reason, "the response body is compressed") {
		t.Fatalf("%+v", skipped)
	}
}

func TestBodyNotRecorded(t *testing.T) {
	rec, err := readText("x.har", har("1.2", `"size":900`))
	if err != nil || rec.Evidence.Exchanges[0].Response.Body != nil {
		t.Fatal("a body the tool did not keep is nil, not empty", err)
	}
	rec, err = readText("x.yaml", vcrpy("body: null", "body: {string: ''}"))
	if err != nil || rec.Evidence.Exchanges[0].Request.Body != nil || rec.Evidence.Exchanges[0].Response.Body == nil {
		t.Fatal("null is not recorded, '' is empty", err)
	}
}

func TestParsedBody(t *testing.T) {
	rec, err := readText("x.yaml", vcrpy(`parsed_body:
      model: m
      messages: &m
      - {role: user, content: "a <b> ü"}
      big: 123456789012345678901234567890
      f: 1.50
      x: 0x10
      none: null
      yes: true
      t: 2024-01-01
      again: *m`, "parsed_body: []"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"model":"m","messages":[{"role":"user","content":"a <b> ü"}],"big":123456789012345678901234567890,"f":1.50,"x":16,"none":null,"yes":true,"t":"2024-01-01","again":[{"role":"user","content":"a <b> ü"}]}`
	ex := rec.Evidence.Exchanges[0]
	if string(ex.Request.Body) != want || string(ex.Response.Body) != "[]" {
		t.Fatalf("%s\n%s", ex.Request.Body, ex.Response.Body)
	}
}

// TestRespelledBody: where a serialiser wrote plain quotes and dashes for typographic ones, in
// replies and perhaps in requests, both sides are read as it writes them. Other cassettes
// are read as they are.
func TestRespelledBody(t *testing.T) {
	const said = `{"text":"“It’s” – or — “so”… \\u2019 \u201chm\u201d ＂ ﬁ"}`
	const want = `{"text":"\"It's\" - or -- \"so\"... \\u2019 \"hm\" \" fi"}`
	for _, c := range []struct{ request, response, isRequest, isResponse string }{
		{"body: '" + strings.ReplaceAll(said, "'", "''") + "'", "parsed_body: {a: it's}", want, `{"a":"it's"}`},
		{"parsed_body: {a: ’}", "body: {string: '" + said + "'}", `{"a":"'"}`, want},
		{"body: ’", "body: {string: '" + said + "'}", "’", said},
		{"body: null", "parsed_body: {a: b}", "", `{"a":"b"}`},
	} {
		rec, err := readText("x.yaml", vcrpy(c.request, c.response))
		if err != nil {
			t.Fatal(err)
		}
		x := rec.Evidence.Exchanges[0]
		if string(x.Request.Body) != c.isRequest || string(x.Response.Body) != c.isResponse ||
			c.isRequest == "" && x.Request.Body != nil {
			t.Errorf("%s, %s: read as %s, %s", c.request, c.response, x.Request.Body, x.Response.Body)
		}
	}
}
