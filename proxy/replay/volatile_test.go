package replay

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func TestVolatileFields(t *testing.T) {
	billing := func(sum, rest string) string {
		return `{"a":1,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=` + sum +
			`;"},{"type":"text","text":"` + rest + `"}]}`
	}
	for name, c := range map[string]struct {
		url, recorded, asked string
		served               bool
		relaxed              map[string]int
	}{
		"other value": {endpoint, `{"a":1,"metadata":{"user_id":"x"}}`, `{"a":1,"metadata":{"user_id":"y"}}`, true,
			map[string]int{"anthropic.metadata": 1}},
		"now absent": {endpoint, `{"a":1,"metadata":{}}`, `{"a":1}`, true, map[string]int{"anthropic.metadata": 1}},
		"now present": {responses, `{"a":1}`, `{"a":1,"user":"u","prompt_cache_key":"k"}`, true,
			map[string]int{"openai.user": 1, "openai.prompt_cache_key": 1}},
		"same value": {responses, `{"a":1,"user":"u"}`, `{"user":"u","a":1}`, true, map[string]int{}},
		"last member": {responses, `{"safety_identifier":"x"}`, `{}`, true,
			map[string]int{"openai.safety_identifier": 1}},
		"codex": {responses, `{"client_metadata":{"x-codex-installation-id":"a"}}`,
			`{"client_metadata":{"x-codex-installation-id":"b"}}`, true, map[string]int{"openai.client_metadata": 1}},
		"labels": {generate, `{"labels":{},"z":1}`, `{"z":1}`, true, map[string]int{"gemini.labels": 1}},
		"gemini-cli": {assist, `{"user_prompt_id":"a","request":{"session_id":"s","b":1}}`,
			`{"user_prompt_id":"b","request":{"b":1,"session_id":"t"}}`, true,
			map[string]int{"gemini.user_prompt_id": 1, "gemini.request.session_id": 1}},
		"claude code": {endpoint, billing("a1", "S"), billing("b2", "S"), true,
			map[string]int{"anthropic.system.billing-header": 1}},
		"claude's words": {endpoint, billing("a1", "S"), billing("a1", "T"), false, map[string]int{}},
		"a quoted one": {endpoint, `{"system":[{"text":"of x-anthropic-billing-header: 1"}]}`,
			`{"system":[{"text":"of x-anthropic-billing-header: 2"}]}`, false, map[string]int{}},
		"nested":    {endpoint, `{"a":{"metadata":1}}`, `{"a":{"metadata":2}}`, false, map[string]int{}},
		"another's": {endpoint, `{"a":1,"user":"u"}`, `{"a":1,"user":"v"}`, false, map[string]int{}},
		"a date in it": {endpoint, `{"system":"today is Monday"}`, `{"system":"today is Friday"}`, false,
			map[string]int{}},
	} {
		in := pair(c.recorded, "ok")
		in.Request.URL = c.url
		p := newReplayer(t, Config{}, in)
		w, _ := ask(p, c.url, c.asked)
		if r := p.Receipt(); (w.Code == 200) != c.served || !maps.Equal(r.Relaxed, c.relaxed) {
			t.Errorf("%s: status %d, relaxed %v; want served %t, %v", name, w.Code, r.Relaxed, c.served, c.relaxed)
		}
	}
}

// The rules are the cassette's: none are none, and one that this build does not
// know is not a guess.
func TestRulesAreTheCassettes(t *testing.T) {
	for name, c := range map[string]struct {
		rules  []string
		served bool
	}{
		"format 1": {nil, true}, "all": {Rules(), true}, "that one": {[]string{"anthropic.metadata"}, true},
		"none": {[]string{}, false}, "another": {[]string{"openai.user"}, false},
	} {
		p, err := New(Config{Cassette: ruled(t, c.rules), Redactor: masked{}})
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := ask(p, endpoint, `{"metadata":2}`); (w.Code == 200) != c.served {
			t.Errorf("%s: status %d, want served %t", name, w.Code, c.served)
		}
	}
	_, err := New(Config{Cassette: ruled(t, []string{"openai.user", "acme.nonce"}), Redactor: masked{}})
	if err == nil || !strings.Contains(err.Error(), "matching rule acme.nonce is unknown to this build") {
		t.Errorf("unknown rule: %v", err)
	}
}

// The names are in cassettes. They may be added to, and not changed.
func TestRuleNames(t *testing.T) {
	want := []string{
		"anthropic.system.billing-header", "anthropic.metadata",
		"chat.metadata", "chat.prompt_cache_key", "chat.safety_identifier", "chat.user", "gemini.labels",
		"gemini.request.session_id", "gemini.user_prompt_id",
		"openai.client_metadata", "openai.metadata", "openai.prompt_cache_key", "openai.safety_identifier",
		"openai.user",
	}
	if got := Rules(); !slices.Equal(got, want) {
		t.Errorf("rules %q, want %q", got, want)
	}
}

func ruled(t *testing.T, names []string) *cassette.Cassette {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic, Matching: names},
		cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(pair(`{"metadata":1}`, "ok")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A client makes up another boundary each time.
func TestBoundaryDoesNotMatter(t *testing.T) {
	form := func(boundary, value string) cassette.Request {
		r := asked("--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + value + "\r\n--" +
			boundary + "--\r\n")
		r.Header.Set("Content-Type", `multipart/form-data; boundary="`+boundary+`"`)
		return r
	}
	in := cassette.Interaction{Request: form("xyz", "1"), Response: answer("ok"), End: cassette.EndEOF}
	for value, want := range map[string]int{"1": 200, "2": 400} {
		r := form("abcdefgh", value)
		q := httptest.NewRequest(r.Method, r.URL, bytes.NewReader(r.Body))
		q.Header = r.Header
		w := httptest.NewRecorder()
		newReplayer(t, Config{}, in).ServeHTTP(w, q)
		if w.Code != want {
			t.Errorf("value %s: status %d, want %d", value, w.Code, want)
		}
	}
}
