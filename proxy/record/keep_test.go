package record_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body) }
}

func TestNothingUnredactedLeaves(t *testing.T) {
	var observed []cassette.Interaction
	g := newRig(t, false, record.Config{
		Redactor: asIs(func(in cassette.Interaction) cassette.Interaction {
			in.Response.Body = bytes.ReplaceAll(in.Response.Body, []byte("secret"), []byte("xxxxxx"))
			return in
		}),
		Observe: func(in cassette.Interaction) { observed = append(observed, in) },
	}, say(`{"k":"secret"}`))
	if got := read(t, g.post()); got != `{"k":"secret"}` {
		t.Errorf("the client's reply was redacted: %q", got)
	}
	in := g.only()
	for _, in := range append(observed, in) {
		if string(in.Response.Body) != `{"k":"xxxxxx"}` {
			t.Errorf("kept %q", in.Response.Body)
		}
	}
	if len(observed) != 1 {
		t.Errorf("observed %d", len(observed))
	}
}

// overwriting is a redactor that replaces secrets where they stand, and notes the requests
// that it gets.
type overwriting struct{ asked *[]string }

func (overwriting) Interaction(in cassette.Interaction) cassette.Interaction { return in }

func (o overwriting) Overwrite(in cassette.Interaction) cassette.Interaction {
	*o.asked = append(*o.asked, string(in.Request.Body))
	copy(in.Request.Body, bytes.ReplaceAll(in.Request.Body, []byte("secret"), []byte("xxxxxx")))
	return in
}

// A small body beside a huge one is in memory, and must not change there: an interaction that
// the gate refuses is redacted once more, as it came.
func TestHugeIsRedactedTwiceAsItCame(t *testing.T) {
	var asked []string
	refused := false
	gate := func(cassette.Interaction) error {
		if !refused {
			refused = true
			return errors.New("found something")
		}
		return nil
	}
	g := newRig(t, false, record.Config{Redactor: overwriting{&asked}, Gate: gate}, say(strings.Repeat("long ", 7<<20)))
	resp, err := g.client.Post(endpoint, "application/json", strings.NewReader(`{"k":"secret"}`))
	check(t, err)
	_ = read(t, resp)
	if in := g.only(); string(in.Request.Body) != `{"k":"xxxxxx"}` {
		t.Errorf("kept %q", in.Request.Body)
	}
	if want := []string{`{"k":"secret"}`, `{"k":"secret"}`}; !slices.Equal(asked, want) {
		t.Errorf("redacted %q, want %q", asked, want)
	}
}

// Whatever goes wrong with the recording, the client has its reply, the next
// interaction is saved, and the report says what is missing.
func TestFailuresStayWithTheRecording(t *testing.T) {
	first := func(fail func()) func(cassette.Interaction) {
		n := 0
		return func(cassette.Interaction) {
			if n++; n == 1 {
				fail()
			}
		}
	}
	gate := func() func(cassette.Interaction) error {
		n := 0
		return func(cassette.Interaction) error {
			if n++; n <= 2 { // the first interaction is shown twice
				return errors.New("holds a secret in its reply")
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		cfg           record.Config
		refused, lost int
	}{
		"gate":           {record.Config{Gate: gate()}, 1, 0},
		"redactor panic": {record.Config{Redactor: asIs(func(in cassette.Interaction) cassette.Interaction { _ = in.Request.Header["X"][0]; return in })}, 0, 2},
		"observer panic": {record.Config{Observe: first(func() { panic("secret") })}, 0, 1},
		"writer":         {record.Config{Writer: &memory{err: errDisk}}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, false, c.cfg, say(`{"k":"secret"}`))
			for range 2 {
				if got := read(t, g.post()); got != `{"k":"secret"}` {
					t.Errorf("client got %q", got)
				}
			}
			r := g.close()
			if len(r.Refused) != c.refused || len(r.Lost) != c.lost || r.Saved != 2-c.refused-c.lost ||
				len(g.recording.kept) != r.Saved {
				t.Errorf("report %+v", r)
			}
			for _, line := range append(r.Refused, r.Lost...) {
				if !strings.HasPrefix(line, "POST "+endpoint+": ") || strings.Contains(line, `"secret"`) ||
					strings.Contains(line, "beta") {
					t.Errorf("sentence %q", line)
				}
			}
		})
	}
}

