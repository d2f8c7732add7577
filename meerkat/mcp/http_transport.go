package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// serverTransport sends requests to an HTTP server. It adds the server's headers to
// requests for its own host only, limits the size of replies and keeps their JSON
// exact.
type serverTransport struct {
	base     http.RoundTripper
	host     *url.URL
	headers  map[string]string
	limit    int
	lifetime context.Context // ends all requests with it
}

// maxRedirects bounds how often one server may redirect a request to itself.
const maxRedirects = 5

func newHTTPClient(open context.Context, s Server, o Options) (*http.Client, error) {
	host, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	client := *o.HTTPClient
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != host.Scheme || req.URL.Host != host.Host || len(via) > maxRedirects {
			return fmt.Errorf(
				"it redirects to %s, which is not followed; configure that address if you trust it", req.URL.Host,
			)
		}
		return nil
	}
	client.Transport = serverTransport{client.Transport, host, s.Headers, o.MaxMessage, open}
	return &client, nil
}

// RoundTrip implements http.RoundTripper.
func (d serverTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.URL.Scheme == d.host.Scheme && req.URL.Host == d.host.Host {
		for name, value := range d.headers {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Accept-Encoding", "identity") // a small answer could unpack to a large one
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(d.lifetime, cancel) //nolint:contextcheck // the link's end, beside that of the request
	done := func() { stop(); cancel() }
	res, err := d.base.RoundTrip(req.WithContext(ctx)) //nolint:contextcheck // the same
	if err == nil {
		res.Body = notifyingBody{res.Body, done}
		err = d.checkAccess(res)
	}
	if err != nil {
		done()
		return nil, err
	}
	return res, nil
}

// accessError says that a server refused a message for its credentials, with this status.
type accessError int

// Error says what to do.
func (e accessError) Error() string {
	return fmt.Sprintf("refuses access (HTTP %d); check its headers", int(e))
}

// checkAccess returns an accessError for a message that the server did not let in, and else wraps
// the body.
func (d serverTransport) checkAccess(res *http.Response) error {
	refused := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden
	if res.Request.Method != http.MethodPost || !refused {
		return d.wrapBody(res)
	}
	_ = res.Body.Close() // what it says is for its operator
	return accessError(res.StatusCode)
}

// notifyingBody tells when its reader is done with it.
type notifyingBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b notifyingBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

func (d serverTransport) wrapBody(res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // an unreadable one is neither of ours
	switch {
	case kind == "text/event-stream":
		res.Body = &eventStreamBody{in: bufio.NewReader(res.Body), limit: d.limit, Closer: res.Body}
	case kind == "application/json" && res.StatusCode < 300:
		text, err := io.ReadAll(io.LimitReader(res.Body, int64(d.limit)+1))
		if closeErr := res.Body.Close(); err == nil {
			err = closeErr
		}
		if err == nil && len(text) > d.limit {
			err = messageSizeError(d.limit)
		}
		if err != nil {
			return err
		}
		text = keepExactValues(text)
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		res.Header.Del("Content-Length")
		return nil
	}
	return nil
}

// eventStreamBody is the body of an event stream whose data stays exact.
type eventStreamBody struct {
	in      *bufio.Reader
	limit   int
	pending []byte
	io.Closer
}

// Read implements io.Reader.
func (e *eventStreamBody) Read(p []byte) (int, error) {
	if len(e.pending) == 0 {
		line, err := readLine(e.in, e.limit)
		if err != nil {
			return 0, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = append([]byte("data: "), keepExactValues(bytes.TrimPrefix(data, []byte(" ")))...)
		}
		line = append(line, '\n')
		e.pending = line
	}
	n := copy(p, e.pending)
	e.pending = e.pending[n:]
	return n, nil
}
