package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xeipuuv/gojsonschema"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
)

var update = flag.Bool("update", false, "write openapi.json")

// TestDocument holds that openapi.json is the document that the server serves.
func TestDocument(t *testing.T) {
	got := newFixture(t, server.BackendLimits{}, rest.Options{}).api.Document()
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf(
			"openapi.json is not the document that is served (%v); go test ./meerkat/server/rest -run Document -update",
			err,
		)
	}
}

// document is what the tests read of an OpenAPI document.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components json.RawMessage                 `json:"components"`

	mu       sync.Mutex
	compiled map[string]*gojsonschema.Schema
}

type operation struct {
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

func readDocument(t testing.TB, text []byte) *document {
	t.Helper()
	d := &document{compiled: map[string]*gojsonschema.Schema{}}
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// schema returns a schema of the document, compiled by a library that the server does not
// use.
func (d *document) schema(text json.RawMessage) (*gojsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[string(text)]; s != nil {
		return s, nil
	}
	root := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	root["components"] = d.Components
	whole, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(whole))
	d.compiled[string(text)] = s
	return s, err
}

// checkAnswer returns how an answer differs from what the document says.
func (d *document) checkAnswer(o operation, status int, header http.Header, body []byte) error {
	says, ok := o.Responses[fmt.Sprint(status)]
	if !ok {
		return fmt.Errorf("status %d is not in the document", status)
	}
	if len(says.Content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("status %d has a body: %.200s", status, body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	content, ok := says.Content[media]
	if err != nil || !ok {
		return fmt.Errorf("status %d has the type %q", status, header.Get("Content-Type"))
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	schema, err := d.schema(content.Schema)
	if err != nil {
		return err
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(body))
	if err != nil {
		return fmt.Errorf("%w in %.200s", err, body)
	}
	if !result.Valid() {
		return fmt.Errorf("%v in %.400s", result.Errors(), body)
	}
	return nil
}

// leavingRecorder ends the request when an event stream has sent something.
type leavingRecorder struct {
	*httptest.ResponseRecorder
	leave func()
}

func (w leavingRecorder) Write(p []byte) (int, error) {
	defer func() {
		if w.Header().Get("Content-Type") == "text/event-stream" {
			w.leave()
		}
	}()
	return w.ResponseRecorder.Write(p)
}

// TestGeneratedRequests sends requests to every operation, valid and hostile. Each answer
// must be what the document says, never a fault of the server, and come soon.
func TestGeneratedRequests(t *testing.T) {
	f := newFixture(t, server.BackendLimits{Runs: 4}, rest.Options{Heartbeat: time.Millisecond})
	d := readDocument(t, f.api.Document())
	id, run := f.start(t, "hi")
	busy, _ := f.start(t, "wait")
	handler := f.api.Handler()
	seen := map[int]int{}
	perCheck := 20
	if testing.Short() {
		perCheck *= 5 // there are a fifth of the checks, too few to see each status in every run
	}
	rapid.Check(t, func(t *rapid.T) {
		for range perCheck {
			sendDrawn(t, d, handler, []string{id, busy}, run, seen)
		}
	})
	t.Logf("answers by status: %v", seen)
	for _, status := range []int{200, 202, 400, 401, 404, 409, 422} {
		if seen[status] == 0 {
			t.Errorf("no answer had the status %d; the requests prove little", status)
		}
	}
}

// sendDrawn sends one request and checks its answer.
func sendDrawn(t *rapid.T, d *document, handler http.Handler, sessions []string, run string, seen map[int]int) {
	path := rapid.SampledFrom(slices.Sorted(maps.Keys(d.Paths))).Draw(t, "path")
	method := rapid.SampledFrom(slices.Sorted(maps.Keys(d.Paths[path]))).Draw(t, "method")
	o := d.Paths[path][method]
	r := drawRequest(t, method, path, o, sessions, run)
	if method == "delete" && (strings.Contains(r.URL.Path, sessions[0]) || strings.Contains(r.URL.Path, sessions[1])) {
		return // the others need them
	}
	ctx, leave := context.WithTimeout(context.Background(), 20*time.Second)
	defer leave()
	w := leavingRecorder{httptest.NewRecorder(), leave}
	handler.ServeHTTP(w, r.WithContext(ctx))
	if ctx.Err() != nil && w.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s: no answer", r.Method, r.URL)
	}
	seen[w.Code]++
	if w.Code >= 500 {
		t.Fatalf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
	}
	if w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "path: ") ||
		w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect ||
		w.Code == http.StatusMethodNotAllowed {
		return // what was drawn made it another path
	}
	if err := d.checkAnswer(o, w.Code, w.Header(), w.Body.Bytes()); err != nil {
		t.Fatalf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
	}
}

// drawRequest draws a request to an operation.
func drawRequest(t *rapid.T, method, path string, o operation, sessions []string, run string) *http.Request {
	id := rapid.OneOf(
		rapid.SampledFrom(append(sessions, "0199a2b4-0000-7000-8000-000000000009")), hostileText(),
	).Draw(t, "id")
	runs := rapid.OneOf(rapid.Just(run), hostileText()).Draw(t, "run")
	target := strings.NewReplacer(
		"{id}", escapePath(id), "{run}", escapePath(runs), "{artifact}", escapePath(runs),
	).Replace(path)
	body := ""
	if method == "post" {
		body = rapid.OneOf(validBody(), rapid.SampledFrom(badBodies()), hostileText()).Draw(t, "body")
	}
	r := httptest.NewRequest(strings.ToUpper(method), target, strings.NewReader(body))
	r.Header.Set(
		"Authorization",
		rapid.SampledFrom([]string{
			"Bearer " + token, "Bearer " + token, "Bearer " + token, "Bearer " + token, "Bearer " + token,
			"Bearer " + token, "", "Basic x",
		}).Draw(t, "authorization"),
	)
	if body != "" {
		r.Header.Set(
			"Content-Type",
			rapid.SampledFrom([]string{
				"application/json", "application/json", "application/json", "text/plain",
				"application/json; charset=x", ";",
			}).Draw(t, "type"),
		)
	}
	query := r.URL.Query()
	for _, p := range o.Parameters {
		if p.In == "path" || !rapid.Bool().Draw(t, p.Name) {
			continue
		}
		value := rapid.OneOf(
			rapid.SampledFrom([]string{
				"1", "0", "-1", "99999999999999999999", "wait=0", "wait=x", "respond-async", "a.1", run,
			}),
			hostileText(),
		).Draw(t, p.Name+" value")
		if p.In == "query" {
			query.Set(p.Name, value)
		} else {
			r.Header[http.CanonicalHeaderKey(p.Name)] = []string{value}
		}
	}
	r.URL.RawQuery = query.Encode()
	if rapid.IntRange(0, 9).Draw(t, "accept") == 0 {
		r.Header.Set("Accept", hostileText().Draw(t, "accepted"))
	}
	return r
}

// escapePath escapes what would end a segment of a path.
func escapePath(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func hostileText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"", ".", "..", "../../etc/passwd", "\x00", "\xff\xfe", "%2e%2e", "'; DROP TABLE sessions; --", "<script>",
		"\r\nX-Injected: 1",
		strings.Repeat("a", 5000), "0199A2B4-0000-7000-8000-000000000001", "{0199a2b4-0000-7000-8000-000000000001}",
		"NaN", "null", "[]", "{}", "1e999",
	}), rapid.StringN(0, 40, 200))
}

