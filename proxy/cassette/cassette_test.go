package cassette

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	vcr "github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/dnaeon/go-vcr/v2/recorder"

	_ "github.com/meerkat-go/conformance/wires/all"
)

var testMeta = Meta{
	Provenance: ProvenanceSynthetic, Tool: "recorder test", Created: "2026-11-21T09:00:00Z",
	Redaction: []string{"header-allowlist", "query"},
}

// samples covers each way a body can be written and each part that rides in
// reserved headers.
func samples() []Interaction {
	bodies := []string{
		"event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\ndata: {}\n\n",
		"data: {\"text\":\"\u00fc \U0001f600\"}\r\n\r\ndata: {}\r\n\r\n",
		"\n: keep-alive\n\ndata: x\n",
		"\tstarts with a tab\nand goes on",
		"\u2028\nseparator first", "\ufeffbyte order mark", "ends with blanks  ", "blanks \nbefore a break",
		"not UTF-8 \xff\xfe\x00", "", "\n\n\n", "{\"model\":\"m\"}", "--- \n...\n# sealed 0\n    - request:\n",
	}
	out := make([]Interaction, len(bodies))
	for i, body := range bodies {
		out[i] = Interaction{
			Request: Request{
				Method: "POST", URL: fmt.Sprintf("https://api.anthropic.com/v1/messages?n=%d", i), Proto: "HTTP/1.1",
				Header: http.Header{"Content-Type": {"application/json"}, "Anthropic-Beta": {"a", "b"}},
				Body:   []byte(bodies[len(bodies)-1-i]),
			},
			Response: Response{
				Status: 200, Proto: "HTTP/2.0", Body: []byte(body),
				Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}, "Null": {"~"},
					"X-Multi": {"a\nb", " lead\nx", ""}},
				Trailer: http.Header{"X-Checksum": {"a&b=c;d", "e"}},
			},
			Timeline: split(body), End: EndEOF, Duration: 1234567 * time.Nanosecond,
		}
	}
	out[3].End, out[4].End, out[5].Timeline = "h2:INTERNAL_ERROR", EndClientAbort, nil
	return out
}

// split cuts a body into chunks of three bytes.
func split(body string) (chunks []Chunk) {
	for at := 0; at < len(body); at += 3 {
		chunks = append(chunks, Chunk{At: time.Duration(at) * 777 * time.Microsecond, Length: min(3, len(body)-at)})
	}
	return chunks
}

// write records items and returns the cassette's path.
func write(tb testing.TB, items ...Interaction) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "x.yaml")
	w, err := Create(path, testMeta, CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, in := range items {
		if err := w.Append(in); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

func readAll(t rapid.TB, c *Cassette) []Interaction {
	t.Helper()
	var out []Interaction
	for in, err := range c.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, in)
	}
	return out
}

func wantSame(t rapid.TB, got, want []Interaction) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d interactions, want %d", len(got), len(want))
	}
	for i := range want {
		if part := firstDifference(want[i], got[i]); part != "" {
			t.Errorf("interaction %d: %s differs:\n got %+v\nwant %+v", i, part, got[i], want[i])
		}
	}
}

