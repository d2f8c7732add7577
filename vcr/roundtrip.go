package vcr

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/inprocess"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/specs"
)

// exchange is in the context of one request. The recorder's transport, and RoundTrip, which
// waits for the reply, share it.
type exchange struct {
	failure error // why the service gave no reply
}

type exchangeKey struct{}

// askHandler answers req by h, in this process. A failure of the transport is the
// caller's error, as without a recorder.
func (r *Recorder) askHandler(h http.Handler, req *http.Request) (*http.Response, error) {
	x := &exchange{}
	asked := req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x))
	resp, err := inprocess.Transport(flushEveryWrite(h)).RoundTrip(asked)
	if err != nil {
		return nil, err
	}
	if resp.Header.Get("X-Recorder-Error") != "" && x.failure != nil {
		_ = resp.Body.Close()
		return nil, x.failure
	}
	resp.Request = req
	resp.Body = r.recording.open.add(resp.Body)
	return resp, nil
}

// realTransport sends the requests of the recorder to the service. It notes failures, and lets
// net/http add its own User-Agent where the client set none.
type realTransport struct{ next func() http.RoundTripper }

// RoundTrip asks the service.
func (t realTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if values, ok := req.Header["User-Agent"]; ok && values == nil {
		delete(req.Header, "User-Agent") // the recorder's own copy
	}
	resp, err := t.next().RoundTrip(req)
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok && err != nil {
		x.failure = err
	}
	return resp, err
}

// flushEveryWrite returns h with each of its Writes flushed, so that the client gets it as one
// piece.
func flushEveryWrite(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { h.ServeHTTP(flushingWriter{w}, req) })
}

type flushingWriter struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w flushingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write sends p. The error says that the client left.
func (w flushingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

// openBodies are the replies that clients may still be reading.
type openBodies struct {
	mu       sync.Mutex
	all      map[*openBody]bool
	isClosed bool
}

type openBody struct {
	io.ReadCloser
	from *openBodies
}

// add adds a reply. After closeAll it closes the reply at once.
func (o *openBodies) add(body io.ReadCloser) io.ReadCloser {
	b := &openBody{body, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		_ = body.Close()
		return b
	}
	if o.all == nil {
		o.all = map[*openBody]bool{}
	}
	o.all[b] = true
	return b
}

// Close ends the reading.
func (b *openBody) Close() error {
	b.from.mu.Lock()
	delete(b.from.all, b)
	b.from.mu.Unlock()
	return b.ReadCloser.Close()
}

// closeAll closes what the clients left open: their handlers wait until it is read.
func (o *openBodies) closeAll() {
	o.mu.Lock()
	left := o.all
	o.all, o.isClosed = nil, true
	o.mu.Unlock()
	for b := range left {
		_ = b.ReadCloser.Close()
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// Judge checks the requests of a test against the catalogue of requirements, as conform check
// does. It fails the test when a request breaks a requirement, or nothing could be judged.
// The requests are those of this run, even where their replies were recorded earlier. Judge
// ends the recording: no request may follow.
func Judge(t testing.TB, rec *Recorder) {
	t.Helper()
	verdict, err := rec.Verdict()
	switch {
	case err != nil:
		t.Error(err)
	case !verdict.Passed:
		t.Errorf("%s", verdict.Text)
	default:
		t.Logf("%s", verdict.Text)
	}
}

// Verdict is what the referee says of the requests of a [Recorder].
type Verdict struct {
	// Passed: no requirement was broken, and some were seen.
	Passed bool
	// Text is the report of conform check.
	Text string
	// Recording has the findings.
	Recording report.Recording
}

// Verdict judges what was asked so far, see [Judge]. It ends the recording.
func (r *Recorder) Verdict() (Verdict, error) {
	r.recording.settle()
	rules, err := report.RulesOf(specs.CurrentSet)
	if err != nil {
		return Verdict{}, err
	}
	seen := evidence.NewRecording(r.file(), r.provenance(), r.seen.inOrder())
	judged := report.NewChecked(report.Tool{Name: "vcr"}, report.Policy{FailOn: report.Fail},
		[]report.Recording{report.JudgeRecording(rules, seen)})
	var text strings.Builder
	report.NewTerminal(&text, false).Checked(judged)
	return Verdict{Passed: judged.Summary.Exit == report.ExitOK, Text: strings.TrimSpace(text.String()),
		Recording: judged.Recordings[0]}, nil
}

// seenList holds the redacted interactions of this run, for [Judge]. It is safe for concurrent
// use.
type seenList struct {
	mu  sync.Mutex
	all []cassette.Interaction
}

func (s *seenList) add(in cassette.Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, in)
}

// inOrder returns the interactions in the order of their requests.
func (s *seenList) inOrder() []cassette.Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.all)
	slices.SortStableFunc(all, func(a, b cassette.Interaction) int { return a.Started.Compare(b.Started) })
	return all
}

// observeReplay notes a request with its recorded answer. Its provenance is synthetic: the
// provider has not answered this request.
func (r *Recorder) observeReplay(in cassette.Interaction, _ bool) {
	in.Started = time.Now()
	if in.Provenance == "" {
		in.Provenance = cassette.ProvenanceSynthetic
	}
	r.seen.add(in)
}

// observeRecorded notes what was recorded. A reply that broke off is not kept, and fails the
// test. A request without any reply does not: the client got the error.
func (r *Recorder) observeRecorded(in cassette.Interaction) {
	r.seen.add(in)
	if r.wholeOnly && in.Incomplete != "" && in.Incomplete != cassette.IncompleteNoReply {
		r.cut.add(fmt.Sprintf("%s %s: not kept, because the reply is incomplete (%s)", in.Request.Method,
			in.Request.URL, in.Incomplete))
	}
}

// sentences collects lines for output. It is safe for concurrent use.
type sentences struct {
	mu  sync.Mutex
	all []string
}

func (s *sentences) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, line)
}

func (s *sentences) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// toGoVCRRequest returns a request in go-vcr's type. It shares the header.
func toGoVCRRequest(in cassette.Request) vcrcassette.Request {
	out := vcrcassette.Request{Method: in.Method, URL: in.URL, Headers: in.Header, Body: string(in.Body)}
	if in.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		out.Form, _ = url.ParseQuery(out.Body) // as far as it can be read
	}
	return out
}

// applyFilters passes an interaction through filters. The fields that go-vcr does not have stay,
// but for those of a response body that a filter changes.
func applyFilters(filters []vcrcassette.Filter, in cassette.Interaction) (cassette.Interaction, error) {
	if len(filters) == 0 {
		return in, nil
	}
	shown := &vcrcassette.Interaction{
		Request: toGoVCRRequest(in.Request),
		Response: vcrcassette.Response{
			Body: string(in.Response.Body), Headers: in.Response.Header.Clone(), Code: in.Response.Status,
			Status: strconv.Itoa(in.Response.Status) + " " + http.StatusText(in.Response.Status), Duration: in.Duration,
		},
	}
	shown.Request.Headers = in.Request.Header.Clone()
	for _, filter := range filters {
		if err := filter(shown); err != nil {
			return in, err
		}
	}
	in.Request.Method, in.Request.URL, in.Request.Header, in.Request.Body = shown.Method, shown.URL,
		shown.Request.Headers, []byte(shown.Request.Body)
	in.Response.Status, in.Response.Header, in.Duration = shown.Code, shown.Response.Headers, shown.Duration
	if body := []byte(shown.Response.Body); !bytes.Equal(body, in.Response.Body) {
		in.Response.Body, in.Timeline, in.Drained = body, nil, 0 // the pieces were those of other bytes
	}
	return in, nil
}
