package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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
	for name, authorization := range map[string]string{
		"with the token": "Bearer " + token, "without a token": "Bearer none",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := servePipe(t, http.NotFoundHandler())
				go func() { _, _ = io.Copy(io.Discard, client) }()
				_, err := fmt.Fprintf(
					client, "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nContent-Length: 1000\r\n\r\n",
					authorization,
				)
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
			if _, err := fmt.Fprintf(
				client, "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\nhi", token,
			); err != nil {
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

// serveBounded serves handler behind a guard, for so many connections at once, of which dial
// returns the ends of clients. It works in a bubble of synctest.
func serveBounded(t *testing.T, connections int, handler http.Handler) (dial func(text string) net.Conn) {
	t.Helper()
	l := make(pipeListener, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	guarded := server.Guard(server.GuardOptions{Token: token}, handler)
	go func() { served <- server.HTTP(ctx, server.NewBoundedListener(l, connections), guarded) }()
	t.Cleanup(func() {
		cancel()
		close(l)
		<-served
	})
	return func(text string) net.Conn {
		client, end := net.Pipe()
		t.Cleanup(func() { _ = client.Close() })
		l <- end
		go func() { _, _ = io.WriteString(client, text) }()
		return client
	}
}

// proof is a request with the token.
const proof = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer " + token + "\r\n\r\n"

// TestHalfOpenConnections holds that connections that never show the token do not keep a
// client out that does, and that the connection of such a client is not closed for others.
func TestHalfOpenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		dial := serveBounded(t, 128, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/long" {
				<-finish
			}
		}))
		long := dial(strings.Replace(proof, "/ ", "/long ", 1))
		synctest.Wait()
		for i := range 300 {
			dial([]string{"", "GET / HTTP/1.1\r\nHo", strings.Replace(proof, "Bearer ", "Bearer x", 1)}[i%3])
		}
		began := time.Now()
		reply, err := http.ReadResponse(bufio.NewReader(dial(proof)), nil)
		if waited := time.Since(began); err != nil || reply.StatusCode != http.StatusOK || waited > 2*time.Second {
			t.Errorf("after 300 connections without the token: %v after %s", err, waited)
		}
		close(finish)
		if reply, err := http.ReadResponse(bufio.NewReader(long), nil); err != nil ||
			reply.StatusCode != http.StatusOK {
			t.Errorf("a request that takes long: %v", err)
		}
	})
}

// TestManyClients holds that clients that have the token and come all at once are answered,
// each when there is a place.
func TestManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serveBounded(
			t, 2, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }),
		)
		var all []net.Conn
		for range 6 {
			all = append(all, dial(proof))
		}
		began := time.Now()
		for _, c := range all {
			if reply, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil ||
				reply.StatusCode != http.StatusOK {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(began); took != 3*time.Minute {
			t.Errorf("six requests of a minute, two at once, took %s", took)
		}
	})
}
