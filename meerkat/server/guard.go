package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
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

// Guard returns a handler that passes on to next only what it may see: requests with
// the bearer token, from no web page of another origin, with a body of at most
// MaxMessage bytes that arrives in time. What next writes must be read in time. refuse
// answers the others, as http.Error does.
func Guard(token string, refuse Refuse, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOwnOrigin(r) {
			refuse(w, "origin: web pages of other origins are refused; send no Origin header", http.StatusForbidden)
			return
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ") // RFC 9110: schemes have no case
		if sum := sha256.Sum256([]byte(given)); !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, "authorization: missing or wrong; send the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		if !readBody(w, r, refuse) {
			return
		}
		next.ServeHTTP(&patientWriter{w, http.NewResponseController(w)}, r)
	})
}

// isOwnOrigin reports whether a request comes from no web page, or from one that this
// server itself would serve. Browsers send Origin; programs do not.
func isOwnOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if len(r.Header.Values("Origin")) == 0 {
		return site == "" || site == "same-origin" || site == "none"
	}
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && len(r.Header.Values("Origin")) == 1 && u.Host != "" && strings.EqualFold(u.Host, r.Host)
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
