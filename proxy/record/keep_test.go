package record_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
			if n++; n == 1 {
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
			if len(r.Refused) != c.refused || len(r.Lost) != c.lost || r.Saved != 2-c.refused-c.lost || len(g.tape.kept) != r.Saved {
				t.Errorf("report %+v", r)
			}
			for _, line := range append(r.Refused, r.Lost...) {
				if !strings.HasPrefix(line, "POST "+endpoint+": ") || strings.Contains(line, `"secret"`) || strings.Contains(line, "beta") {
					t.Errorf("sentence %q", line)
				}
			}
		})
	}
}

// G12: compression is declined; a server that compresses all the same is kept
// readable, or not at all, and reaches the client untouched.
func TestCompressedReplies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"k":1}`)
	_ = z.Close()
	for encoding, saved := range map[string]int{"gzip": 1, "br": 0} {
		g := newRig(t, false, record.Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(packed.Bytes())
		})
		resp := g.post()
		if got := read(t, resp); got != packed.String() || resp.Header.Get("Content-Encoding") != encoding {
			t.Errorf("%s: the client's reply was changed", encoding)
		}
		r := g.close()
		if r.Saved != saved || len(r.Lost) != 1-saved {
			t.Fatalf("%s: report %+v", encoding, r)
		}
		if saved == 0 {
			continue
		}
		in := g.tape.kept[0]
		if string(in.Response.Body) != `{"k":1}` || in.Response.Header.Get("Content-Encoding") != "" || in.Timeline != nil {
			t.Errorf("kept %+v", in.Response)
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
