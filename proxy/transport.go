package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/wires"
)

// maxReplyHeader bounds the header of a reply, in bytes. Clients accept less, and their errors
// do not name the header: curl reports an empty reply, or that it has no memory.
const maxReplyHeader = 1 << 20

// replyError returns err in words of ours where the header of the reply was too long. net/http
// has no type for that error, and its errors of HTTP/2 may have other causes as well.
func replyError(err error) error {
	long := fmt.Sprintf("larger than %d MiB, the most that is passed on", maxReplyHeader>>20)
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"), strings.Contains(text, "response header list larger than advertised limit"):
		return errors.New("the header of the reply is " + long)
	case text == "connection error: COMPRESSION_ERROR", text == "connection error: PROTOCOL_ERROR":
		return fmt.Errorf("the reply is not valid HTTP/2, or its header is %s (%w)", long, err)
	case quotedReply.MatchString(text):
		return errors.New(quotedReply.ReplaceAllString(text, "$1"))
	}
	return err
}

// quotedReply matches what net/http quotes of a reply that it could not read. A key may be in it.
var quotedReply = regexp.MustCompile(`(?s)(malformed [A-Za-z/ ]*[a-z]|bad Content-Length|multiple Content-Length headers|unsupported transfer encoding|invalid header field name|GOAWAY and closed the connection; LastStreamID=[0-9]+, ErrCode=[A-Z_]+)[^A-Za-z].*`)

// NewTransport returns what sends requests to the providers. upstream maps a provider's name
// to the URL that answers in its place: scheme, host and a path to put before the request's.
// roots are the trusted certificates; nil means the system's.
//
// The transport uses HTTP/2 when the server does and leaves compression alone. It ignores the
// proxies of the environment, one of which may be this one, and never connects to the Proxy
// that a request came in by (pitfall G11). A reply may take any time.
func NewTransport(upstream map[string]string, roots *x509.CertPool) (http.RoundTripper, error) {
	return NewTransportVia(upstream, roots, nil)
}

// NewTransportVia is NewTransport through another proxy; nil means directly. When
// that proxy refuses, the error says so and what it asks for.
func NewTransportVia(upstream map[string]string, roots *x509.CertPool, via *Via) (http.RoundTripper, error) {
	bases := make(map[string]*url.URL, len(upstream))
	for _, provider := range slices.Sorted(maps.Keys(upstream)) {
		base, err := parseUpstream(provider, upstream[provider])
		if err != nil {
			return nil, err
		}
		bases[provider] = base
	}
	next := &http.Transport{
		DialContext:            dialOthers(&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}),
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		ReadBufferSize:         32 << 10,
		WriteBufferSize:        32 << 10,
		MaxResponseHeaderBytes: maxReplyHeader,
	}
	if via != nil {
		via.installIn(next)
	}
	return &transport{bases: bases, next: next, via: via}, nil
}

// errLoop is the error of a request that would come back to the proxy it came in
// by.
var errLoop = errors.New("that is this proxy itself; point --upstream, or the host's name, elsewhere")

type selfKey struct{}

// dialOthers connects to any address that is not a listener of the proxy that
// the request came in by, however the address is spelt (pitfall G11).
func dialOthers(d *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if p, ok := ctx.Value(selfKey{}).(*Proxy); ok && p.isOwnListener(conn) {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: %w", address, errLoop)
		}
		return conn, nil
	}
}

func parseUpstream(provider, base string) (*url.URL, error) {
	if llm.Host(provider) == "" {
		return nil, fmt.Errorf("upstream %s=%s: unknown provider; use %s", provider, base, wires.List(wires.Names()))
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("upstream %s=%s: use a URL such as http://127.0.0.1:9000", provider, base)
	}
	return u, nil
}

type transport struct {
	bases map[string]*url.URL
	next  *http.Transport
	via   *Via // nil: directly
}

// RoundTrip sends r to the provider it is addressed to, or to the upstream that
// replaces the provider.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.bases[llm.Provider(r.URL.Host, r.URL.Path)]
	if base == nil {
		return t.send(r)
	}
	out, u := r.WithContext(r.Context()), *r.URL
	out.URL, out.Host = &u, ""
	u.Scheme, u.Host = base.Scheme, base.Host
	if prefix := strings.TrimSuffix(base.Path, "/"); prefix != "" {
		u.Path = prefix + u.Path
		if u.RawPath != "" {
			u.RawPath = prefix + u.RawPath
		}
	}
	return t.send(out)
}

// send sends r where its URL says.
func (t *transport) send(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, t.via.nameIn(replyError(err), r)
	}
	if err := t.via.checkReply(r, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// CloseIdleConnections closes connections that wait for another request.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }
