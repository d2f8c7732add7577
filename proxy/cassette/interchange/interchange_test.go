package interchange

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/meerkat-go/conformance/proxy/cassette"
	_ "github.com/meerkat-go/conformance/wires/all"
)

const streamBody = "event: message_start\ndata: {\"type\":\"message_start\"}   \n\nevent: message_stop\ndata: {\"type\":\"message_stop\",\"t\":\"ü 😀\"}\n\n"

// The files in testdata were written by the tools themselves: go-vcr v3.2.0 and
// v4.0.7, vcrpy 4.2.1, nock 13.5.6 and 14.0.0, Polly.js 5.2.0 and 6.0.6; only the host was
// changed. ruby-vcr.yml follows what VCR 6 writes.
var filesOfOtherTools = map[string]Format{
	"go-vcr-v3.yaml": GoVCR, "go-vcr-v4.yaml": GoVCR, "vcrpy.yaml": VCRPy, "vcrpy.json": VCRPy, "ruby-vcr.yml": RubyVCR,
	"nock-13.json": Nock, "nock-14.json": Nock, "polly-5.har": HAR, "polly-6.har": HAR,
}

func TestFilesOfOtherTools(t *testing.T) {
	for file, format := range filesOfOtherTools {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			zipped := packed(t, string(data), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
			if rec, err := Read(file+".gz", []byte(zipped)); err != nil || rec.Format != format ||
				len(rec.Interactions) != 2 {
				t.Errorf("gzipped: %v, %s, %d interactions", err, rec.Format, len(rec.Interactions))
			}
			rec, err := Read(file, data)
			if err != nil || rec.Format != format || len(rec.Interactions) != 2 {
				t.Fatalf("%v, %s, %d interactions", err, rec.Format, len(rec.Interactions))
			}
			stream, compressed := rec.Interactions[0], rec.Interactions[1]
			checkStream(t, stream)
			if format == GoVCR && (stream.Duration <= 0 || stream.Request.Proto != "HTTP/1.1" ||
				stream.Response.Proto != "HTTP/1.1") {
				t.Errorf("go-vcr tells duration and protocol: %v %q %q", stream.Duration, stream.Request.Proto,
					stream.Response.Proto)
			}
			in, err := Decoded(compressed)
			if err != nil || string(in.Response.Body) != `{"type":"message","text":"was packed"}` ||
				in.Response.Encoding != "gzip" && file != "vcrpy.json" ||
				len(in.Response.Header.Values("Content-Encoding")) > 0 {
				t.Errorf("%v: %q %v", err, in.Response.Body, in.Response.Header)
			}
			if v := in.Response.Header.Get("Content-Length"); v != "" && v != "38" {
				t.Errorf("Content-Length %s of a body of 38", v)
			}
		})
	}
}

func checkStream(t *testing.T, in cassette.Interaction) {
	t.Helper()
	if string(in.Response.Body) != streamBody ||
		string(in.Request.Body) != `{"model":"claude-sonnet-4-5","q":"Hi <ü>","messages":[]}` {
		t.Errorf("bodies %q %q", in.Request.Body, in.Response.Body)
	}
	if in.Response.Status != http.StatusOK || in.Request.Method != http.MethodPost ||
		in.Request.URL != "https://api.anthropic.com/v1/messages?beta=true" ||
		in.Request.Header.Get("Anthropic-Version") != "2023-06-01" || in.Response.Header.Get("Request-Id") != "req_1" {
		t.Errorf("%+v", in)
	}
	if in.Timeline != nil || in.End != "" {
		t.Errorf("made up: timeline %v, end %q", in.Timeline, in.End)
	}
}

const browserHAR = `{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"pages":[],"entries":[
 {"time":12.5,"request":{"method":"POST","url":"https://api.openai.com/v1/responses","httpVersion":"h2","bodySize":2,
  "headers":[{"name":":authority","value":"api.openai.com"},{"name":"accept","value":"a"},{"name":"Accept","value":"b"}],"postData":{"mimeType":"application/json","text":"{}"}},
  "response":{"status":200,"httpVersion":"http/1.1","headers":[],"content":{"size":3,"text":"//4A","encoding":"base64"}}},
 {"time":-1,"request":{"method":"POST","url":"https://api.openai.com/v1/responses","bodySize":9,"headers":[]},
  "response":{"status":200,"headers":[],"content":{"size":900}}},
 {"request":{"method":"GET","url":"https://api.openai.com/v1/models","bodySize":0,"headers":[]},
  "response":{"status":204,"headers":[],"content":{"size":0}}}]}}`

