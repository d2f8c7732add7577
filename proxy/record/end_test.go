package record_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// steps is a client and a cassette that note what reaches them, in order.
type steps struct {
	http.ResponseWriter
	seen []string
}

func (s *steps) Write(p []byte) (int, error) {
	s.seen = append(s.seen, "write "+string(p))
	return len(p), nil
}

func (s *steps) WriteEnd(p []byte) (int, error) {
	s.seen = append(s.seen, "end "+string(p))
	return len(p), nil
}

func (s *steps) AppendAll(ins []cassette.Interaction) []error {
	s.seen = append(s.seen, "saved "+string(ins[0].Response.Body))
	return make([]error, len(ins))
}

// endedBody is a body of unknown length whose last piece comes together with its end.
type endedBody []string

func (p *endedBody) Read(b []byte) (n int, err error) {
	n, *p = copy(b, (*p)[0]), (*p)[1:]
	if len(*p) == 0 {
		err = io.EOF
	}
	return n, err
}

func (p *endedBody) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(p)}, nil
}

// faultyBody has no bytes.
type faultyBody struct{ error }

func (b faultyBody) Read([]byte) (int, error) { return 0, b.error }

func (b faultyBody) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(b)}, nil
}

// A header that no bytes follow is passed on by itself: a client sees that a reply began, and
// that its length was not known.
func TestHeaderWithoutBytes(t *testing.T) {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
		rec, err := record.New(record.Config{Transport: faultyBody{end}})
		check(t, err)
		client := httptest.NewRecorder()
		func() {
			defer func() { _ = recover() }() // what cuts a reply
			rec.ServeHTTP(client, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")))
		}()
		if !client.Flushed {
			t.Errorf("%v: the header was kept back", end)
		}
		rec.Close()
	}
}

// The last bytes of a stream that come with its end are passed on when the reply is saved,
// and together with the end; all bytes before them are passed on at once.
func TestLastBytesWaitWithTheEnd(t *testing.T) {
	client := &steps{ResponseWriter: httptest.NewRecorder()}
	rec, err := record.New(record.Config{Transport: &endedBody{"one ", "two ", "three"}, Writer: client,
		Redactor: asIs(nil)})
	check(t, err)
	rec.ServeHTTP(client, httptest.NewRequest(http.MethodPost, endpoint, strings.NewReader("{}")))
	if report := rec.Close(); report.Saved != 1 {
		t.Errorf("reported %+v", report)
	}
	want := []string{"write one ", "write two ", "saved one two three", "end three"}
	if !slices.Equal(client.seen, want) {
		t.Errorf("the client and the cassette saw %q, want %q", client.seen, want)
	}
}

// TestNoContentType: a reply without a content type reaches the client without one, as in a replay.
func TestNoContentType(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "raw \x00\x01 bytes")
		})
		resp := g.post()
		if text, kind := read(t, resp), resp.Header["Content-Type"]; kind != nil || !strings.HasPrefix(text, "raw") {
			t.Errorf("h2 %t: %q as %q", h2, text, kind)
		}
		g.close()
	}
}

// TestLongHeader: a reply with a header that no client takes is answered with an error that
// says so, and is reported; one that some clients take is passed on.
func TestLongHeader(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) { testLongHeader(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { testLongHeader(t, true) })
}

func testLongHeader(t *testing.T, h2 bool) {
	t.Helper()
	for _, parts := range []int{1, 64} {
		for size, want := range map[int]int{800 << 10: http.StatusOK, 2 << 20: http.StatusBadGateway} {
			t.Run(fmt.Sprintf("%d bytes in %d", size, parts), func(t *testing.T) {
				g := newRig(t, h2, record.Config{}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["X-Long"] = slices.Repeat([]string{strings.Repeat("a", size/parts)}, parts)
					_, _ = io.WriteString(w, "{}")
				})
				resp := g.post()
				text := read(t, resp)
				if resp.StatusCode != want || want != http.StatusOK &&
					!strings.Contains(text, "larger than 1 MiB, the most that is passed on") {
					t.Errorf("%d %s", resp.StatusCode, text)
				}
				report := g.close()
				if said := fmt.Sprint(report.Cut); (want == http.StatusOK) != (len(report.Cut) == 0) ||
					want != http.StatusOK && !strings.Contains(said, "larger than 1 MiB, the most") {
					t.Errorf("reported %s", said)
				}
			})
		}
	}
}
