package recorder

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// grace is how long open replies may go on when the proxy is closed.
const grace = 10 * time.Second

// app is the frame of the commands, and what is known of a run for its report.
type app struct {
	*cli.Frame
	own         *redact.Own     // the user's rules for what is recorded, nil for none
	program     string          // the name of the program that run started
	programExit int             // its exit code
	isolated    bool            // the program could reach the proxy only
	bypassed    []replay.Bypass // connections that went past the proxy
	refused     int             // how many requests the proxy refused
	turnedAway  atomic.Int64    // how many notices the proxy has logged
}

// modeHandler answers the requests for one cassette, as the mode says.
type modeHandler interface {
	http.Handler
	// finishRecording saves, reports how it went, and returns the outcome. failed
	// says that the program of the run failed.
	finishRecording(a *app, failed bool) outcome
	// discardStart undoes the opening when the proxy could not be started.
	discardStart()
}

// proxyRun is a proxy that runs, and the files that its clients need to trust it.
type proxyRun struct {
	app     *app
	proxy   *proxy.Proxy
	handler modeHandler
	trust   string // the folder of [app.TrustFiles]
}

// openProxy starts a proxy. It opens the cassette after everything else was checked, so that
// nothing is written when something is wrong.
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
	if s.handler, err = a.openHandler(f); err != nil {
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

// openHandler opens the cassette, or prepares to open one for each session.
func (a *app) openHandler(f *modeFlags) (modeHandler, error) {
	k, err := a.newModeEnv(f)
	if err != nil {
		return nil, err
	}
	if perSession(f.cassette) && f.mode != modePass {
		return &sessions{env: k, byName: map[string]*clientSession{}}, nil
	}
	return k.openCassette(f.cassette, f.receipt)
}

// closeProxy closes the proxy, finishes the recordings and returns the exit code. failed says
// that the program of the run failed. ctx may be done already: that is how programs are ended.
func (s *proxyRun) closeProxy(ctx context.Context, failed bool) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.proxy.Close(ctx); err != nil {
		s.app.Say("replies still open after %v were cut", grace)
	}
	s.app.refused = s.proxy.Refused()
	n := s.proxy.Upgrades()
	if n > 0 {
		s.app.Say("%s refused: programs that do without went on over HTTP",
			cli.Count(n, "WebSocket upgrade", "WebSocket upgrades"))
	}
	exit := s.handler.finishRecording(s.app, failed).exit
	s.app.SayUnused(s.app.own)
	return exit
}

// undoStart undoes what openProxy did so far.
func (s *proxyRun) undoStart(ctx context.Context) {
	if s.proxy != nil {
		_ = s.proxy.Close(ctx)
	}
	if s.handler != nil {
		s.handler.discardStart()
	}
}

// logRequests returns next with each request logged before, with -v. The query is left out: a
// key may stand in it.
func (a *app) logRequests(next http.Handler) http.Handler {
	if !a.Verbose {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Log().Info("request", "session", proxy.Session(r.Context()), "method", r.Method, "host", r.Host, "path",
			r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

// upstreamProxy returns the proxy that leads to the providers, nil for none. Errors do not quote
// the flag, which may hold a login.
func (a *app) upstreamProxy(f *modeFlags) (*proxy.Via, error) {
	if f.via == "" {
		return nil, nil //nolint:nilnil // there need not be one
	}
	via, err := proxy.ParseVia(f.via, a.Getenv(ViaLoginVariable), cmp.Or(a.Getenv("NO_PROXY"), a.Getenv("no_proxy")))
	if err != nil {
		return nil, cli.Usage("--upstream-proxy: %w", err)
	}
	return via, nil
}

// sayUnusedProxy names a proxy of the environment that is not used: it may be the only way to the
// providers. One on this machine is not named, because it may be a recorder. Only the host is
// shown: the value may hold a login.
func (a *app) sayUnusedProxy() {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		u, err := url.Parse(a.Getenv(name))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if !isLoopback(u.Hostname()) {
			a.Say("%s: names the proxy %s, which the recorder does not use; if the way to the providers leads through it, say --upstream-proxy %s://%s", name, u.Host, u.Scheme, u.Host)
		}
		return
	}
}

// passwordOf returns the password for via, if any, as a value that must not be recorded.
func passwordOf(via *proxy.Via) []string {
	if via == nil || via.Password() == "" {
		return nil
	}
	return []string{via.Password()}
}
