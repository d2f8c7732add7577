package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/inspect"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/wires"
)

// standInKey is the key that is sent to an --upstream when the environment has none: servers that
// stand in for a provider need one, whatever it is.
const standInKey = "recorder-refresh-check"

// checkUpstreamsEncrypted returns an error where a key would be sent over a network unencrypted.
func checkUpstreamsEncrypted(upstream, keys map[string]string) error {
	for provider, base := range upstream {
		u, err := url.Parse(base)
		if err != nil || u.Scheme == "https" || keys[provider] == "" || isLoopback(u.Hostname()) {
			continue
		}
		return cli.Usage("--upstream %s=%s: would send %s unencrypted; use https, or unset the key", provider, base, wires.Find(provider).Environment.Keys[0])
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sender sends recorded requests again.
type sender struct {
	transport http.RoundTripper
	keys      map[string]string
	maxBytes  int64
	timeout   time.Duration
	now       func() time.Time
}

var errTooLong = errors.New("the reply is longer than --max-bytes")

// resendRequest sends a recorded request again and returns the reply. Of a reply that broke off it
// returns what came, and an error.
func (s *sender) resendRequest(ctx context.Context, r cassette.Request) (in cassette.Interaction, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	in.Request = r
	request, err := s.newRequest(ctx, r)
	if err != nil {
		return in, err
	}
	start := s.now()
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return in, err
	}
	defer func() { _ = response.Body.Close() }()
	in.Response = cassette.Response{Status: response.StatusCode, Proto: response.Proto, Header: response.Header}
	err = s.readBody(&in, response.Body)
	in.Response.Trailer, in.Duration = response.Trailer, s.now().Sub(start)
	if in.End = cassette.EndEOF; err != nil {
		in.End = cassette.EndReset
	}
	return in, err
}

// readBody reads the body of a reply into in, with the times of its chunks.
func (s *sender) readBody(in *cassette.Interaction, body io.Reader) error {
	start, piece := s.now(), make([]byte, 32<<10)
	for {
		n, err := body.Read(piece)
		if n > 0 {
			in.Response.Body = append(in.Response.Body, piece[:n]...)
			in.Timeline = append(in.Timeline, cassette.Chunk{At: s.now().Sub(start), Length: n})
		}
		switch {
		case int64(len(in.Response.Body)) > s.maxBytes:
			return errTooLong
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// askedParameters are the parameters of a URL that say how to reply.
var askedParameters = []string{"alt", "beta"}

// newRequest returns a recorded request with a key in place of the pseudonym. It has only those
// headers and parameters that decide how the provider replies.
func (s *sender) newRequest(ctx context.Context, r cassette.Request) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: is not a URL", r.URL)
	}
	query := url.Values{}
	for _, name := range askedParameters {
		if values := u.Query()[name]; values != nil {
			query[name] = values
		}
	}
	u.User, u.Fragment, u.RawQuery = nil, "", query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for _, name := range inspect.RequestHeaders {
		if values := r.Header[name]; values != nil {
			request.Header[name] = values
		}
	}
	request.Header.Set("Accept-Encoding", "identity")
	provider := event.Provider(r)
	llm.SetKey(request.Header, provider, cmp.Or(s.keys[provider], standInKey))
	return request, nil
}
