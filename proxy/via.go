package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

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
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
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

// installIn makes next use the proxy.
func (v *Via) installIn(next *http.Transport) {
	next.Proxy = func(r *http.Request) (*url.URL, error) { return v.find(r.URL) }
	next.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, asked *http.Request, got *http.Response) error {
		if got.StatusCode == http.StatusOK {
			return nil
		}
		return v.refusalError(asked.Host, got)
	}
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
