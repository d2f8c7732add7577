package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const endpoint = "https://api.anthropic.com/v1/messages"

// masked replaces the word "secret" by one of the same length.
type masked struct{}

func (masked) Request(in cassette.Request) cassette.Request {
	in.Body = bytes.ReplaceAll(in.Body, []byte("secret"), []byte("MASKED"))
	in.URL = strings.ReplaceAll(in.URL, "secret", "MASKED")
	return in
}

func asked(body string) cassette.Request {
	return cassette.Request{Method: "POST", URL: endpoint, Proto: "HTTP/1.1", Header: http.Header{}, Body: []byte(body)}
}

func answer(body string) cassette.Response {
	return cassette.Response{Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(body)}
}

func pair(request, response string) cassette.Interaction {
	return cassette.Interaction{Request: asked(request), Response: answer(response), End: cassette.EndEOF}
}

func newCassette(tb testing.TB, ins ...cassette.Interaction) *cassette.Cassette {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(w.AppendAll(ins)...); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	c, err := cassette.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func newReplayer(tb testing.TB, cfg Config, ins ...cassette.Interaction) *Replayer {
	tb.Helper()
	cfg.Cassette = newCassette(tb, ins...)
	if cfg.Redactor == nil {
		cfg.Redactor = masked{}
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// writes notes each Write, as a client behind a flushing ingress would see them.
type writes struct {
	*httptest.ResponseRecorder
	chunks []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.chunks = append(w.chunks, string(p))
	return w.ResponseRecorder.Write(p)
}

func ask(p http.Handler, url, body string) (w *writes, aborted bool) {
	w = &writes{ResponseRecorder: httptest.NewRecorder()}
	defer func() {
		if r := recover(); r != nil {
			aborted = true
			if err, _ := r.(error); !errors.Is(err, http.ErrAbortHandler) {
				panic(r)
			}
		}
	}()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, url, strings.NewReader(body)))
	return w, false
}

// Whatever was recorded comes back: bytes, chunks and ending.
func TestReplayIsTheRecording(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		in := pair("{}", "")
		in.End = rapid.SampledFrom([]cassette.End{cassette.EndEOF, cassette.EndReset, cassette.EndClientAbort,
			"h2:INTERNAL_ERROR"}).Draw(r, "end")
		var want []string
		for _, chunk := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 40), 0, 6).Draw(r, "chunks") {
			want = append(want, string(chunk))
			in.Response.Body = append(in.Response.Body, chunk...)
			in.Timeline = append(in.Timeline, cassette.Chunk{Length: len(chunk)})
		}
		p, err := New(Config{Cassette: newCassette(t, in), Redactor: masked{}})
		if err != nil {
			r.Fatal(err)
		}
		w, aborted := ask(p, endpoint, "{}")
		if !slices.Equal(w.chunks, want) || aborted != (in.End != cassette.EndEOF) {
			r.Fatalf("chunks %q, want %q; aborted %t, ended %s", w.chunks, want, aborted, in.End)
		}
	})
}

func TestEqualRequestsPlayInOrder(t *testing.T) {
	p := newReplayer(t, Config{}, pair(`{"a":1}`, "first"), pair(`{"b":1}`, "other"), pair(`{"a":1}`, "second"))
	for _, want := range []string{"first", "second"} {
		if w, _ := ask(p, endpoint, `{"a":1}`); w.Body.String() != want {
			t.Errorf("got %s, want %s", w.Body, want)
		}
	}
	w, _ := ask(p, endpoint, `{"a":1}`)
	if w.Code != 400 || w.Header().Get("X-Cassette-Miss") != missExhausted {
		t.Errorf("a third time: %d %v", w.Code, w.Header())
	}
	if got := p.Receipt(); got.Served != 2 || got.Missed != 1 || got.Unused != 1 || got.Egress != 0 {
		t.Errorf("receipt %+v", got)
	}
}