func badBodies() []string {
	return []string{
		`null`, `[]`, `"x"`, `1`, `{"prompt":1}`, `{"prompt":null}`, `{"prompt":["hi"]}`,
		`{"prompt":"hi","budget":{"max_tokens":-1}}`,
		`{"prompt":"hi","budget":{"max_tokens":1e30}}`, `{"prompt":"hi","budget":{"max_seconds":31536001}}`,
		`{"prompt":"hi","metadata":{"a":1}}`,
		`{"prompt":"hi","attachments":[null]}`, `{"prompt":"hi","attachments":[{"media_type":"image/png","data":""}]}`,
		`{"messages":-1}`, `{"messages":1.5}`,
		`{"prompt":"hi","prompt":"ho"}`, strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000),
		`{"prompt":"\ud800"}`, "{\"prompt\":\"\xff\"}", `{"prompt":"hi"}{"prompt":"ho"}`,
	}
}

func validBody() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "fork") {
			return rapid.SampledFrom([]string{
				`{}`, `{"messages":1}`, `{"messages":1000}`, `{"message":"be brief"}`,
			}).Draw(t, "messages")
		}
		body := map[string]any{
			"prompt": rapid.SampledFrom([]string{
				"hi", "a <&> \u2028 b", strings.Repeat("long ", 2000),
			}).Draw(t, "prompt"),
		}
		if rapid.Bool().Draw(t, "more") {
			body["metadata"] = map[string]string{"ticket": "7"}
			body["budget"] = map[string]any{"max_turns": rapid.IntRange(0, 3).Draw(t, "turns")}
			body["effort"] = "low"
			body["attachments"] = []any{map[string]any{"media_type": "image/png", "data": []byte("\x89PNG\r\n\x1a\n")}}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	})
}
