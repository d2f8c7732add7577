package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// G17: Close returns after the last handler has, also when that one overstays:
// the caller that closes the recorder next may rely on it.
func TestCloseWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, ended, closed := make(chan struct{}), false, false
		p, err := New(Config{Ingress: []string{BaseURL},
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				<-release
				ended = true
			})})
		if err != nil {
			t.Fatal(err)
		}
		handler := p.wrapHandler(p.cfg.Handler)
		go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		synctest.Wait()
		go func() {
			_ = p.Close(context.Background())
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("Close returned while a handler was running")
		}
		close(release)
		synctest.Wait()
		if !closed || !ended {
			t.Errorf("closed %t, ended %t", closed, ended)
		}
		defer func() {
			if recover() == nil {
				t.Error("a closed proxy let a request in")
			}
		}()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	})
}
