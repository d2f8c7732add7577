package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// largeStream is a stream of events of more than size bytes; each of inserted replaces the text of an event
// at that part of a thousand of the stream, a letter an event.
func largeStream(size int, inserted map[int]string) []byte {
	var b bytes.Buffer
	say := func(text string) {
		fmt.Fprintf(&b,
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", text)
	}
	for n := range 1000 {
		for letter := range strings.SplitSeq(inserted[n], "") {
			if letter != "" {
				say(letter)
			}
		}
		if n == 700 && inserted[n] == "" {
			say("the " + inserted[-1] + ".")
		}
		for end := size / 1000 * (n + 1); b.Len() < end; {
			say(strings.Repeat("the river runs through a wide valley ", 1+b.Len()%50))
		}
	}
	b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.Bytes()
}

// forGate is a secret that the redactor does not know.
const forGate = "valley of 7 herons and 12 bridges"

// wholeWriter takes no windows.
type wholeWriter struct{ to *cassette.Writer }

func (w wholeWriter) AppendAll(ins []cassette.Interaction) []error { return w.to.AppendAll(ins) }

// recordReply records one reply and returns what is in the cassette, and the report. With isWhole the
// reply is in memory as a whole.
func recordReply(t *testing.T, body []byte, isWhole, isMasking bool) (cassette.Interaction, Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	redactor, guard := redact.New([]byte("key")), gate.New()
	cfg := Config{Writer: w, Redactor: guard.Watch(redactor), Gate: guard.Check, Nominal: 1, Transport: answer(body)}
	if isWhole {
		cfg.Writer = wholeWriter{w}
	}
	cfg.Gate = func(in cassette.Interaction) error {
		if bytes.Contains(in.Response.Body, []byte(forGate)) {
			return errors.New("holds what only the gate knows")
		}
		return guard.Check(in)
	}
	if isMasking {
		cfg.Mask = func(error) bool { return redactor.Learn(forGate) }
	}
	rec, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rec.large = windowing{least: 200 << 10, size: 20 << 10, overlap: 8 << 10}
	r := httptest.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages",
		strings.NewReader(`{"model":"m"}`))
	rec.ServeHTTP(httptest.NewRecorder(), r)
	report := rec.Close()
	if report.Saved == 0 {
		_ = w.Discard()
		return cassette.Interaction{}, report
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Strict(0)
	if err != nil {
		t.Fatal(err)
	}
	return in, report
}

// answer is a transport that answers with one stream, in chunks of any size.
type answer []byte

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ContentLength: -1, Body: io.NopCloser(bytes.NewReader(a)),
		Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
}

// A large stream is saved in windows as it would be as a whole: a secret that is learnt at its end is taken
// out at its beginning, one in pieces where two windows meet, and a key that only the gate knows is masked.
func TestLargeStreamIsSavedAsAWhole(t *testing.T) {
	const secret = "Zr9Wm4Xk1Vb8Nc5J7Hq2Lp6T"
	body := largeStream(600<<10, map[int]string{3: secret, 52: secret, 104: secret, 500: secret,
		998: "export DB_PASSWORD=" + secret + " end", -1: forGate})
	in, report := recordReply(t, body, false, true)
	want, wantReport := recordReply(t, body, true, true)
	if part := cassette.Difference(want, in); part != "" || in.Incomplete != "" {
		t.Errorf("in windows another %s is saved; incomplete: %q", part, in.Incomplete)
	}
	if fmt.Sprint(report) != fmt.Sprint(wantReport) {
		t.Errorf("in windows the report is %+v, as a whole %+v", report, wantReport)
	}
	if in.Redacted != cassette.RedactedResponse {
		t.Errorf("redacted: %q", in.Redacted)
	}
}

// What the gate refuses is not saved, in whatever window it stands.
func TestLargeStreamIsRefused(t *testing.T) {
	body := largeStream(300<<10, map[int]string{-1: forGate})
	if _, report := recordReply(t, body, false, false); len(report.Refused) != 1 || report.Saved != 0 {
		t.Errorf("%+v", report)
	}
}

// A cut stream, one without line feeds and one that is not UTF-8 are saved as they would be as a whole.
func TestOddLargeStreams(t *testing.T) {
	plain := largeStream(300<<10, nil)
	for name, body := range map[string][]byte{
		"cut":       plain[:len(plain)-10],
		"crlf":      bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"one line":  []byte("data: " + strings.Repeat("wörd ", 60_000)),
		"not UTF-8": append(bytes.Clone(plain), 0xff),
	} {
		in, _ := recordReply(t, body, false, false)
		if !bytes.Equal(in.Response.Body, body) || (in.Incomplete != "") != (name == "cut" || name == "one line") {
			t.Errorf("%s: %d bytes of %d, incomplete: %q", name, len(in.Response.Body), len(body), in.Incomplete)
		}
	}
}

// The windows of a spool are all of it, and each ends with an event.
func TestWindowsAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := newSpool(t)
		var body []byte
		for range r.IntN(60) {
			body = append(body, strings.Repeat("x", r.IntN(90))+[]string{"\n\n", "\r\n\r\n", "\n", " ",
				"\n\n "}[r.IntN(5)]...)
		}
		_, _ = s.Write(body)
		var got []byte
		var pieces int
		windows(t, s.windows(100), func(window []byte) {
			if pieces++; len(got) > 0 && (got[len(got)-1] != '\n' ||
				strings.ContainsAny(string(window[:1]), " \t\r\n")) {
				t.Errorf("a window ends with %q and the next begins with %q", got[len(got)-1:], window[:1])
			}
			got = append(got, window...)
		})
		if !bytes.Equal(got, body) {
			t.Fatalf("%d windows hold %q instead of %q", pieces, got, body)
		}
		s.close()
	}
}

func windows(t *testing.T, all iter.Seq2[[]byte, error], see func([]byte)) {
	t.Helper()
	for window, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		see(window)
	}
}
