package vcr

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	vcrcassette "github.com/dnaeon/go-vcr/v2/cassette"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// candidates are the recorded requests, for a matcher. They are read as far as a request was
// compared with them.
type candidates struct {
	mu       sync.Mutex
	requests []cassette.Request
	replayed []bool
	front    int // all before it are replayed
}

// find returns a handler that replays the first interaction that matches, nil for none.
func (c *candidates) find(r *Recorder, req *http.Request) (http.Handler, error) {
	asked, err := readRequest(r.redaction.redactor, req, record.DefaultMaxBody)
	if err != nil {
		return nil, err
	}
	at, err := c.firstMatch(r, asked)
	if at < 0 || err != nil {
		return nil, err
	}
	in, err := r.recorded.At(at)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen := in
		seen.Request = asked.redactedRequest()
		r.observeReplay(seen, false)
		replay.Send(w, req, in, r.timing())
	}), nil
}

func (c *candidates) firstMatch(r *Recorder, asked *askedRequest) (at int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.repeats {
		c.front = 0
	}
	for at := c.front; at < r.recorded.Len(); at++ {
		if at == len(c.requests) {
			next, err := r.recorded.Request(at)
			if err != nil {
				return -1, err
			}
			c.requests, c.replayed = append(c.requests, next), append(c.replayed, false)
		}
		if c.replayed[at] && !r.repeats || !r.matcher(asked.httpRequest(), asked.shownRequest(c.requests[at])) {
			continue
		}
		c.replayed[at] = true
		for !r.repeats && c.front < len(c.replayed) && c.replayed[c.front] {
			c.front++
		}
		return at, nil
	}
	return -1, nil
}

// askedRequest is a live request that is compared with recorded ones. It is for one goroutine.
type askedRequest struct {
	redactor *redact.Redactor
	req      *http.Request
	body     []byte
	redacted *cassette.Request
}

// readRequest reads a request's body of at most limit bytes, and gives the request a fresh one.
func readRequest(redactor *redact.Redactor, req *http.Request, limit int64) (*askedRequest, error) {
	a := &askedRequest{redactor: redactor, req: req}
	if req.Body == nil || req.Body == http.NoBody {
		return a, nil
	}
	var err error
	if a.body, err = io.ReadAll(io.LimitReader(req.Body, limit+1)); err != nil {
		return nil, fmt.Errorf("%s %s: the request body cannot be read: %w", req.Method, req.URL.Redacted(), err)
	}
	if int64(len(a.body)) > limit {
		return nil, fmt.Errorf(
			"%s %s: the request body is longer than %d MiB, the most that is read; send it by a Passthrough",
			req.Method, req.URL.Redacted(), limit>>20)
	}
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(a.body))
	return a, nil
}

// httpRequest returns the request for one call of a matcher, which may read the body.
func (a *askedRequest) httpRequest() *http.Request {
	req := a.req.WithContext(a.req.Context())
	if a.req.Body != nil && a.req.Body != http.NoBody {
		req.Body = io.NopCloser(bytes.NewReader(a.body))
	}
	return req
}

// redactedRequest returns the request as a recorder would keep it.
func (a *askedRequest) redactedRequest() cassette.Request {
	if a.redacted == nil {
		r := a.redactor.Request(record.RequestOf(a.req, a.body))
		a.redacted = &r
	}
	return *a.redacted
}

// redactedMark begins a pseudonym, which redaction puts in the place of a secret.
const redactedMark = "REDACTED"

// shownRequest returns a recorded request as a matcher sees it. Where redaction replaced a
// secret, it has what the live request has there, so that a secret never decides whether two
// requests are equal.
func (a *askedRequest) shownRequest(recorded cassette.Request) vcrcassette.Request {
	if strings.Contains(recorded.URL, redactedMark) && replay.SameURL(recorded.URL, a.redactedRequest().URL) {
		recorded.URL = a.req.URL.String()
	}
	if bytes.Contains(recorded.Body, []byte(redactedMark)) &&
		replay.EqualBesideSecrets(recorded.Body, a.redactedRequest().Body) {
		recorded.Body = a.body
	}
	shown := toGoVCRRequest(recorded)
	shown.Headers = recorded.Header.Clone()
	for name, values := range shown.Headers {
		live := a.req.Header[name]
		if !slices.Equal(live, values) && !slices.Equal(live, a.redactedRequest().Header[name]) {
			shown.Headers[name] = live
		}
	}
	return shown
}
