package replay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Pitfall V3: replies that share a header map are a fatal error when two are
// sent at once. Here both get the answers of one unsealed file, which is held
// in memory, and each writes to its header.
func TestV3RepliesShareNoHeader(t *testing.T) {
	data := "---\nversion: 1\ninteractions:\n"
	for range 50 {
		data += "- request: {url: \"" + endpoint +
			"\", method: POST, body: \"{}\"}\n  response: {code: 200, body: ok, headers: {X-A: [a]}}\n"
	}
	c, err := cassette.Parse("x.yaml", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Cassette: c, Redactor: masked{}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			w, _ := ask(p, endpoint, "{}")
			w.Header()["X-A"][0] = strconv.Itoa(i)
			w.Header().Set("X-B", "b")
		})
	}
	wg.Wait()
	for i, err := range c.All() {
		if h := i.Response.Header; err != nil || h.Get("X-A") != "a" || h.Get("X-B") != "" {
			t.Fatalf("the cassette's own header was changed: %v, %v", h, err)
		}
	}
}

// Pitfall V8: a matcher that ignores the body gives any prompt the recorded
// answer.
func TestV8AnotherPromptIsNotAnswered(t *testing.T) {
	p := newReplayer(t, Config{}, pair(`{"messages":[{"role":"user","content":"one"}]}`, "the answer to one"))
	w, _ := ask(p, endpoint, `{"messages":[{"role":"user","content":"two"}]}`)
	if w.Code != 400 || strings.Contains(w.Body.String(), "the answer") ||
		w.Header().Get("X-Cassette-Miss") != missUnknown {
		t.Errorf("another prompt: %d %s", w.Code, w.Body)
	}
	if got := p.Receipt(); got.Missed != 1 || got.Served != 0 {
		t.Errorf("receipt %+v", got)
	}
}

// Pitfall V9: looking an answer up takes the same work in a cassette of any
// size, at every level. Each interaction is read once for each level, and once
// more to be played.
func TestV9LookUpReadsOnce(t *testing.T) {
	const n = 2000
	ins := make([]cassette.Interaction, n)
	for i := range ins {
		ins[i] = pair(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d"}]}`, i), strconv.Itoa(i))
	}
	c := newCassette(t, ins...)
	for l := Exact; l < levels; l++ {
		p, err := New(Config{Cassette: c, Redactor: masked{}, Match: l})
		if err != nil {
			t.Fatal(err)
		}
		for i := n - 1; i >= 0; i-- { // the order in which a search from the front is the slowest
			body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d"}]}`, i)
			switch l {
			case Exact:
			case Anchored:
				body = strings.Replace(body, "{", `{"system":1,`, 1)
			case Shape:
				body = strings.Replace(body, "{", `{"top_p":1,`, 1)
			default:
				body = strings.Replace(body, `"content":"`, `"content":"x`, 1)
			}
			if w, _ := ask(p, endpoint, body); w.Code != 200 {
				t.Fatalf("%s: request %d: %s", l, i, w.Body)
			}
		}
		for at := range p.index.tables {
			if read := p.index.tables[at].read; read > n {
				t.Errorf("%s: %d interactions read at %s", l, read, identical+Level(at))
			}
		}
	}
}

// Pitfall V9: a miss is explained while others are served.
func TestV9ExplanationHoldsNoLock(t *testing.T) {
	var p *Replayer
	served := make(chan int, 1)
	p = newReplayer(t, Config{Log: func(string) {
		if len(served) == 0 {
			w, _ := ask(p, endpoint, `{"a":1}`)
			served <- w.Code
		}
	}}, pair(`{"a":1}`, "ok"), pair(`{"a":2}`, "ok"))
	done := make(chan struct{})
	go func() { ask(p, endpoint, `{"a":3}`); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is served while a miss is explained")
	}
	if code := <-served; code != 200 {
		t.Errorf("status %d", code)
	}
}

// A replayer has no way to the outside: its code neither dials nor
// has a client that could.
func TestNothingHereDials(t *testing.T) {
	forbidden := []string{
		"net.Dial", "net.DialTimeout", "net.Dialer", "tls.Dial", "tls.Dialer", "http.Client", "http.DefaultClient",
		"http.Transport", "http.DefaultTransport", "http.RoundTripper", "http.Get", "http.Post", "http.PostForm",
		"http.Head",
		"httputil.ReverseProxy", "exec.Command", "exec.CommandContext",
	}
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".",
		func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") },
		0) //nolint:staticcheck // one folder, no build tags
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	ast.Inspect(packages["replay"], func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(forbidden, x.Name+"."+s.Sel.Name) {
				t.Errorf("%s: %s.%s", files.Position(n.Pos()), x.Name, s.Sel.Name)
			}
		}
		return true
	})
}

// A thousand streams at once: each interaction is played once, whole, and in
// the chunks it was recorded in.
func TestThousandParallelStreams(t *testing.T) {
	const n = 1000
	ins := make([]cassette.Interaction, n)
	for i := range ins {
		ins[i] = pair(fmt.Sprintf(`{"model":"m","system":"S","messages":"%d"}`, i/4), fmt.Sprintf("begin %d end", i))
		ins[i].Timeline = []cassette.Chunk{{Length: 6}, {Length: len(ins[i].Response.Body) - 6}}
	}
	p := newReplayer(t, Config{Match: Nth}, ins...)
	var mu sync.Mutex
	got := map[string]int{}
	var start, wg sync.WaitGroup
	start.Add(1)
	for i := range n {
		wg.Go(func() {
			start.Wait()
			// A quarter each: equal, another prompt, another word, another shape.
			body := []string{
				`{"model":"m","system":"S","messages":"%d"}`, `{"model":"m","system":"T","messages":"%d"}`,
				`{"model":"m","system":"T","messages":"x%d"}`, `{"model":"m","messages":["%d"]}`,
			}[i%4]
			w := &writes{ResponseRecorder: httptest.NewRecorder()}
			p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader(fmt.Sprintf(body, i/4))))
			mu.Lock()
			defer mu.Unlock()
			if len(w.chunks) != 2 {
				t.Errorf("request %d: %d chunks", i, len(w.chunks))
			}
			got[w.Body.String()]++
		})
	}
	start.Done()
	wg.Wait()
	r := p.Receipt()
	if len(got) != n || r.Served != n || r.Missed != 0 || r.Unused != 0 {
		t.Errorf("%d of %d played: %s", len(got), n, r.Summary())
	}
}
