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

// listenBounded serves handler behind a guard, for so many connections at once, and returns
// its address.
func listenBounded(t *testing.T, connections int, handler http.Handler) string {
	t.Helper()
	l, err := server.Listen(t.Context(), "127.0.0.1:0", false, connections)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- server.HTTP(t.Context(), l, server.Guard(server.GuardOptions{Token: token}, handler))
	}()
	t.Cleanup(func() { <-served })
	return l.Addr().String()
}

// askOnce sends a request with the token over a connection of its own, and returns the
// status. It gives up before a connection that sends nothing would be closed for that.
func askOnce(t *testing.T, address, authorization string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	r.Close = true
	reply, err := new(http.Transport).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}

// dialSaying opens a connection and sends the beginning of a request.
func dialSaying(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHalfOpenConnections holds that connections that never show the token do not keep a
// client out that does, and that such a client is not closed for others.
func TestHalfOpenConnections(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	address := listenBounded(t, 4, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			begun <- struct{}{}
			<-finish
		}
	}))
	long := dialSaying(t, address, "GET /long HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	<-begun
	for i := range 100 {
		_ = dialSaying(t, address, []string{"", "GET / HTTP/1.1\r\nHost: 127.0", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"}[i%3])
		if i%10 == 0 {
			if status := askOnce(t, address, "Bearer "+token); status != http.StatusOK {
				t.Errorf("with the token: %d", status)
			}
			if status := askOnce(t, address, "Bearer none"); status != http.StatusUnauthorized {
				t.Errorf("without it: %d", status)
			}
		}
	}
	close(finish)
	if reply, err := http.ReadResponse(bufio.NewReader(long), nil); err != nil || reply.StatusCode != http.StatusOK {
		t.Errorf("the request that took long: %v", err)
	}
}

// TestAllConnectionsProven holds that a connection more than there may be waits while all
// others have shown the token, and that a server that ends does not wait for it.
func TestAllConnectionsProven(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	address := listenBounded(t, 2, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-finish
	}))
	const request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	var all []net.Conn
	for range 3 {
		all = append(all, dialSaying(t, address, request))
	}
	<-begun
	<-begun
	select {
	case <-begun:
		t.Error("a third request is answered")
	default:
	}
	finish <- struct{}{}
	<-begun
	close(finish)
	for _, c := range all {
		if reply, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || reply.StatusCode != http.StatusOK {
			t.Errorf("%v", err)
		}
	}
}