func TestBrowserHAR(t *testing.T) {
	rec, err := Read("x.har", []byte(browserHAR))
	if err != nil || rec.Format != HAR || len(rec.Interactions) != 3 {
		t.Fatal(err, rec)
	}
	a, b, c := rec.Interactions[0], rec.Interactions[1], rec.Interactions[2]
	if string(a.Response.Body) != "\xff\xfe\x00" || a.Duration != 12500*time.Microsecond ||
		a.Request.Proto != "HTTP/2.0" || a.Response.Proto != "HTTP/1.1" {
		t.Errorf("%+v", a)
	}
	if got := a.Request.Header; len(got) != 1 || len(got["Accept"]) != 2 {
		t.Errorf("headers %v", got)
	}
	if b.Request.Body != nil || b.Response.Body != nil || b.Duration != 0 {
		t.Errorf("what was not kept is nil, what is unknown 0: %+v", b)
	}
	if c.Request.Body == nil || c.Response.Body == nil {
		t.Errorf("what was empty is empty: %+v", c)
	}
}

func TestReadCaseKeepsSizesWithoutTimes(t *testing.T) {
	fsys := fstest.MapFS{
		"c/01.request.json":  {Data: []byte(`{"method":"POST","url":"https://x/","headers":{"a":["b"]},"body":null}`)},
		"c/01.response.json": {Data: []byte(`{"status":200,"headers":null,"recorded_chunk_sizes":[1,1]}`)},
		"c/01.response.body": {Data: []byte("ok")},
	}
	rec, err := readCase(fsys, "c", "c")
	if err != nil || len(rec.Interactions) != 1 {
		t.Fatal(err)
	}
	in := rec.Interactions[0]
	if in.Request.Body != nil || len(in.Timeline) != 2 || in.Timeline[1].At != 0 || in.Request.Header.Get("A") != "b" {
		t.Errorf("%+v", in)
	}
}

