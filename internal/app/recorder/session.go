package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// grace is how long open replies may go on once a session is to end.
const grace = 10 * time.Second

// work is what a proxy does with the requests: recording or replaying.
type work interface {
	http.Handler
	// finish saves, tells people how it went and returns the exit code.
	finish(a *app) int
	// abandon undoes a start that came to nothing.
	abandon()
}

// session is a proxy at work, and the files its clients need to trust it.
type session struct {
	app   *app
	proxy *proxy.Proxy
	work  work
	trust string // folder with caFile and bundleFile
}

// The files of a session's trust folder.
const (
	caFile     = "ca.pem"
	bundleFile = "bundle.pem"
)

// open starts a session. The cassette is touched last: whatever else is wrong
// leaves no trace.
func (a *app) open(ctx context.Context, f *flags) (_ *session, err error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	authority, err := a.authority(f.allow)
	if err != nil {
		return nil, err
	}
	s := &session{app: a}
	defer func() {
		if err != nil {
			s.abandon(ctx)
		}
	}()
	if s.trust, err = a.trustFiles(authority); err != nil {
		return nil, err
	}
	if s.work, err = a.work(f); err != nil {
		return nil, err
	}
	cfg := proxy.Config{CA: authority, Listen: f.listen, Doors: f.doors, AllowHosts: f.allow, Handler: s.work,
		Log: func(line string) { a.say("%s", explain(line)) }}
	if s.proxy, err = proxy.New(cfg); err == nil {
		err = s.proxy.Start()
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	return s, nil
}

// explain puts net/http's words for the commonest mishap into plainer ones.
func explain(line string) string {
	if strings.Contains(line, "TLS handshake error") && strings.Contains(line, "remote error: tls: ") {
		return "a client refused the proxy's certificate; make it trust what `recorder ca export` prints (" + line + ")"
	}
	return line
}

func (a *app) trustFiles(authority *ca.Authority) (string, error) {
	dir, err := os.MkdirTemp("", "recorder-trust-*")
	if err != nil {
		return "", usage("temporary folder: %w", err)
	}
	bundle := authority.Bundle(ca.SystemRoots(a.getenv("SSL_CERT_FILE")))
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, caFile), authority.PEM(), 0o600),
		os.WriteFile(filepath.Join(dir, bundleFile), bundle, 0o600))
	if err != nil {
		return dir, usage("%w", err)
	}
	return dir, nil
}

// close ends the session and returns its exit code. ctx may be done already:
// that is how sessions are ended.
func (s *session) close(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.proxy.Close(ctx); err != nil {
		s.app.say("replies still open after %v were cut", grace)
	}
	_ = os.RemoveAll(s.trust)
	return s.work.finish(s.app)
}

// abandon undoes what open did so far.
func (s *session) abandon(ctx context.Context) {
	if s.proxy != nil {
		_ = s.proxy.Close(ctx)
	}
	if s.work != nil {
		s.work.abandon()
	}
	if s.trust != "" {
		_ = os.RemoveAll(s.trust)
	}
}

func (a *app) work(f *flags) (work, error) {
	key, err := a.pseudonymKey()
	if err != nil {
		return nil, err
	}
	redactor := redact.New(key)
	for _, secret := range a.secrets() {
		redactor.Learn(secret)
	}
	if f.mode == modeReplay {
		return a.replaying(f, redactor)
	}
	return a.recording(f, redactor)
}

func interactions(n int) string {
	if n == 1 {
		return "1 interaction"
	}
	return fmt.Sprintf("%d interactions", n)
}

// reason is an error of the operating system without the path, which the
// sentence names already.
func reason(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
