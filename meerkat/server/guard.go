package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/webpage"
)

// MaxMessage bounds what a client sends at once, in bytes.
const MaxMessage = 16 << 20

// The times that a client has. A reader that takes nothing for so long is gone.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	writeTime  = 30 * time.Second
	idleTime   = 2 * time.Minute
)

// minToken is the least length of a token; a shorter one could be guessed.
const minToken = 16

// CheckToken reports a token that is too short or that no header can carry.
func CheckToken(token string) error {
	if len(token) < minToken {
		return errors.New("the token is shorter than 16 characters; use a random one, such as that of: openssl rand -hex 32")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the token holds a space, a control character or one outside ASCII; use letters and digits")
	}
	return nil
}

// Refuse answers a request that a server refuses.
type Refuse func(w http.ResponseWriter, message string, status int)

// GuardOptions say what a [Guard] lets pass. Token must be set.
type GuardOptions struct {
	// Token is what clients send as Authorization: Bearer TOKEN.
	Token string
	// Hosts are names of the server, without ports, beside localhost and its addresses. A
	// load balancer on the same machine may pass on the name that its clients asked for.
	Hosts []string
	// Refuse answers what does not pass; nil: http.Error.
	Refuse Refuse
}

// Guard returns a handler that passes on to next only what it may see: requests with
// the bearer token, for a name of this server, from no web page of another origin, with
// a body of at most MaxMessage bytes that is not compressed and arrives in time. What next
// writes must be read in time.
//
// The name is checked where a client connects to the loopback interface: a web page could
// get there with a name of its own that resolves to 127.0.0.1 (DNS rebinding).
func Guard(o GuardOptions, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	refuse := o.Refuse
	if refuse == nil {
		refuse = http.Error
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOwnHost(r, o.Hosts) {
			refuse(
				w,
				fmt.Sprintf(
					"host: %.100q is not a name of this server; ask 127.0.0.1 or localhost, or give the server that name with the setting server.hosts",
					r.Host,
				),
				http.StatusForbidden,
			)
			return
		}
		if webpage.IsForeign(r) {
			refuse(w, "origin: web pages of other origins are refused; send no Origin header", http.StatusForbidden)
			return
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ") // RFC 9110: schemes have no case
		if sum := sha256.Sum256([]byte(given)); !strings.EqualFold(scheme, "Bearer") ||
			subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(
				w, "authorization: missing or wrong; send the header Authorization: Bearer TOKEN",
				http.StatusUnauthorized,
			)
			return
		}
		// Say that the client that sent a request has the token.
		if c, bounded := r.Context().Value(connKey{}).(*boundedConn); bounded {
			c.markProven()
		}
		if encoding := strings.Join(
			r.Header.Values("Content-Encoding"), ", ",
		); encoding != "" && !strings.EqualFold(encoding, "identity") {
			w.Header().Set("Accept-Encoding", "identity") // RFC 9110, section 12.5.3: what may be sent instead
			refuse(
				w, fmt.Sprintf("content-encoding: %.100q is not understood; send the body as it is", encoding),
				http.StatusUnsupportedMediaType,
			)
			return
		}
		if !readBody(w, r, refuse) {
			return
		}
		next.ServeHTTP(&patientWriter{w, http.NewResponseController(w)}, r)
	})
}

// isOwnHost reports whether a request is for a name of this server. On other interfaces
// than loopback any name may be that of the machine.
func isOwnHost(r *http.Request, hosts []string) bool {
	local, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !known || !isLoopbackHost(hostName(local.String())) {
		return true
	}
	asked := hostName(r.Host)
	return isLoopbackHost(asked) || slices.ContainsFunc(
		hosts, func(h string) bool { return strings.EqualFold(hostName(h), asked) },
	)
}

// hostName returns HOST:PORT without its port.
func hostName(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return strings.TrimSuffix(strings.Trim(address, "[]"), ".")
}

// isLoopbackHost reports whether a name is always that of this machine.
func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// readBody reads the whole body within its time and size, and reports whether it did.
// What comes afterwards may take as long as a run does. The time of a body that did not
// arrive whole is not lifted: net/http reads on before it answers.
func readBody(w http.ResponseWriter, r *http.Request, refuse Refuse) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	switch large := (*http.MaxBytesError)(nil); {
	case errors.As(err, &large):
		refuse(w, "body: it is larger than 16 MiB; send less", http.StatusRequestEntityTooLarge)
	case err != nil:
		refuse(w, "body: it did not arrive whole; send it again", http.StatusRequestTimeout)
	default:
		_ = control.SetReadDeadline(time.Time{})
		r.Body = io.NopCloser(bytes.NewReader(body))
		return true
	}
	return false
}

// patientWriter gives each write its time.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := w.ResponseWriter.Write(p)
	_ = w.control.SetWriteDeadline(time.Time{})
	return n, err
}

// Flush implements http.Flusher.
func (w *patientWriter) Flush() {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = w.control.Flush()
	_ = w.control.SetWriteDeadline(time.Time{})
}

// Unwrap lets an http.ResponseController reach the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