func TestRoundTrip(t *testing.T) {
	want := samples()
	path := write(t, want...)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Sealed() || c.Len() != len(want) {
		t.Fatalf("sealed %v, %d interactions", c.Sealed(), c.Len())
	}
	wantSame(t, readAll(t, c), want)
	for i := range want {
		r, err := c.Request(i)
		if err != nil || r.URL != want[i].Request.URL || string(r.Body) != string(want[i].Request.Body) ||
			r.Proto != "HTTP/1.1" || len(r.Header) != 2 {
			t.Errorf("request %d = %+v, %v", i, r, err)
		}
	}
	room := make([]byte, 64<<10)
	if r, _ := c.Asked(1, room); len(r.Body) == 0 || &r.Body[0] != &room[0] {
		t.Error("a question was not read over the room given for it")
	}
	m := c.Meta()
	if m.Version != 1 || m.Provenance != ProvenanceSynthetic || m.Tool != testMeta.Tool ||
		m.Created != testMeta.Created || strings.Join(m.Redaction, ",") != "header-allowlist,query" {
		t.Errorf("meta = %+v", m)
	}
	if err := Verify(path); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// The fast decoder must read everything the writer writes, but for long keys:
// otherwise the hot path quietly becomes yaml.v3.
func TestFastDecoderReadsOurOwn(t *testing.T) {
	for i, in := range samples() {
		if _, ok := decodeItem(appendItem(nil, in)); !ok {
			t.Errorf("sample %d takes the slow path", i)
		}
	}
	long := Interaction{Response: Response{Header: http.Header{strings.Repeat("k", 5000): {"v"}}}}
	item, err := encodeItem(long)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := decodeItem(item); ok {
		t.Error("a long key should have taken the slow path")
	}
}

func TestStockGoVCRLoads(t *testing.T) {
	want := samples()
	path := write(t, want...)
	stock, err := vcr.Load(strings.TrimSuffix(path, ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(stock.Interactions) != len(want) {
		t.Fatalf("stock loads %d interactions, want %d", len(stock.Interactions), len(want))
	}
	for i, got := range stock.Interactions {
		w := want[i]
		if got.Request.Body != string(w.Request.Body) || got.Response.Body != string(w.Response.Body) ||
			got.URL != w.Request.URL || got.Method != w.Request.Method || got.Code != 200 ||
			got.Status != "200 OK" || got.Duration != w.Duration ||
			!sameHeader(got.Response.Headers, w.Response.Header, nil) ||
			!sameHeader(got.Request.Headers, w.Request.Header, Reserved) {
			t.Errorf("interaction %d: stock reads %+v", i, got)
		}
	}
}

// Bodies and header values that stock's own Save destroys (V5) cannot survive it; everything else
// must, timeline included.
func TestTimelineSurvivesStockSave(t *testing.T) {
	all := samples()
	want := []Interaction{all[0], all[1], all[8], all[9], all[11]}
	for i := range want {
		delete(want[i].Response.Header, "X-Multi")
		want[i].Request.Body = []byte("{}")
	}
	path := write(t, want...)
	stock, err := vcr.Load(strings.TrimSuffix(path, ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stock.Save(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sealed() || c.Meta().Provenance != ProvenanceImport {
		t.Errorf("sealed %v, meta %+v; want an import", c.Sealed(), c.Meta())
	}
	wantSame(t, readAll(t, c), want)
	if err := Verify(path); !errors.Is(err, ErrUnsealed) {
		t.Errorf("Verify = %v, want ErrUnsealed", err)
	}
}

func TestStockGoVCRReplays(t *testing.T) {
	want := samples()
	r, err := recorder.NewAsMode(strings.TrimSuffix(write(t, want...), ".yaml"), recorder.ModeReplaying, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Stop() }()
	r.SkipRequestLatency = true
	client := &http.Client{Transport: r}
	for i, w := range want {
		resp, err := client.Post(w.Request.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != string(w.Response.Body) || resp.StatusCode != http.StatusOK {
			t.Errorf("interaction %d: %d %q, %v", i, resp.StatusCode, body, err)
		}
		for name := range resp.Header {
			if Reserved(name) {
				t.Errorf("interaction %d: %s reached the client", i, name)
			}
		}
	}
}

func TestReservedHeadersOfAClientAreNotRecorded(t *testing.T) {
	in := samples()[0]
	in.Request.Header = http.Header{"x-cassette-end": {"reset"}, "X-Cassette-Timeline": {"v1 AA=="}, "Accept": {"*/*"}}
	c, err := Open(write(t, in))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.At(0)
	if err != nil || got.End != EndEOF || len(got.Timeline) != len(in.Timeline) || len(got.Request.Header) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReturnedInteractionsAreTheCallersOwn(t *testing.T) {
	path := write(t, samples()[0])
	sealed, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := Parse("stock.yaml", []byte(stockFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Cassette{sealed, foreign} {
		first, _ := c.At(0)
		first.Response.Header.Set("Content-Type", "changed")
		first.Response.Body[0] = '!'
		second, _ := c.At(0)
		if second.Response.Header.Get("Content-Type") == "changed" || second.Response.Body[0] == '!' {
			t.Errorf("%s: a caller's change shows in the next read", c.Name())
		}
	}
}

const stockFile = `---
version: 1
interactions:
- request:
    body: '{"a":1}'
    form: {}
    headers:
      Content-Type:
      - application/json
    url: https://api.openai.com/v1/responses
    method: POST
  response:
    body: |
      data: x
    headers: {}
    status: 200 OK
    code: 200
    duration: 12.5ms
`

// TestWebSockets: those that came by WebSockets are found, and no other: a body that names
// the header is none. What is damaged elsewhere is passed over.
func TestWebSockets(t *testing.T) {
	all := samples()
	all[1].Request.Body = []byte("what is " + hdrWebSocket + "?")
	all[4].WebSocket, all[7].WebSocket = 1, 2
	path := write(t, all...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(data), "keep-alive", "keep-Alive", 1)
	for name, text := range map[string]string{"whole": string(data), "damaged": damaged} {
		c, err := Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var found []int
		for in, err := range c.WebSockets() {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			found = append(found, in.WebSocket)
		}
		if fmt.Sprint(found) != "[1 2]" {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func TestStockFile(t *testing.T) {
	c, err := Parse("stock.yaml", []byte(stockFile))
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.At(0)
	if err != nil {
		t.Fatal(err)
	}
	if string(in.Response.Body) != "data: x\n" || in.Duration != 12500*time.Microsecond || in.Response.Status != 200 ||
		in.End != "" || in.Timeline != nil {
		t.Errorf("got %+v", in)
	}
}

func TestBadInput(t *testing.T) {
	good, err := os.ReadFile(write(t, samples()...))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string { return strings.Replace(string(good), old, new, 1) }
	for _, tt := range []struct {
		name, data string
		want       error
		text       string
	}{
		{"empty file", "", ErrEmpty, "x.yaml: is empty; record it again"},
		{"no interactions", string(appendClose(encodeHead(Meta{Version: 1, Provenance: "live"}))), ErrEmpty,
			"x.yaml: holds no interactions; record it again"},
		{"text", "hello, world\n", ErrFormat, "x.yaml: is not a cassette ("},
		{"not YAML", "\x00\x01{{{", ErrFormat, "x.yaml: is not a cassette ("},
		{"JSON", `{"log":{"entries":[]}}`, ErrFormat, "x.yaml: is not a cassette ("},
		{"null item", "version: 1\ninteractions: [null]\n", ErrFormat,
			"x.yaml: is not a cassette (interaction 0: needs a request and a response)"},
		{"only a request", "version: 1\ninteractions:\n- request: {}\n", ErrFormat,
			"x.yaml: is not a cassette (interaction 0"},
		{"no list", "version: 1\n", ErrEmpty, "x.yaml: holds no interactions"},
		{"go-vcr v4", "version: 2\ninteractions: []\n", ErrVersion,
			"x.yaml: go-vcr format 2: this build reads 1, the one of go-vcr v2; convert it with: recorder import x.yaml"},
		{"format 9", edit(`format: "1"`, `format: "9"`), ErrVersion, "x.yaml: format 9: this build reads up to 1"},
		{"no format", edit(`format: "1"`, `format: "one"`), ErrFormat, "x.yaml: names no format"},
		{"cut", string(good[:len(good)/2]), ErrTorn, "recorder recover x.yaml"},
		{"CRLF", strings.ReplaceAll(string(good), "\n", "\r\n"), ErrDamaged,
			"x.yaml: its line ends were changed to CRLF"},
		{"CRLF and a mark", "\ufeff" + strings.ReplaceAll(string(good), "\n", "\r\n"), ErrDamaged,
			"x.yaml: its line ends were changed to CRLF"},
		{"byte order mark", "\ufeff" + string(good), ErrDamaged, "x.yaml: a byte order mark was put before it"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00", ErrDamaged, "x.yaml: its text was changed to UTF-16"},
		{"reindented", edit("    format:", "  format:"), ErrDamaged, ""},
		{"unknown key", strings.Replace(stockFile, "    method: POST", "    method: POST\n    host: x", 1), ErrFormat,
			"line 12: a key that does not belong here"},
		{"unknown key on top", stockFile + "recorded_by: x\n", ErrFormat, "line 19: a key that does not belong here"},
		{"duplicate key", strings.Replace(stockFile, "version: 1", "version: 1\nversion: 1", 1), ErrFormat,
			"already defined"},
		{"vcrpy", strings.Replace(stockFile, "url:", "uri:", 1), ErrFormat,
			"convert it with: recorder import x.yaml --cassette NEW"},
		{"a line of 8 MiB", strings.Repeat("x", 8<<20), ErrFormat, "x.yaml: is not a cassette ("},
		{"head edited", edit("synthetic", "live"), ErrDamaged, ""},
		{"timeline edited", strings.Replace(stockFile, "Content-Type:", "X-Cassette-Timeline:", 1), ErrFormat,
			"X-Cassette-Timeline is unreadable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("x.yaml", []byte(tt.data))
			if err == nil {
				err = c.Verify()
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %v with %q on one line", err, tt.want, tt.text)
			}
		})
	}
}

func appendClose(head []byte) []byte {
	_, n, _ := parseHead("", head)
	return append(head, closeLine(0, sum(head[:n]))...)
}

func TestOpenNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.yaml")
	_, err := Open(missing)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "record it first") {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(partialPath(missing), []byte(headStart), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(missing); !errors.Is(err, ErrTorn) || !strings.Contains(err.Error(), "recorder recover") {
		t.Errorf("partial: %v", err)
	}
	if _, err = Open(dir); err == nil || !strings.HasPrefix(err.Error(), dir+": cannot be read (") {
		t.Errorf("directory: %v", err)
	}
	fsys := fstest.MapFS{"a/stock.yaml": {Data: []byte(stockFile)}}
	if c, err := OpenFS(fsys, "a/stock.yaml"); err != nil || c.Len() != 1 {
		t.Errorf("OpenFS: %v", err)
	}
	if _, err := OpenFS(lockedFS{}, "c.yaml"); !errors.Is(err, fs.ErrPermission) ||
		err.Error() != "c.yaml: cannot be read (permission denied); check the path and its permissions" {
		t.Errorf("OpenFS of a file that may not be read: %v", err)
	}
	if _, err := OpenFS(fsys, "b.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenFS missing: %v", err)
	}
}

// lockedFS is a file system in which nothing may be read. The tests may run as root, who may
// read every file.
type lockedFS struct{}

func (lockedFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}
