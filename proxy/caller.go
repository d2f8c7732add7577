package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// A caller identifies itself by a user name and a password: in the proxy URL
// (http://NAME:CREDENTIAL@127.0.0.1:8080) or, for clients that have a base URL
// only, in its first path segment (http://127.0.0.1:8080/~NAME:CREDENTIAL/openai/v1).
// The name is a session, the password is the credential. Both are removed before
// the request is passed on (pitfall G19).

// anonymousUser is the user name of a caller that has a credential and no
// session: many clients drop an empty name together with its password.
const anonymousUser = "-"

var sessionName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// checkSession returns an error when a session name is not valid: it must be 1
// to 64 letters, digits, dots, underscores and dashes, and neither "-", ".", nor
// "..".
func checkSession(name string) error {
	if !sessionName.MatchString(name) || name == anonymousUser || name == "." || name == ".." {
		return errors.New("session name: use 1 to 64 letters, digits, dots, underscores or dashes")
	}
	return nil
}

// credentialForm is the form of a credential: valid in a URL, and too long to guess.
var credentialForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,256}$`)

// CheckCredential returns an error, which does not quote the credential, when it
// is not valid: it must be 16 to 256 letters, digits, dots, underscores, tildes
// and dashes.
func CheckCredential(credential string) error {
	if !credentialForm.MatchString(credential) {
		return errors.New("credential: use 16 to 256 letters, digits, dots, underscores, tildes or dashes")
	}
	return nil
}

type sessionKey struct{}

// Session returns the name of the session that a request belongs to, "" for
// none. ctx is the request's, or derived from it. The name comes from the proxy
// user, the base URL's first segment (/~NAME/…) or, without either, from the
// listener in Config.Sessions.
func Session(ctx context.Context) string {
	name, _ := ctx.Value(sessionKey{}).(string)
	return name
}

func withSession(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, sessionKey{}, name)
}

type clientKey struct{}

// Client returns the name that Config.Identify gave the process that sent a request, ""
// for none. ctx is the request's, or derived from it.
func Client(ctx context.Context) string {
	if name, ok := ctx.Value(clientKey{}).(func() string); ok {
		return name()
	}
	return ""
}

// withClient returns the context of a connection, with what [Client] returns and what corkOf does.
func (p *Proxy) withClient(ctx context.Context, conn net.Conn) context.Context {
	ctx = withCork(ctx, conn.(*corkConn))
	if p.cfg.Identify == nil {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, sync.OnceValue(func() string { return p.cfg.Identify(conn) }))
}

// denial is why a caller is not admitted.
type denial struct {
	status int
	reason string
}

// requireCaller admits only callers with a valid name and, when one is
// configured, the credential. Neither is passed on.
func (p *Proxy) requireCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, credential, denied := parseCaller(r)
		if denied == nil {
			denied = p.checkCaller(r, name, credential)
		}
		if denied != nil {
			if denied.status == http.StatusProxyAuthRequired {
				w.Header().Set("Proxy-Authenticate", `Basic realm="recorder"`)
			}
			p.refuseRequest(w, r, Denied, denied.status, denied.reason)
			return
		}
		if name != "" && name != anonymousUser {
			r = r.WithContext(withSession(r.Context(), name))
		}
		next.ServeHTTP(w, r)
	})
}

// parseCaller reads the name and the credential of a caller, and removes them
// from the path. wrapHandler removes the header.
func parseCaller(r *http.Request) (name, credential string, denied *denial) {
	name, credential, ok := parseBasicAuth(r.Header.Get("Proxy-Authorization"))
	if !ok {
		return "", "", &denial{http.StatusProxyAuthRequired,
			"Proxy-Authorization: not understood; use Basic with NAME:CREDENTIAL"}
	}
	segment, ok := strings.CutPrefix(r.URL.EscapedPath(), "/~")
	if !ok || r.Method == http.MethodConnect || r.URL.IsAbs() {
		return name, credential, nil
	}
	segment, _, _ = strings.Cut(segment, "/")
	plain, err := url.PathUnescape(segment)
	if err != nil || strings.Contains(plain, "/") {
		return "", "", &denial{http.StatusBadRequest, checkSession("").Error()}
	}
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/~"+plain)
	r.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, "/~"+segment)
	r.RequestURI = r.URL.RequestURI()
	name, credential, _ = strings.Cut(plain, ":")
	return name, credential, nil
}

// parseBasicAuth reads the header's user and password; an empty header is valid.
func parseBasicAuth(header string) (user, password string, ok bool) {
	if header == "" {
		return "", "", true
	}
	scheme, encoded, _ := strings.Cut(header, " ")
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	user, password, _ = strings.Cut(string(plain), ":")
	return user, password, true
}

// checkCaller returns a denial for a wrong credential or an invalid name. It
// does not repeat the name, which may be anything.
func (p *Proxy) checkCaller(r *http.Request, name, credential string) *denial {
	want, got := sha256.Sum256([]byte(p.cfg.Credential)), sha256.Sum256([]byte(credential))
	if p.cfg.Credential != "" && subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		if r.Method == http.MethodConnect || r.URL.IsAbs() {
			return &denial{http.StatusProxyAuthRequired,
				"this proxy asks for a credential; write it into HTTPS_PROXY: http://NAME:CREDENTIAL@host:port"}
		}
		return &denial{http.StatusForbidden,
			"this proxy asks for a credential; write it into the base URL: http://host:port/~NAME:CREDENTIAL/anthropic"}
	}
	if name == "" || name == anonymousUser {
		return nil
	}
	if err := checkSession(name); err != nil {
		return &denial{http.StatusBadRequest, err.Error()}
	}
	return nil
}

// URLFor returns the address to give to the clients of a session, without a
// trailing slash: for MITM the value of HTTPS_PROXY, for BaseURL what comes
// before /anthropic, /openai/v1, /gemini and /vertex. session may be "". The address
// contains the credential, so do not show it. It is valid after Start.
func (p *Proxy) URLFor(ingress, session string) string {
	address := p.listeners[0].Addr()
	if l := p.listenerOf(session); l != nil {
		address, session = l.Addr(), ""
	}
	user := session
	if session == "" && p.cfg.Credential != "" {
		user = anonymousUser
	}
	if p.cfg.Credential != "" {
		user += ":" + p.cfg.Credential
	}
	switch host := clientAddress(address); {
	case user == "":
		return "http://" + host
	case ingress == BaseURL:
		return "http://" + host + "/~" + user
	default:
		return "http://" + user + "@" + host
	}
}

// clientAddress returns a listener's address as clients on this machine can use
// it.
func clientAddress(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return address.String()
}
