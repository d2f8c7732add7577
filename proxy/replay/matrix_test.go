package replay_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// shape changes a recorded reply for one case.
func shape(method string, status int, h http.Header, body string, trailer http.Header) cassette.Interaction {
	in := recorded(body)
	in.Request.Method = method
	in.Response.Status, in.Response.Header, in.Response.Trailer = status, h, trailer
	if body == "" {
		in.Timeline = nil
	}
	return in
}

// told is a reply as a client has it: what decides where it ends included.
func told(resp *http.Response, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	kind := "none"
	if values, ok := resp.Header["Content-Type"]; ok {
		kind = strings.Join(values, ",")
	}
	out := fmt.Sprintf("%d %s length %d %q", resp.StatusCode, kind, resp.ContentLength, body)
	for name, values := range resp.Trailer {
		out += fmt.Sprintf(" %s=%s", name, strings.Join(values, ","))
	}
	if err != nil {
		out += " " + err.Error()
	}
	return out
}

// Replies with odd framing replay as what they are, by HTTP/1.1 and HTTP/2.
func TestFramingMatrix(t *testing.T) {
	text := func(kv ...string) http.Header {
		h := http.Header{"Content-Type": {"text/plain"}}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for name, c := range map[string]struct {
		in     cassette.Interaction
		h1, h2 string
	}{
		"known length": {shape("POST", 200, text("Content-Length", "3"), "abc", nil),
			`200 text/plain length 3 "abc"`, ""},
		"unknown length": {shape("POST", 200, text(), "abc", nil), `200 text/plain length -1 "abc"`, ""},
		"length 0, body": {shape("POST", 200, text("Content-Length", "0"), "abc", nil),
			`200 text/plain length -1 "abc"`, ""},
		"length too long": {shape("POST", 200, text("Content-Length", "9"), "abc", nil),
			`200 text/plain length -1 "abc"`, ""},
		"empty": {shape("POST", 200, text("Content-Length", "0"), "", nil), `200 text/plain length 0 ""`, ""},
		"empty stream": {shape("POST", 200, text(), "", nil), `200 text/plain length -1 ""`,
			`200 text/plain length -1 ""`},
		"no content type": {shape("POST", 200, http.Header{}, "<html>", nil), `200 none length -1 "<html>"`, ""},
		"204": {shape("POST", 204, http.Header{}, "", nil), `204 none length 0 ""`,
			`204 none length -1 ""`},
		"304": {shape("GET", 304, text("Etag", "x"), "", nil), `304 none length 0 ""`,
			`304 text/plain length -1 ""`},
		"HEAD": {shape("HEAD", 200, text("Content-Length", "1234"), "", nil),
			`200 text/plain length 1234 ""`, ""},
		"trailers": {shape("POST", 200, text("Content-Length", "3"), "abc", http.Header{"X-Sum": {"1"}}),
			`200 text/plain length -1 "abc" X-Sum=1`, ""},
		"error": {shape("POST", 529, text("Retry-After", "1"), "no", nil),
			`529 text/plain length -1 "no"`, ""},
		"HTTP/1.0 upstream": {func() cassette.Interaction {
			in := shape("POST", 200, text(), "abc", nil)
			in.Response.Proto = "HTTP/1.0"
			return in
		}(), `200 text/plain length -1 "abc"`, ""},
	} {
		server := open(t, replay.Config{}, c.in, c.in)
		for _, h2 := range []bool{false, true} {
			req, _ := http.NewRequest(c.in.Request.Method, "https://"+api+path, strings.NewReader(`{"stream":true}`))
			want := c.h1
			if h2 && c.h2 != "" {
				want = c.h2
			}
			resp, err := server.client(t, h2).Do(req)
			if got := told(resp, err); got != want {
				t.Errorf("%s, h2=%t: %s, want %s", name, h2, got, want)
			}
		}
		if r := server.replayer.Receipt(); r.Served != 2 {
			t.Errorf("%s: served %d", name, r.Served)
		}
	}
}

// A status that ends no reply, or none at all, is a reply that never came: not
// a 200 that was never sent.
func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []int{0, 99, 100, 101, 103, 1000} {
		server := open(t, replay.Config{}, shape("POST", status, http.Header{}, "abc", nil))
		if got := listen(server.client(t, false)); got.err == nil {
			t.Errorf("status %d was played as %d %q", status, got.status, got.body)
		}
	}
}

// Pitfall G18: the first chunk is not divided, whatever length was declared.
func TestFirstChunkIsWhole(t *testing.T) {
	for _, declared := range []string{"", "0", "6"} {
		in := recorded("abc", "def")
		in.Response.Header.Set("Content-Length", declared)
		if declared == "" {
			in.Response.Header.Del("Content-Length")
		}
		if declared == "6" {
			in.Response.Trailer = http.Header{"X-Sum": {"1"}} // so it cannot be kept
		}
		server := open(t, replay.Config{}, in)
		conn := server.dial(t)
		_, _ = io.WriteString(conn, request)
		if got := chunksOf(t, conn); len(got) != 2 || got[0] != "abc" || got[1] != "def" {
			t.Errorf("declared %q: %q", declared, got)
		}
	}
}

// A client that speaks HTTP/1.0 gets no chunks: the end of the connection ends
// the reply.
func TestHTTP10Client(t *testing.T) {
	server := open(t, replay.Config{}, recorded(start, stop))
	got := server.raw(t, "POST /anthropic"+path+" HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 15\r\n\r\n"+
		`{"stream":true}`)
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	if body != start+stop || strings.Contains(head, "chunked") || !strings.HasPrefix(head, "HTTP/1.0 200") {
		t.Errorf("%q", got)
	}
}

// A client that waits for 100 Continue gets it before the recorded reply, and
// Connection: close is heeded.
func TestContinueAndClose(t *testing.T) {
	server := open(t, replay.Config{}, recorded(start, stop))
	got := server.raw(t, "POST /anthropic"+path+
		" HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 15\r\n\r\n"+
		`{"stream":true}`)
	rest, ok := strings.CutPrefix(got, "HTTP/1.1 100 Continue\r\n\r\n")
	_, body, _ := strings.Cut(rest, "\r\n\r\n")
	if !ok || !strings.HasPrefix(rest, "HTTP/1.1 200") || dechunked(t, body) != start+stop {
		t.Errorf("%q", got)
	}
}
