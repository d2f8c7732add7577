package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// pipeListener hands the server ends of pipes to a server.
type pipeListener chan net.Conn

// Accept implements net.Listener.
func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements net.Listener.
func (l pipeListener) Close() error { return nil }

// Addr implements net.Listener.
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// servePipe serves handler behind a guard over one connection, of which it returns the
// end of the client. It works in a bubble of synctest.
func servePipe(t *testing.T, handler http.Handler) net.Conn {
	t.Helper()
	l := make(pipeListener, 1)
	client, end := net.Pipe()
	l <- end
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.HTTP(ctx, l, server.Guard(server.GuardOptions{Token: token}, handler)) }()
	t.Cleanup(func() {
		_ = client.Close()
		cancel()
		close(l)
		<-served
	})
	return client
}

// TestSlowBody holds that a client that sends its body a byte a second is gone after half
// a minute, also one without the token. net/http reads the rest of a body before it sends
// an answer, so that a refusal alone would leave it the connection.
func TestSlowBody(t *testing.T) {
	for name, authorization := range map[string]string{"with the token": "Bearer " + token, "without a token": "Bearer none"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := servePipe(t, http.NotFoundHandler())
				go func() { _, _ = io.Copy(io.Discard, client) }()
				_, err := fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nContent-Length: 1000\r\n\r\n", authorization)
				start := time.Now()
				for err == nil && time.Since(start) < 5*time.Minute {
					time.Sleep(time.Second)
					_, err = client.Write([]byte("x"))
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("the connection is open after %s; want it closed within a minute", took)
				}
			})
		})
	}
}

// TestLongAnswer holds that a request that has arrived has as much time as its answer
// takes.
func TestLongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := servePipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(10 * time.Minute):
			case <-r.Context().Done():
				w.WriteHeader(http.StatusGone)
			}
		}))
		for range 2 { // the second one is on the same connection
			if _, err := fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\nhi", token); err != nil {
				t.Fatal(err)
			}
			reply, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || reply.StatusCode != http.StatusOK {
				t.Fatalf("status %v, error %v; want 200 after ten minutes", reply, err)
			}
			_ = reply.Body.Close()
		}
	})
}