func packed(t *testing.T, text string, pack func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := pack(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDecompressBody(t *testing.T) {
	gz := packed(t, streamBody, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	br := packed(t, streamBody, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })
	deflate := packed(t, streamBody, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
	zst := packed(t, streamBody, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	})
	for _, c := range []struct {
		name, encoding, body, want string
		err                        error
	}{
		{"already decoded", "gzip", streamBody, streamBody, nil},
		{"decoded brotli", "br", streamBody, streamBody, nil},
		{"gzip", "gzip", gz, streamBody, nil},
		{"gzip, header lost", "", gz, streamBody, nil},
		{"gzip, cut in mid-stream", "gzip", gz[:len(gz)-8], streamBody, nil},
		{"gzip, damaged", "gzip", "\x1f\x8bxxxxxxxxxxxxxxxxx", "", errDamaged},
		{"brotli", "BR", br, streamBody, nil},
		{"brotli, damaged", "br", "\xff\xff\xff\xff", "", errDamaged},
		{"deflate", "deflate", deflate, streamBody, nil},
		{"zstd", "zstd", zst, streamBody, nil},
		{"zstd, header lost", "", zst, streamBody, nil},
		{"zstd, nothing left", "zstd", zst[:5], "", errDamaged},
		{"unknown", "compress", "\x1f\x9d\xff", "", errCompressed},
		{"binary, not packed", "identity", "\xff\xfe", "\xff\xfe", nil},
		{"empty", "br", "", "", nil},
	} {
		got, err := DecompressBody(http.Header{"Content-Encoding": {c.encoding}}, []byte(c.body))
		if !errors.Is(err, c.err) || err == nil && string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestDecodedLeavesWhatItWasGiven(t *testing.T) {
	packed := []byte(packed(t, streamBody, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	in := cassette.Interaction{
		Request: cassette.Request{Header: http.Header{"Content-Length": {"2"}}, Body: []byte("{}")},
		Response: cassette.Response{Header: http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"9"}},
			Body: packed},
		Timeline: []cassette.Chunk{{Length: len(packed)}},
	}
	out, err := Decoded(in)
	if err != nil || string(out.Response.Body) != streamBody || out.Timeline != nil || len(out.Response.Header) != 0 ||
		len(out.Request.Header) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if len(in.Response.Header) != 2 || len(in.Timeline) != 1 {
		t.Error("the original was changed")
	}
	in.Response.Body, in.Response.Header = []byte("\xff\xfe"), http.Header{"Content-Encoding": {"compress"}}
	if _, err := Decoded(in); !errors.Is(err, errCompressed) ||
		!strings.HasPrefix(err.Error(), "the response body is compressed") {
		t.Error(err)
	}
}

// Each hostile or mistaken file ends in one sentence, soon and without a crash.
func TestBadInput(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	var bomb strings.Builder
	bomb.WriteString("version: 2\na0: &a0 {x: lol}\n")
	for i := range 30 {
		n := string(rune('a' + i%26))
		_, _ = bomb.WriteString("b" + n + string(rune('0'+i/26)) + ": &b" + n + string(rune('0'+i/26)) + " [")
		prev := "a0"
		if i > 0 {
			p := i - 1
			prev = "b" + string(rune('a'+p%26)) + string(rune('0'+p/26))
		}
		bomb.WriteString(strings.TrimSuffix(strings.Repeat("*"+prev+",", 9), ",") + "]\n")
	}
	item := func(body string) string {
		return "interactions:\n- request: {method: GET, uri: 'https://x/', headers: {}, " + body +
			"}\n  response: {status: {code: 200}, headers: {}, body: {string: ''}}\nversion: 1\n"
	}
	gzipWriter := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	gz := packed(t, item("body: x"), gzipWriter)
	goVCR, err := os.ReadFile("testdata/go-vcr-v4.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bomb256 := packed(t, strings.Repeat(" ", maxBody+1), gzipWriter)
	const oneRequest = "x.json: is the body of one request and not a recording of a known format; conform lint request judges it"
	for _, tt := range []struct{ name, data, want string }{
		{"x.yaml", "", "x.yaml: is empty"},
		{"x.yaml", "\xef\xbb\xbf \r\n", "x.yaml: is empty"},
		{"x.har", "\x00\x01\x02", "x.har: is not text; not a recording"},
		{"x.yaml.gz", gz[:len(gz)-4], "x.yaml.gz: is damaged where it is compressed; restore it or leave it out"},
		{"x.yaml.gz", packed(t, gz, gzipWriter), "x.yaml.gz: is not text; not a recording"},
		{"x.yaml.gz", bomb256, "x.yaml.gz: unpacks to more than 256 MiB"},
		{"a/x.mitm", "731:9:websocket;0:~8:response;",
			"a/x.mitm: is a flow file of mitmproxy; export it with mitmproxy 10.1 or newer: mitmdump -nr x.mitm --set hardump=out.har"},
		{"x.json", "[{\"scope\":", "x.json: is unreadable JSON (unexpected end"},
		{"x.json", `[]`, "x.json: is a JSON array without the scope and path of nock; not a recording"},
		{"x.yaml", `[{"scope":"a"}]`, "x.yaml: is a JSON array without the scope and path of nock"},
		{"x.json", `[{"scope":"a","path":"/","status":"ok"}]`, "x.json: is not a recording of nock ("},
		{"x.har", `{"log":{"version":"1.2","entries":[{"response":{"content":{"encoding":"base64","text":"[1]"}}}]}}`,
			"is not a JSON array of encoded chunks"},
		{"x.yaml", "http_interactions: []", "x.yaml: holds no exchange; leave it out"},
		{"x.har", `{"log":`, "x.har: is unreadable JSON (unexpected end"},
		{"x.har", `{"log":{"version":"1.2","entries":{}}}`,
			"x.har: is not a HAR (log.entries: another kind of value belongs here"},
		{"x.har", `{"log":{"version":"7","entries":[]}}`, `x.har: har version "7" is unknown`},
		{"x.json", `{"interactions":7}`, "x.json: is not a cassette (another kind of value belongs in it)"},
		{"x.json", `{"interactions":` + deep, "x.json: is unreadable JSON (invalid character '['"},
		{"x.yaml", "interactions: " + deep, "x.yaml: is unreadable YAML ("},
		{"x.yaml", bomb.String() + "interactions: *bd1\n", "x.yaml: is not a cassette ("},
		{"x.yaml", item("parsed_body: &a [*a]"), "interaction 0: request body: is nested more than 10,000 deep"},
		{"x.yaml", item("parsed_body: {a: 1, a: 2}") + "version: 1\n",
			"x.yaml: is not a cassette (line 5: a key that is already defined)"},
		{"x.yaml", "---\r\nmeta:\r\n    format: \"1\"\r\nversion: 1\r\ninteractions:\r\n",
			"x.yaml: its line ends were changed to CRLF"},
		{"x.yaml.partial", "", "x.yaml.partial: is empty"},
		{"x.yaml", "Dear reader, this is prose.", "x.yaml: is YAML without interactions"},
		{"x.yaml", "interactions:\n - {a", "x.yaml: is unreadable YAML (line "},
		{"x.yaml", "interactions: 3\nversion: 1\n",
			"x.yaml: is not a cassette (line 1: another kind of value belongs here)"},
		{"x.yaml", "version: 2\ninteractions: []\n", "x.yaml: holds no exchange; leave it out"},
		{"x.yaml", item("body: !!binary '%'"), "x.yaml: interaction 0: request body: illegal base64"},
		{"x.yaml", strings.Replace(item("body: x"), "{code: 200}", "{code: many}", 1),
			"x.yaml: interaction 0: response status:"},
		{"x.yaml", strings.Replace(string(goVCR), "version: 2", "version: 99", 1),
			`x.yaml: go-vcr version "99" is unknown, this build reads 1 and 2; convert it`},
		{"x.json", `{"a":1}`, `x.json: is JSON without "log"`},
		{"x.json", `{"model":"m","messages":[]}`, oneRequest},
		{"x.json", `{"model":"m","input":""}`, oneRequest},
		{"x.json", `{"contents":[]}`, oneRequest},
		{"x.json", `{"messages":{"hello":"Hi"}}`, `x.json: is JSON without "log"`},
		{"x.har", `{"log":{"version":"1.2","entries":[]}}`, "x.har: holds no exchange"},
		{"x.har", `{"log":{"version":"1.2","entries":[]}}{}`,
			"x.har: is unreadable JSON (invalid character '{' after top-level value)"},
	} {
		start := time.Now()
		_, err := Read(tt.name, []byte(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %.300v\nwant %q", tt.data, err, tt.want)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%.40q took %v", tt.data, d)
		}
	}
}

func FuzzRead(f *testing.F) {
	for name := range filesOfOtherTools {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(browserHAR))
	f.Add([]byte("interactions:\n- request: {uri: x, parsed_body: {a: [1, .inf, *b]}}\nversion: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Read("x.yaml", data)
		if err == nil && len(rec.Interactions) == 0 {
			t.Fatal("nothing was read and nothing was said")
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "x.yaml: ") || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%q is not one line that names the file", err)
		}
	})
}

// The forms that the files in testdata do not have.
func TestSpellingsOfOtherTools(t *testing.T) {
	const url = `"request":{"method":"post","uri":"https://api.anthropic.com/v1/messages","body":{"string":"hi"}}`
	for _, tt := range []struct{ name, file, sent, got string }{
		{"vcrpy without a version", `{"interactions":[{` + url +
			`,"response":{"status":{"code":200},"body":{"string":"ok"}}}]}`, "hi", "ok"},
		{"vcrpy of a later version", `{"version":3,"interactions":[{` + url +
			`,"response":{"status":{"code":200},"body":{"string":"ok"}}}]}`, "hi", "ok"},
		{"VCR for Ruby in JSON", `{"http_interactions":[{` + url +
			`,"response":{"status":{"code":200},"body":{"base64_string":"b2s="}}}]}`, "hi", "ok"},
		{"VCR for R",
			"http_interactions:\n- request: {method: POST, uri: 'https://api.anthropic.com/v1/messages', body: {string: hi}, headers: {A: b}}\n" +
				"  response: {status: 200, headers: {C: d}, body: {string: ok, file: no}}\n  recorded_at: 2025-04-27 21:48:05 GMT\n", "hi", "ok"},
		{"vcrpy 4 of httpx",
			"interactions:\n- request: {method: POST, uri: 'https://api.anthropic.com/v1/messages', body: hi}\n" +
				"  response: {content: ok, http_version: HTTP/1.1, status_code: 200}\n", "hi", "ok"},
		{"vcrpy of aiohttp", "interactions:\n- request:\n    body: hi\n    headers:\n" +
			"      ? !!python/object/apply:multidict._multidict.istr\n      - Accept\n      : - a\n" +
			"      ? !!python/object/new:multidict._multidict.istr\n      - User-Agent\n      : - b\n      X-Plain:\n      - c\n" +
			"    method: POST\n    uri: https://api.anthropic.com/v1/messages\n  response: {status: {code: 200}, body: {string: ok}}\n", "hi", "ok"},
		{"HAR without a version",
			`{"log":{"entries":[{"startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"POST","url":"https://api.anthropic.com/v1/messages","postData":{"text":"hi"}},` +
				`"response":{"status":200,"content":{"text":"ok"}}}]}}`, "hi", "ok"},
		{"nock without headers",
			`[{"scope":"https://api.anthropic.com:443","method":"POST","path":"/v1/messages","body":"hi","status":200,"response":"ok"}]`, "hi", "ok"},
		{"nock, JSON",
			`[{"scope":"https://api.anthropic.com","method":"POST","path":"/v1/messages","body":{"b": 1.0, "a":"\u00e9"},"status":200,"response":["x"]}]`, `{"b":1.0,"a":"\u00e9"}`, `["x"]`},
		{"nock, bytes",
			`[{"scope":"https://api.anthropic.com","method":"POST","path":"/v1/messages","body":"","status":200,"response":"6f6b","responseIsBinary":true}]`, "", "ok"},
		{"nock, base64",
			`[{"scope":"https://api.anthropic.com","method":"POST","path":"/v1/messages","body":"","status":200,"response":["b2s="],"rawHeaders":["Content-Encoding","x"]}]`, "", "ok"},
		{"nock, decoded",
			`[{"scope":"https://api.anthropic.com","method":"POST","path":"/v1/messages","body":"","status":200,"response":{"a":1},"rawHeaders":{"content-encoding":["gzip"]}}]`, "", `{"a":1}`},
	} {
		rec, err := Read("x.json", []byte(tt.file))
		if err != nil || len(rec.Interactions) != 1 {
			t.Errorf("%s: %v, %d interactions", tt.name, err, len(rec.Interactions))
			continue
		}
		in := rec.Interactions[0]
		if in.Request.Method != http.MethodPost || in.Request.URL != "https://api.anthropic.com/v1/messages" ||
			in.Response.Status != http.StatusOK ||
			string(in.Request.Body) != tt.sent || string(in.Response.Body) != tt.got ||
			in.Started.IsZero() == (tt.name == "VCR for R" || strings.HasPrefix(tt.name, "HAR")) {
			t.Errorf("%s: %+v", tt.name, in)
		}
		if h := in.Request.Header; strings.Contains(tt.name, "aiohttp") &&
			(h.Get("Accept") != "a" || h.Get("User-Agent") != "b" || h.Get("X-Plain") != "c") {
			t.Errorf("%s: headers %v", tt.name, h)
		}
	}
}

// go-vcr before v2.1 wrote durations as an empty text.
func TestOldGoVCR(t *testing.T) {
	file := "---\nversion: 1\ninteractions:\n- request:\n    body: hi\n    form: {}\n    headers: {}\n    url: https://api.openai.com/v1/responses\n    method: POST\n" +
		"  response:\n    body: ok\n    headers: {}\n    status: 200 OK\n    code: 200\n    duration: \"\"\n"
	got, err := Read("old.yaml", []byte(file))
	if err != nil || len(got.Interactions) != 1 || string(got.Interactions[0].Response.Body) != "ok" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Another tool's file is read as a whole, so its size is bounded before anything is read.
func TestReadFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "long.har")
	if err := os.WriteFile(file, []byte(`{"log":{"version":"1.2","entries":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, maxBody+1); err != nil { // a hole in the file, no disk
		t.Fatal(err)
	}
	_, err := ReadFile(os.DirFS(dir), "long.har", "a/long.har")
	if want := "a/long.har: is longer than 256 MiB; export fewer exchanges into one file"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestHAROrder: the entries of a HAR are read in the order in which they began, unless one of them does not say when.
func TestHAROrder(t *testing.T) {
	entry := func(path, started string) string {
		return `{"startedDateTime":"` + started + `","time":1,"request":{"method":"POST","url":"https://api.example/` +
			path + `","headers":[]},"response":{"status":200,"headers":[],"content":{"text":"{}"}}}`
	}
	for want, entries := range map[string]string{
		"ab": entry("b", "2026-11-20T10:00:05.5Z") + "," + entry("a", "2026-11-20T11:00:01.5+01:00"),
		"ba": entry("b", "2026-11-20T10:00:05.5Z") + "," + entry("a", ""),
	} {
		rec, err := Read("a.har", []byte(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[`+
			entries+`]}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, in := range rec.Interactions {
			got += in.Request.URL[len(in.Request.URL)-1:]
		}
		if got != want {
			t.Errorf("read in the order %s, want %s", got, want)
		}
	}
}
