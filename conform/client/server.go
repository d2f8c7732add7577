package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Server is where questions go. It may be used concurrently and is not changed.
type Server struct {
	Wire *wires.Wire
	// Base is the base URL of the server, with or without what base URLs of the wire end in.
	Base string
	// Key is sent as the wire says; an empty one is not sent.
	Key string
	// Header is added to each request.
	Header http.Header
	// Transport carries the requests. Make it with NewTransport, which no variable of the
	// environment changes.
	Transport http.RoundTripper
	// Timeout bounds one exchange, 0 for DefaultTimeout. Idle bounds the silence within a reply,
	// 0 for Timeout.
	Timeout, Idle time.Duration
	// MaxReply bounds the body of a reply in bytes, 0 for DefaultMaxReply.
	MaxReply int
}

// The bounds of an exchange.
const (
	DefaultTimeout  = 60 * time.Second
	DefaultMaxReply = 32 << 20
	// keptOfLong is how much is kept of a body that is too long.
	keptOfLong = 16 << 10
)

// NewTransport returns connections of the machine. No proxy is used, and nothing is unpacked.
func NewTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// Answer is one exchange as the client saw it.
type Answer struct {
	evidence.Exchange
	// Reply is the reply, decoded.
	Reply *wire.Reply
	// Began is the time from the request to the headers of the reply, Took that to its end.
	Began, Took time.Duration
	// Err says why the reply has no whole body: the connection broke, or a bound was reached. Its
	// text holds no address, which may have a key in it.
	Err error
}

// The bounds that end an exchange.
var (
	ErrTimeout = errors.New("the server took too long")
	ErrSilent  = errors.New("the server sent nothing for too long")
	ErrTooLong = errors.New("the server sent more than a reply may have")
)

// IsOK reports whether the reply arrived completely and is not an error.
func (a *Answer) IsOK() bool {
	return a.Err == nil && a.Response.Status/100 == 2 && a.Reply.End == wire.Complete
}

// Ask asks a question with a history, and reads the reply to its end.
func (s *Server) Ask(ctx context.Context, q *wire.Question, history []string) *Answer {
	path := s.Wire.Models.Path
	if q.Stream && s.Wire.Models.StreamPath != "" {
		path = s.Wire.Models.StreamPath
	}
	body := wire.ClientOf(s.Wire.Name).Body(q, history)
	return s.Send(ctx, http.MethodPost, strings.ReplaceAll(path, "{model}", url.PathEscape(q.Model)), nil, body)
}

// Send sends any request. path begins behind the base URL and may have a query; header is added last
// and a nil value in it takes a header away.
func (s *Server) Send(ctx context.Context, method, path string, header http.Header, body []byte) *Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(s.Timeout, DefaultTimeout), ErrTimeout)
	defer cancel()
	a := &Answer{Reply: &wire.Reply{}}
	r, err := http.NewRequestWithContext(ctx, method, JoinURL(s.Base, path), bytes.NewReader(body))
	if err != nil {
		a.Err = err
		return a
	}
	r.Header = s.requestHeader(header, body != nil)
	a.Exchange = evidence.Exchange{
		Provider: s.Wire.Name, Process: -1,
		Request: evidence.Request{Method: method, URL: r.URL.String(), Header: r.Header.Clone(), Body: body},
	}
	sent := time.Now()
	a.Date = sent
	resp, err := s.Transport.RoundTrip(r)
	if err != nil {
		a.Err, a.Took = reasonOf(ctx, err), time.Since(sent)
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	a.Began = time.Since(sent)
	a.Response = evidence.Response{Status: resp.StatusCode, Header: resp.Header, Body: []byte{}, End: "eof"}
	if a.Err = s.readBody(ctx, cancel, resp.Body, &a.Response); a.Err != nil {
		a.Response.End = "reset"
	}
	a.Took = time.Since(sent)
	a.Reply = wire.ReadReply(s.Wire.Name, resp.StatusCode, a.Response.Body)
	return a
}

func (s *Server) requestHeader(more http.Header, hasBody bool) http.Header {
	h := http.Header{"Accept-Encoding": {"identity"}, "User-Agent": {"conform"}}
	if hasBody {
		h.Set("Content-Type", "application/json")
	}
	for name, value := range s.Wire.Required {
		h.Set(name, value)
	}
	if s.Key != "" {
		h.Set(s.Wire.Credentials.Header, s.Wire.Credentials.Prefix+s.Key)
	}
	maps.Copy(h, s.Header)
	for name, values := range more {
		if h[name] = values; values == nil {
			delete(h, name)
		}
	}
	return h
}

// readBody reads the body with the time of each piece.
func (s *Server) readBody(ctx context.Context, cancel context.CancelFunc, body io.Reader,
	out *evidence.Response) error {
	began, buffer := time.Now(), make([]byte, 32<<10)
	var isSilent atomic.Bool
	limit := cmp.Or(s.Idle, s.Timeout, DefaultTimeout)
	idle := time.AfterFunc(limit, func() { isSilent.Store(true); cancel() })
	defer idle.Stop()
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			idle.Reset(limit)
			out.Body = append(out.Body, buffer[:n]...)
			out.Chunks = append(out.Chunks, evidence.Chunk{At: time.Since(began), Length: n})
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && isSilent.Load():
			return ErrSilent
		case err != nil:
			return reasonOf(ctx, err)
		case len(out.Body) > cmp.Or(s.MaxReply, DefaultMaxReply):
			out.Body = bytes.Clone(out.Body[:min(keptOfLong, len(out.Body))]) // it is no reply, whatever follows
			return ErrTooLong
		}
	}
}

// reasonOf is why an exchange ended, without the address.
func reasonOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// JoinURL puts the path of an API behind a base URL. What the base ends in and the path begins with,
// such as /v1, stands once.
func JoinURL(base, path string) string {
	base = strings.TrimRight(base, "/")
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if u, err := url.Parse(base); err == nil && strings.HasSuffix(u.Path, "/"+first) {
		return base + strings.TrimPrefix(path, "/"+first)
	}
	return base + path
}

// CountPath returns the path at which a wire counts the tokens of a request, empty where it has none.
func CountPath(w *wires.Wire) string {
	for _, path := range []string{
		w.Models.Path + "/count_tokens", w.Models.Path + "/input_tokens",
		strings.Replace(w.Models.Path, ":generateContent", ":countTokens", 1),
	} {
		if r := w.RouteOf(path); r != nil && r.Operation == wires.Count {
			return path
		}
	}
	return ""
}

// CountBody returns the body of a request to count the tokens of a prompt.
func CountBody(w *wires.Wire, model, prompt string) []byte {
	var o wire.Object
	return []byte(o.SetIf(w.Has(wires.Blocks), "model", wire.Quote(model)).Set(w.Member,
		wire.List(wire.ClientOf(w.Name).Prompt(prompt))).String())
}
