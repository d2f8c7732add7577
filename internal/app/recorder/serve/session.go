package serve

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
)

// grace is how long open replies may go on once a session is to end.
const grace = 10 * time.Second

type app struct {
	*recorderenv.Env
	refused    int          // how often a session's proxy refused a host or a caller
	turnedAway atomic.Int64 // how often it said why somebody did not get through
}

// work is what a proxy does with the requests of one cassette.
type work interface {
	http.Handler
	// finish saves, tells people how it went and returns what came of it. failed
	// says that the program the work was for did.
	finish(a *app, failed bool) outcome
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

// open starts a session. The cassette is touched last: whatever else is wrong
// leaves no trace.
func (a *app) open(ctx context.Context, f *flags) (_ *session, err error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	cfg, err := a.door(f)
	if err != nil {
		return nil, err
	}
	authority, err := a.Authority(f.allow)
	if err != nil {
		return nil, err
	}
	s := &session{app: a}
	defer func() {
		if err != nil {
			s.abandon(ctx)
		}
	}()
	if s.trust, err = a.TrustFiles(authority, time.Now()); err != nil {
		return nil, err
	}
	if s.work, err = a.work(f); err != nil {
		return nil, err
	}
	cfg.CA, cfg.Handler = authority, s.work
	if s.proxy, err = proxy.New(cfg); err == nil {
		err = s.proxy.Start()
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return s, nil
}

// work opens the cassette, or gets ready to open one for each session.
func (a *app) work(f *flags) (work, error) {
	k, err := a.kit(f)
	if err != nil {
		return nil, err
	}
	if perSession(f.cassette) && f.mode != modePass {
		return &lanes{kit: k, named: map[string]*lane{}}, nil
	}
	return k.work(f.cassette, f.receipt)
}

// close ends the session and returns its exit code. failed says that the
// program it was for did. ctx may be done already: that is how sessions are
// ended.
func (s *session) close(ctx context.Context, failed bool) int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.proxy.Close(ctx); err != nil {
		s.app.Say("replies still open after %v were cut", grace)
	}
	s.app.refused = s.proxy.Refused()
	s.app.sayUpgrades(s.proxy.Upgrades())
	return s.work.finish(s.app, failed).exit
}

// abandon undoes what open did so far.
func (s *session) abandon(ctx context.Context) {
	if s.proxy != nil {
		_ = s.proxy.Close(ctx)
	}
	if s.work != nil {
		s.work.abandon()
	}
}
