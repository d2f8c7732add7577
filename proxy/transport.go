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

	"golang.org/x/net/http/httpproxy"

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
	case strings.Contains(text, "server response headers exceeded"),
		strings.Contains(text, "response header list larger than advertised limit"):
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
// to the URL that answers in its place: scheme, host and a path to put before the request's. It answers
// the whole host, unless another wire of that host has an upstream of its own.
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
		next.Proxy = func(r *http.Request) (*url.URL, error) { return via.find(r.URL) }
		next.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, asked *http.Request,
			got *http.Response) error {
			if got.StatusCode == http.StatusOK {
				return nil
			}
			return via.refusalError(asked.Host, got)
		}
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
	base := t.baseFor(r.URL)
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

// baseFor returns the upstream that answers u, nil for the provider itself. An upstream also answers the
// other wires of its provider's host: who names a stand-in for OpenAI does not expect that Chat Completions
// still reach OpenAI, with a key.
func (t *transport) baseFor(u *url.URL) *url.URL {
	if base := t.bases[llm.Provider(u.Host, u.Path)]; base != nil {
		return base
	}
	for _, provider := range slices.Sorted(maps.Keys(t.bases)) {
		if llm.Host(provider) == u.Hostname() {
			return t.bases[provider]
		}
	}
	return nil
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

// Via is a proxy between this machine and the providers, such as that of a company.
type Via struct {
	address *url.URL                         // with the login
	find    func(*url.URL) (*url.URL, error) // the address, nil for a host that is reached directly
}

// ParseVia reads the address of a proxy, http://HOST:PORT or https://HOST:PORT. login is
// USER:PASSWORD; "" means the login in the address, if any. noProxy lists hosts that are
// reached directly, in the form of the variable NO_PROXY. This machine always is. Errors quote
// no login.
func ParseVia(address, login, noProxy string) (*Via, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" ||
		strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("use http://HOST:PORT or https://HOST:PORT")
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	if login != "" {
		user, password, ok := strings.Cut(login, ":")
		if !ok || user == "" {
			return nil, errors.New("the login is USER:PASSWORD")
		}
		u.User = url.UserPassword(user, password)
	}
	find := (&httpproxy.Config{HTTPProxy: u.String(), HTTPSProxy: u.String(), NoProxy: noProxy}).ProxyFunc()
	return &Via{address: u, find: find}, nil
}

// Password returns the password of the login, "" for none.
func (v *Via) Password() string {
	password, _ := v.address.User.Password()
	return password
}

// nameIn adds the proxy to the error of a request that went through it and got no reply: either
// may be what is at fault.
func (v *Via) nameIn(err error, r *http.Request) error {
	if v == nil || errors.As(err, new(viaRefusal)) {
		return err
	}
	if address, _ := v.find(r.URL); address == nil {
		return err
	}
	return fmt.Errorf("through upstream proxy %s: %w", v.address.Host, err)
}

// checkReply returns an error when the reply is a refusal of the proxy. Only a request in plain
// HTTP gets one; others have a tunnel, whose refusal is an error of the transport.
func (v *Via) checkReply(r *http.Request, got *http.Response) error {
	if v == nil || r.URL.Scheme != "http" || got.StatusCode != http.StatusProxyAuthRequired {
		return nil
	}
	_ = got.Body.Close()
	return v.refusalError(r.URL.Host, got)
}

// schemeForm matches the name of a scheme of authentication.
var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,30}`)

// viaRefusal is what a proxy answered instead of leading to a host, and what to do.
type viaRefusal string

// Error returns the sentence, which names the proxy.
func (r viaRefusal) Error() string { return string(r) }

// refusalError says why the proxy does not lead to host, and what to do.
func (v *Via) refusalError(host string, got *http.Response) error {
	return viaRefusal("upstream proxy " + v.address.Host + ": " + v.refusalReason(host, got))
}

func (v *Via) refusalReason(host string, got *http.Response) string {
	// Tinyproxy refuses a wrong login with 401.
	if got.StatusCode != http.StatusProxyAuthRequired && got.StatusCode != http.StatusUnauthorized {
		return fmt.Sprintf("does not lead to %s (status %d)", host, got.StatusCode)
	}
	var schemes []string
	for _, line := range got.Header["Proxy-Authenticate"] {
		if name := schemeForm.FindString(line); name != "" && len(schemes) < 5 {
			schemes = append(schemes, name)
		}
	}
	isBasic := func(scheme string) bool { return strings.EqualFold(scheme, "Basic") }
	switch {
	case len(schemes) > 0 && !slices.ContainsFunc(schemes, isBasic):
		return fmt.Sprintf("asks for a login by %s, and only Basic is supported; name a proxy on this machine that logs in so, such as cntlm", strings.Join(schemes, ", "))
	case v.address.User == nil:
		return "asks for a login; give it as USER:PASSWORD in RECORDER_UPSTREAM_PROXY_LOGIN"
	}
	return "does not accept the login; check RECORDER_UPSTREAM_PROXY_LOGIN"
}