// A body that is longer than the bound is refused before all of it is in memory, in the words of
// the provider, and counted.
func TestTooLongRequest(t *testing.T) {
	const bound = 1 << 20
	fits, tooLong := `"`+strings.Repeat("a", bound-2)+`"`, strings.Repeat("a", 4*bound)
	p := newReplayer(t, Config{MaxBody: bound}, pair(fits, "whole"))
	read := &countingReader{r: strings.NewReader(tooLong)}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, read))
	if w.Code != 413 || w.Header().Get("X-Cassette-Miss") != missTooLong ||
		!strings.Contains(w.Body.String(), `"type":"request_too_large"`) ||
		!strings.Contains(w.Body.String(),
			"a body of more than 1 MiB, the most that is read; --max-body reads longer ones") || read.n > 2*bound {
		t.Errorf("%d after %d bytes: %v %s", w.Code, read.n, w.Header(), w.Body)
	}
	if w, _ := ask(p, endpoint, fits); w.Body.String() != "whole" {
		t.Errorf("a body of the longest length: %d %s", w.Code, w.Body)
	}
	if got := p.Receipt(); got.Missed != 1 || got.TooLong != 1 || got.Served != 1 || got.Damaged != 0 {
		t.Errorf("receipt %+v", got)
	}
	got := make(chan int, 1)
	fallback := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- len(body)
	})
	p = newReplayer(t, Config{MaxBody: bound, Fallback: fallback}, pair(fits, "whole"))
	if ask(p, endpoint, tooLong); <-got != len(tooLong) {
		t.Error("the fallback did not get the whole body")
	}
}

// countingReader counts the bytes that were read.
type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestMatching(t *testing.T) {
	const recorded = `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"héllo"}]}`
	for name, c := range map[string]struct {
		url, body string
		served    bool
	}{
		"same": {endpoint, recorded, true},
		"other order": {endpoint,
			`{"messages":[{"content":"héllo","role":"user"}],"max_tokens":10,"model":"m"}`, true},
		"spaces": {endpoint,
			` { "model" : "m", "max_tokens":10, "messages":[ {"role":"user","content":"héllo"} ]}`, true},
		"escapes": {endpoint,
			`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"h\u00e9llo"}]}`, true},
		"key in query":     {endpoint + "?key=abc", recorded, true},
		"other prompt":     {endpoint, strings.Replace(recorded, "héllo", "hello", 1), false},
		"array order":      {endpoint, `{"model":"m","max_tokens":10,"messages":[]}`, false},
		"form of a number": {endpoint, strings.Replace(recorded, "10", "1e1", 1), false},
		"other path":       {endpoint + "/count_tokens", recorded, false},
		"other query":      {endpoint + "?beta=true", recorded, false},
		"other host":       {"https://api.openai.com/v1/messages", recorded, false},
		"not JSON":         {endpoint, recorded + "x", false},
		"empty":            {endpoint, "", false},
	} {
		p := newReplayer(t, Config{}, pair(recorded, "ok"))
		if w, _ := ask(p, c.url, c.body); (w.Code == 200) != c.served {
			t.Errorf("%s: status %d, want served %t", name, w.Code, c.served)
		}
	}
}

// Requests are compared as they would have been recorded.
func TestIncomingSideIsRedacted(t *testing.T) {
	p := newReplayer(t, Config{}, pair(`{"k":"MASKED"}`, "ok"))
	if w, _ := ask(p, endpoint, `{"k":"secret"}`); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if r := p.Receipt(); len(r.Relaxed) != 0 {
		t.Errorf("redaction counted as a relaxed match: %v", r.Relaxed)
	}
}

// A cassette serves users with other pseudonym keys than its recorder's.
func TestPseudonymsOfAnotherUser(t *testing.T) {
	in := pair(`{"mcp_servers":[{"authorization_token":"REDACTEDabcdefgh01"}]}`, "ok")
	in.Request.URL = endpoint + "?key=REDACTEDxyzxyzxyz"
	p := newReplayer(t, Config{}, in)
	if w, _ := ask(p, endpoint+"?key=REDACTEDotherother",
		`{"mcp_servers":[{"authorization_token":"REDACTED98765432hg"}]}`); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if r := p.Receipt(); len(r.Relaxed) != 0 {
		t.Errorf("credentials counted as a relaxed match: %v", r.Relaxed)
	}
}

func TestMissIsExplained(t *testing.T) {
	var log []string
	var missed []cassette.Interaction
	p := newReplayer(t, Config{
		Log: func(line string) { log = append(log, line) },
		Observe: func(in cassette.Interaction, m bool) {
			if m {
				missed = append(missed, in)
			}
		},
	}, pair(`{"model":"a","system":"x","messages":[{"content":"one"}]}`, "1"),
		pair(`{"model":"a","messages":[{"content":"one"},{"content":"two"}]}`, "2"))
	w, _ := ask(p, endpoint+"?key=secret", `{"model":"a","messages":[{"content":"one"},{"content":"secret"}]}`)

	var body struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if w.Code != 400 || w.Header().Get("X-Cassette-Miss") != missUnknown ||
		w.Header().Get("X-Should-Retry") != "false" || body.Type != "error" ||
		body.Error.Type != "invalid_request_error" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if want := "interaction 1 is nearest (87 % the same), it differs in messages[1].content"; !strings.Contains(body.Error.Message, want) {
		t.Errorf("message %q", body.Error.Message)
	}
	text := strings.Join(log, "\n")
	if want := `messages[1].content: recorded "two", now "MASKED"`; !strings.Contains(text, want) {
		t.Errorf("log %q", text)
	}
	if strings.Contains(text+w.Body.String(), "secret") {
		t.Errorf("a secret was told: %s %s", text, w.Body)
	}
	if len(missed) != 1 || missed[0].Response.Status != 400 ||
		bytes.Contains(missed[0].Request.Body, []byte("secret")) {
		t.Errorf("observed %+v", missed)
	}
}

func TestObserverSeesRequestAndAnswer(t *testing.T) {
	var seen []cassette.Interaction
	p := newReplayer(t, Config{Observe: func(in cassette.Interaction, missed bool) {
		if missed {
			t.Error("called a miss")
		}
		seen = append(seen, in)
	}}, pair(`{"k":"MASKED"}`, "ok"))
	ask(p, endpoint, `{ "k":"secret"}`)
	if len(seen) != 1 || string(seen[0].Request.Body) != `{ "k":"MASKED"}` || string(seen[0].Response.Body) != "ok" {
		t.Errorf("observed %+v", seen)
	}
}

func TestConcurrentRequestsShareNothing(t *testing.T) {
	const n = 60
	var ins []cassette.Interaction
	for i := range n {
		ins = append(ins, pair(`{"same":1}`, strings.Repeat("x", i+1)))
	}
	p := newReplayer(t, Config{}, ins...)
	var mu sync.Mutex
	got := map[int]bool{}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			w, _ := ask(p, endpoint, `{"same":1}`)
			mu.Lock()
			defer mu.Unlock()
			got[w.Body.Len()] = true
		})
	}
	wg.Wait()
	if len(got) != n {
		t.Errorf("%d of %d interactions were played", len(got), n)
	}
}

// An agent that asks in the recorded order reads the cassette as it goes.
func TestCassetteIsReadAsFarAsNeeded(t *testing.T) {
	p := newReplayer(t, Config{}, pair(`{"a":1}`, "1"), pair(`{"a":2}`, "2"), pair(`{"a":3}`, "3"))
	ask(p, endpoint, `{"a":1}`)
	if n := p.index.levelTable(identical).read; n != 0 || p.index.front != 0 {
		t.Errorf("%d interactions read beside the first, and up to %d", n, p.index.front)
	}
	ask(p, endpoint, `{"a":3}`)
	if n := p.index.levelTable(identical).read; n != 3 {
		t.Errorf("%d interactions read for the last answer", n)
	}
}

func TestDamagedCassetteFailsClosed(t *testing.T) {
	whole := newCassette(t, pair(`{"a":1}`, "first"), pair(`{"a":2}`, "second"))
	path := filepath.Join(t.TempDir(), "y.yaml")
	data := readFile(t, whole.Name())
	writeFile(t, path, bytes.Replace(data, []byte("first"), []byte("fIrst"), 1))
	c, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Cassette: c, Redactor: masked{}})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ask(p, endpoint, `{"a":1}`); w.Header().Get("X-Cassette-Miss") != missDamaged {
		t.Errorf("damaged: %d %s", w.Code, w.Body)
	}
	if w, _ := ask(p, endpoint, `{"a":2}`); w.Body.String() != "second" {
		t.Errorf("the next one: %d %s", w.Code, w.Body)
	}
	if r := p.Receipt(); r.Served != 1 || r.Missed != 1 || r.Damaged != 1 || r.Unused != 1 {
		t.Errorf("receipt %+v", r)
	}
}

// A damaged request is in the way of what was not found, of a looser answer,
// too, and of nothing else.
func TestDamagedRequest(t *testing.T) {
	whole := newCassette(t, pair(`{"a":1}`, "first"), pair(`{"a":2}`, "second"), pair(`{"a":4}`, "looser"))
	data := bytes.Replace(readFile(t, whole.Name()), []byte(`{"a":2}`), []byte("{\"a\":\t2"), 1)
	data = bytes.Replace(data, []byte(`form: {}`), []byte(`form: {]`), 2)
	data = bytes.Replace(data, []byte(`form: {]`), []byte(`form: {}`), 1)
	c, err := cassette.Parse("y.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Cassette: c, Redactor: masked{}, Match: Nth})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ask(p, endpoint, `{"a": 1}`); w.Body.String() != "first" {
		t.Errorf("the whole one: %d %s", w.Code, w.Body)
	}
	if w, _ := ask(p, endpoint, `{"a":3}`); w.Header().Get("X-Cassette-Miss") != missDamaged {
		t.Errorf("unknown: %d %s", w.Code, w.Body)
	}
	if r := p.Receipt(); r.Unused != 2 || len(r.UnusedInteractions) != 2 || r.UnusedInteractions[0].Interaction != 1 {
		t.Errorf("receipt %+v", r)
	}
}

