package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/wires"
)

// GuardError says that a guard ended the run: a real key, a host or a model that is not
// allowed, or a budget that is spent. Its text holds no secret.
type GuardError struct{ Reason string }

// Error returns the reason.
func (e *GuardError) Error() string { return e.Reason }

// guard ends a run when a case does what no case may do. The first reason stays. It is
// safe for concurrent use.
type guard struct {
	ctx  context.Context // until the guard trips
	stop context.CancelCauseFunc
	once sync.Once
	keys *gate.Gate // knows the user's own keys
}

// newGuard returns a guard that also knows secrets, which are the user's keys.
func newGuard(secrets []string) *guard {
	g := &guard{keys: gate.New()}
	g.ctx, g.stop = context.WithCancelCause(context.Background())
	g.keys.Learn(secrets...)
	return g
}

// endRun ends the run with an error. It is a [*GuardError], or says that the run cannot
// go on for another reason.
func (g *guard) endRun(err error) { g.once.Do(func() { g.stop(err) }) }

// trippedErr is the error that ended the run, nil while it goes on.
func (g *guard) trippedErr() error {
	if g.ctx.Err() == nil {
		return nil
	}
	return context.Cause(g.ctx)
}

// attachContext returns a context that also ends when the guard trips.
func (g *guard) attachContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// checkKeys refuses requests with a key that has no place in them, and ends the run:
// the agent has made-up keys only, so it found that key somewhere else.
func (g *guard) checkKeys(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason := g.misplacedKey(r)
		if reason == "" {
			next.ServeHTTP(w, r)
			return
		}
		g.endRun(&GuardError{name + ": " + reason})
		refuseRequest(w, r, http.StatusForbidden, reason)
	})
}

// misplacedKey says which key stands in the URL or a header of a request and does not
// belong there, "" for none. It never quotes the key.
func (g *guard) misplacedKey(r *http.Request) string {
	asked := cassette.Request{Method: r.Method, URL: r.URL.String(), Header: withoutMadeUp(r.Header)}
	if owner := strayOwner(r); owner != "" {
		return fmt.Sprintf("the agent sent the key of %s to %s; nothing was passed on", owner, r.URL.Host)
	}
	var hit *gate.Hit
	if !errors.As(g.keys.Check(cassette.Interaction{Request: asked}), &hit) {
		return ""
	}
	what := "what looks like " + hit.What
	if hit.Digest == "" {
		what = "a key of yours"
	}
	return fmt.Sprintf("the agent sent %s to %s (%s), where only a made-up key belongs; nothing was passed on. "+
		"Find out where the agent has it from: it is not in its environment", what, r.URL.Host, hit.Where)
}

// madeUpKey is the form of the made-up keys.
var madeUpKey = regexp.MustCompile(fakeKey + `([a-z0-9]+)`)

// strayOwner returns the provider whose made-up key was sent to the host of another
// provider, "" for none.
func strayOwner(r *http.Request) string {
	provider := llm.Provider(r.URL.Host, r.URL.Path)
	if provider == "" {
		return ""
	}
	var texts strings.Builder
	texts.WriteString(r.URL.RawQuery)
	for _, values := range r.Header {
		texts.WriteString(" " + strings.Join(values, " "))
	}
	for _, found := range madeUpKey.FindAllStringSubmatch(texts.String(), -1) {
		if owner := wires.Find(found[1]); owner != nil && owner.Host != wires.Find(provider).Host {
			return found[1]
		}
	}
	return ""
}

// withoutMadeUp returns the headers that may hold a real key. Cookies are not searched:
// the agent has no browser of the user's.
func withoutMadeUp(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if strings.Contains(strings.ToLower(name), "cookie") {
			continue
		}
		for _, value := range values {
			if !strings.Contains(value, madeUpMark) && !holdsMadeUpClaim(value) {
				out.Add(name, value)
			}
		}
	}
	return out
}

// madeUpMark is a part of every made-up credential.
const madeUpMark = "made-up"
