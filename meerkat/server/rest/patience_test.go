package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/server/rest"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// lockedStore is a store whose tables another program has locked.
type lockedStore struct{ session.Store }

func (lockedStore) List(ctx context.Context, _ session.Filter) ([]session.Info, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s lockedStore) Load(ctx context.Context, _ session.ID) (session.Session, error) {
	_, err := s.List(ctx, session.Filter{})
	return session.Session{}, err
}

// TestLockedStore: a client does not wait for sessions that cannot be read.
func TestLockedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := server.Host{Store: lockedStore{session.NewMemoryStore()}, Version: "test"}
		handler := rest.New(
			host, server.NewLocal(host.Execute, server.LocalOptions{}), rest.Options{Token: token},
		).Handler()
		const one = "/sessions/0199a2b4-0000-7000-8000-000000000001"
		for _, path := range []string{"/sessions", one, one + "/history", one + "/operations", one + "/artifacts"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			began := time.Now()
			handler.ServeHTTP(w, r)
			if waited := time.Since(began); w.Code != http.StatusServiceUnavailable ||
				w.Header().Get("Retry-After") == "" || waited != 10*time.Second ||
				!strings.Contains(w.Body.String(), `"detail":"sessions: no answer within 10s; try again`) {
				t.Errorf("GET %s: %d %v %s after %s", path, w.Code, w.Header(), w.Body, waited)
			}
		}
	})
}
