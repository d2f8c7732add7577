package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// grace is how long open replies may go on once a session is to end.
const grace = 10 * time.Second

type app struct {
	*recorderenv.Env
	program    string // that run started
	isolated   bool   // it could reach the proxy only
	bypassed   []replay.Bypass
	refused    int          // how often a session's proxy refused a host or a caller
	own        *redact.Own  // the user's rules for what is recorded, nil for none
	turnedAway atomic.Int64 // how often it said why somebody did not get through
}

// modeHandler is what a proxy does with the requests of one cassette.
type modeHandler interface {
	http.Handler
	// finish saves, tells people how it went and returns what came of it. failed
	// says that the program the work was for did.
	finishRecording(a *app, failed bool) outcome
	// abandon undoes a start that came to nothing.
	discardStart()
}

// proxyRun is a proxy at work, and the files its clients need to trust it.
type proxyRun struct {
	app     *app
	proxy   *proxy.Proxy
	handler modeHandler
	trust   string // folder with caFile and bundleFile
}

// openProxy starts a session. The cassette is touched last: whatever else is wrong
// leaves no trace.
func (a *app) openProxy(ctx context.Context, f *modeFlags) (_ *proxyRun, err error) {
	if err := f.checkValues(); err != nil {
		return nil, err
	}
	cfg, err := a.ingressConfig(f)
	if err != nil {
		return nil, err
	}
	authority, err := a.Authority(f.allow)
	if err != nil {
		return nil, err
	}
	s := &proxyRun{app: a}
	defer func() {
		if err != nil {
			s.undoStart(ctx)
		}
	}()
	if s.trust, err = a.TrustFiles(authority, time.Now()); err != nil {
		return nil, err
	}
	if s.handler, err = a.openWork(f); err != nil {
		return nil, err
	}
	cfg.CA, cfg.Handler = authority, a.logRequests(s.handler)
	cfg.WebSocket = func(r *http.Request) bool { return admitsWebSocket(s.handler, f.webSocket, r) }
	if s.proxy, err = proxy.New(cfg); err == nil {
		err = s.proxy.Start()
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return s, nil
}

// openWork opens the cassette, or gets ready to open one for each session.
func (a *app) openWork(f *modeFlags) (modeHandler, error) {
	k, err := a.newModeEnv(f)
	if err != nil {
		return nil, err
	}
	if perSession(f.cassette) && f.mode != modePass {
		return &sessions{env: k, byName: map[string]*clientSession{}}, nil
	}
	return k.openHandler(f.cassette, f.receipt)
}

// closeProxy ends the session and returns its exit code. failed says that the
// program it was for did. ctx may be done already: that is how sessions are
// ended.
func (s *proxyRun) closeProxy(ctx context.Context, failed bool) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.proxy.Close(ctx); err != nil {
		s.app.Say("replies still open after %v were cut", grace)
	}
	s.app.refused = s.proxy.Refused()
	s.app.sayUpgrades(s.proxy.Upgrades())
	exit := s.handler.finishRecording(s.app, failed).exit
	s.app.SayUnused(s.app.own)
	return exit
}

// undoStart undoes what open did so far.
func (s *proxyRun) undoStart(ctx context.Context) {
	if s.proxy != nil {
		_ = s.proxy.Close(ctx)
	}
	if s.handler != nil {
		s.handler.discardStart()
	}
}

// logRequests logs each request before it is handled, with -v. The query is left
// out: a key may stand in it.
func (a *app) logRequests(next http.Handler) http.Handler {
	if !a.Verbose {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Log().Info("request", "session", proxy.Session(r.Context()), "method", r.Method, "host", r.Host, "path", r.URL.Path)
		next.ServeHTTP(w, r)
	})
}