// pack compresses text in each way a server may.
func pack(t *testing.T, text string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for coding, open := range map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"Deflate": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 6); return z },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	} {
		var b bytes.Buffer
		z := open(&b)
		_, err := io.WriteString(z, text)
		check(t, errors.Join(err, z.Close()))
		out[coding] = b.Bytes()
	}
	var b bytes.Buffer
	z := brotli.NewWriter(&b)
	_, err := z.Write(out["gzip"])
	check(t, errors.Join(err, z.Close()))
	out["gzip, br"] = b.Bytes()
	return out
}

// G12: compression is declined; a server that compresses all the same is kept
// readable and marked, or not at all, and reaches the client untouched.
func TestCompressedReplies(t *testing.T) {
	replies := pack(t, `{"k":1}`)
	replies["compress"] = []byte("\x1f\x9d")
	replies["zstd, br"] = []byte("damaged")
	for encoding, packed := range replies {
		saved := 1
		if encoding == "compress" || encoding == "zstd, br" {
			saved = 0
		}
		g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(packed)
		})
		resp := g.post()
		if got := read(t, resp); got != string(packed) || resp.Header.Get("Content-Encoding") != encoding {
			t.Errorf("%s: the client's reply was changed", encoding)
		}
		r := g.close()
		if r.Saved != saved || len(r.Lost) != 1-saved {
			t.Fatalf("%s: report %+v", encoding, r)
		}
		if saved == 0 {
			continue
		}
		in := g.recording.kept[0]
		if string(in.Response.Body) != `{"k":1}` || in.Response.Header.Get("Content-Encoding") != "" ||
			in.Timeline != nil || in.Response.Encoding != strings.ToLower(encoding) {
			t.Errorf("%s: kept %+v", encoding, in.Response)
		}
	}
}

// What the recorder does to a compressed request the replayer does, too; a bomb
// is refused before it is in memory.
func TestCompressedRequests(t *testing.T) {
	g := newRig(t, false, record.Config{MaxBody: 1 << 20}, say("{}"))
	post := func(encoding string, body []byte) {
		req, _ := http.NewRequest(http.MethodPost, endpoint, bytes.NewReader(body))
		req.Header.Set("Content-Encoding", encoding)
		resp, err := g.client.Do(req)
		check(t, err)
		read(t, resp)
		h := http.Header{"Content-Encoding": {encoding}}
		if got := record.DecompressRequest(h, body); len(got) < 100 && string(got) != `{"k":1}` {
			t.Errorf("%s: the replayer reads %q", encoding, got)
		}
	}
	for encoding, body := range pack(t, `{"k":1}`) {
		post(encoding, body)
	}
	for encoding, bomb := range pack(t, strings.Repeat("x", 8<<20)) {
		post(encoding, bomb)
	}
	r := g.close()
	if r.Saved != 6 || len(r.Lost) != 6 {
		t.Errorf("report %+v", r)
	}
	for _, in := range g.recording.kept {
		if string(in.Request.Body) != `{"k":1}` || in.Request.Encoding == "" {
			t.Errorf("kept %+v", in.Request)
		}
	}
}

// Without a writer and an observer the recorder only passes on.
func TestPassThrough(t *testing.T) {
	server := httptest.NewServer(say("hello"))
	defer server.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	rec, err := record.New(record.Config{Transport: tr})
	check(t, err)
	w := httptest.NewRecorder()
	rec.ServeHTTP(w, httptest.NewRequest(http.MethodPost, server.URL, strings.NewReader("{}")))
	if w.Body.String() != "hello" {
		t.Errorf("got %q", w.Body)
	}
	if r := rec.Close(); r.Saved != 0 || r.Lost != nil {
		t.Errorf("report %+v", r)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]record.Config{
		"no transport":        {},
		"keeps unredacted":    {Transport: http.DefaultTransport, Writer: &memory{}},
		"observed unredacted": {Transport: http.DefaultTransport, Observe: func(cassette.Interaction) {}},
	} {
		if _, err := record.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