// A request whose bytes changed reads like another request. The damage is named,
// before a looser level answers and instead of a difference that never was.
func TestChangedByteIsDamage(t *testing.T) {
	data := readFile(t, newCassette(t, pair(`{"model":"m","a":1}`, "one"), pair(`{"model":"m","a":2}`, "two")).Name())
	c, err := cassette.Parse("y.yaml", bytes.Replace(data, []byte(`"a":2`), []byte(`"a":7`), 1))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Cassette: c, Redactor: masked{}, Match: Nth})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ask(p, endpoint, `{"model":"m","a":1}`); w.Body.String() != "one" {
		t.Errorf("the whole one: %d %s", w.Code, w.Body)
	}
	if w, _ := ask(p, endpoint, `{"model":"m","a":2}`); w.Header().Get("X-Cassette-Miss") != missDamaged ||
		!strings.Contains(w.Body.String(), "interaction 1 is damaged") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

// Of equal requests the one that is identical is meant; then the next.
func TestIdenticalRequestIsMeant(t *testing.T) {
	p := newReplayer(t, Config{}, pair(`{"a":1,"metadata":1}`, "1"), pair(`{"a":1,"metadata":2}`, "2"),
		pair(`{ "a":1, "metadata":2}`, "3"))
	for _, c := range [][2]string{{`{ "a":1, "metadata":2}`, "3"}, {`{"a":1,"metadata":2}`, "2"},
		{`{"a":1,"metadata":2}`, "1"}} {
		if w, _ := ask(p, endpoint, c[0]); w.Body.String() != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], w.Body, c[1])
		}
	}
	if r := p.Receipt(); r.RelaxedRequests != 1 || r.Levels["exact"] != 3 {
		t.Errorf("receipt %+v", r)
	}
}

func TestReplyHeaderIsTrueOfTheBody(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		end    cassette.End
		want   map[string]string
	}{
		"length kept": {http.Header{"Content-Length": {"4"}}, cassette.EndEOF,
			map[string]string{"Content-Length": "4"}},
		"length of other bytes": {http.Header{"Content-Length": {"99"}}, cassette.EndEOF,
			map[string]string{"Content-Length": ""}},
		"length of a cut reply": {http.Header{"Content-Length": {"99"}}, cassette.EndReset,
			map[string]string{"Content-Length": "99"}},
		"encoding already undone": {http.Header{"Content-Encoding": {"gzip"}}, cassette.EndEOF,
			map[string]string{"Content-Encoding": ""}},
		"brotli already undone": {http.Header{"Content-Encoding": {"br"}}, "",
			map[string]string{"Content-Encoding": ""}},
	} {
		in := pair("{}", "body")
		in.Response.Header, in.End = c.header, c.end
		w, _ := ask(newReplayer(t, Config{}, in), endpoint, "{}")
		for k, v := range c.want {
			if got := w.Header().Get(k); got != v {
				t.Errorf("%s: %s is %q, want %q", name, k, got, v)
			}
		}
	}
}

func TestTrailersAndUnansweredRequests(t *testing.T) {
	in := pair("{}", "body")
	in.Response.Trailer = http.Header{"X-Sum": {"42"}}
	server := httptest.NewServer(newReplayer(t, Config{}, in,
		cassette.Interaction{Request: asked("{}"), End: cassette.EndReset}))
	defer server.Close()
	// The replayer wants an absolute URL, which the ingress gives it.
	target := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "https", "api.anthropic.com"
		target.ServeHTTP(w, r)
	})
	resp, err := http.Post(server.URL+"/v1/messages", "", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if got := resp.Trailer.Get("X-Sum"); got != "42" {
		t.Errorf("trailer %q", got)
	}
	if _, err := http.Post(server.URL+"/v1/messages", "", strings.NewReader("{}")); err == nil {
		t.Error("a request that had no reply was given one")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestConfigIsChecked(t *testing.T) {
	c := newCassette(t, pair("{}", ""))
	for name, cfg := range map[string]Config{
		"no cassette": {Redactor: masked{}},
		"no redactor": {Cassette: c},
		"backwards":   {Cassette: c, Redactor: masked{}, Timing: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
