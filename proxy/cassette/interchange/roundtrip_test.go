package interchange

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dnaeon/go-vcr/v2/recorder"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func each(list ...cassette.Interaction) iter.Seq2[cassette.Interaction, error] {
	return func(yield func(cassette.Interaction, error) bool) {
		for _, in := range list {
			if !yield(in, nil) {
				return
			}
		}
	}
}

// nasty are fragments that break writers and readers of JSON and YAML.
var nasty = []string{"\n", "\r\n", "\t", " ", "\n\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\ufffd", "\x00", "\x7f",
	"\"", "\\", "<&>", "#", ": ", "- ",
	"---", "%41", "+", "&a=b", "~", "null", "{}", "data: {\"x\":1}\n\n", "\U0001f600", "日本", "abc"}

func text() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(nasty), rapid.String()), 0, 5),
		func(parts []string) string { return strings.Join(parts, "") })
}

func body() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.Map(text(), func(s string) []byte { return []byte(s) }),
		rapid.SliceOfN(rapid.Byte(), 0, 40))
}

func header() *rapid.Generator[http.Header] {
	return rapid.Map(rapid.MapOfN(text(), rapid.SliceOfN(text(), 1, 3), 0, 3),
		func(m map[string][]string) http.Header { return m })
}

func interaction() *rapid.Generator[cassette.Interaction] {
	return rapid.Custom(func(t *rapid.T) cassette.Interaction {
		reply := body().Draw(t, "reply")
		in := cassette.Interaction{
			Request: cassette.Request{Method: text().Draw(t, "method"), URL: text().Draw(t, "url"),
				Proto: text().Draw(t, "proto"), Header: header().Draw(t, "header"), Body: body().Draw(t, "body")},
			Response: cassette.Response{Status: rapid.IntRange(0, 999).Draw(t, "status"), Proto: "HTTP/2.0",
				Header: header().Draw(t, "rheader"), Body: reply, Trailer: header().Draw(t, "trailer")},
			End: cassette.End(text().Draw(t, "end")), Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
		}
		if n := len(reply); n > 0 && rapid.Bool().Draw(t, "timed") {
			first := rapid.IntRange(0, n).Draw(t, "first")
			in.Timeline = []cassette.Chunk{{At: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "at")), Length: first},
				{At: 2e12, Length: n - first}}
		}
		return in
	})
}

// Everything comes back from a HAR of ours.
func TestHARRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := interaction().Draw(t, "interaction")
		lost := cassette.Loss{Lost: rapid.IntRange(0, 9).Draw(t, "lost"), Recovered: rapid.Bool().Draw(t, "recovered")}
		var b bytes.Buffer
		if err := WriteHAR(&b, "recorder", "test", cassette.Meta{}, lost, each(in, in)); err != nil {
			t.Fatal(err)
		}
		rec, err := Read("x.har", b.Bytes())
		if err != nil || rec.Format != HAR || len(rec.Interactions) != 2 || rec.Loss != lost {
			t.Fatal(err, b.String())
		}
		if part := cassette.Difference(in, rec.Interactions[1]); part != "" {
			t.Fatalf("the %s came back as another\n%s", part, b.String())
		}
	})
}

// From a plain go-vcr v2 file all comes back but what Bare takes away.
func TestGoVCRRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := interaction().Draw(t, "interaction")
		var b bytes.Buffer
		if err := cassette.WriteGoVCR(&b, cassette.Meta{}, each(in, in)); err != nil {
			t.Fatal(err)
		}
		rec, err := Read("x.yaml", b.Bytes())
		if err != nil || rec.Format != GoVCR || len(rec.Interactions) != 2 {
			t.Fatal(err, b.String())
		}
		if part := cassette.Difference(cassette.Bare(in), rec.Interactions[1]); part != "" {
			t.Fatalf("the %s came back as another\n%s", part, b.String())
		}
		if bytes.Contains(b.Bytes(), []byte("X-Cassette-")) || bytes.Contains(b.Bytes(), []byte("\n      # sealed")) {
			t.Fatalf("what is ours is in it:\n%s", b.String())
		}
	})
}

// What JSON cannot hold is found, not hidden.
func TestDifferenceFindsWhatHARLoses(t *testing.T) {
	in := cassette.Interaction{Request: cassette.Request{Method: "GET", Header: http.Header{"A": {"\xff"}},
		Body: []byte{}}, Response: cassette.Response{Header: http.Header{}, Body: []byte{}}}
	var b bytes.Buffer
	if err := WriteHAR(&b, "recorder", "test", cassette.Meta{}, cassette.Loss{}, each(in)); err != nil {
		t.Fatal(err)
	}
	rec, err := Read("x.har", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if part := cassette.Difference(in, rec.Interactions[0]); part != "request header" {
		t.Errorf("difference %q", part)
	}
}

// sample is a stream as a recording has it.
func sample() cassette.Interaction {
	return cassette.Interaction{
		Request: cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages?beta=true&x=%20",
			Proto:  "HTTP/1.1",
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"q":"<ü>"}`)},
		Response: cassette.Response{Status: 200, Proto: "HTTP/2.0",
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(streamBody)},
		Timeline: []cassette.Chunk{{At: time.Millisecond, Length: 20},
			{At: 4 * time.Millisecond, Length: len(streamBody) - 20}},
		End: cassette.EndEOF, Duration: 10 * time.Millisecond,
	}
}

// Stock go-vcr v2.1.0 loads the export and serves it.
func TestStockGoVCRServesTheExport(t *testing.T) {
	var b bytes.Buffer
	if err := cassette.WriteGoVCR(&b, cassette.Meta{}, each(sample())); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path+".yaml", b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := recorder.NewAsMode(path, recorder.ModeReplaying, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Stop() }()
	resp, err := (&http.Client{Transport: r}).Post(sample().Request.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != streamBody || resp.StatusCode != http.StatusOK ||
		resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %q %v %v", resp.StatusCode, got, resp.Header, err)
	}
}

func TestHARTimesAndQuery(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHAR(&b, "recorder", "test", cassette.Meta{Created: "2026-11-21T09:00:00Z", Provenance: "live"},
		cassette.Loss{}, each(sample())); err != nil {
		t.Fatal(err)
	}
	var file harFile
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	e := file.Log.Entries[0]
	if e.Started != "2026-11-21T09:00:00Z" || e.Time != 10 || e.Timings != (harTimings{Wait: 6, Receive: 4}) ||
		!strings.Contains(file.Log.Comment, "live") {
		t.Errorf("%+v", e)
	}
	if want := []harPair{{"beta", "true"}, {"x", " "}}; !slices.Equal(e.Request.QueryString, want) {
		t.Errorf("query %v", e.Request.QueryString)
	}
	if !utf8.Valid(b.Bytes()) || strings.Contains(b.String(), `\u003c`) {
		t.Error("people should be able to read it")
	}
}
