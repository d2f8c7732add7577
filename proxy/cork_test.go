package proxy_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/record"
)

// writeCounter counts the writes to the connections that it accepts.
type writeCounter struct {
	net.Listener
	writes atomic.Int64
}

func (l *writeCounter) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, &l.writes}, err
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// What a handler writes is one write to the client's connection, however long its header, the
// frame of its chunk and it are; what is larger than a connection keeps arrives as well.
func TestOneWritePerChunk(t *testing.T) {
	for _, ingress := range []string{proxy.MITM, proxy.BaseURL} {
		for _, size := range []int{100, 3000, 5000, 20 << 10, 200 << 10} {
			t.Run(ingress+" "+strconv.Itoa(size), func(t *testing.T) {
				chunk := bytes.Repeat([]byte("c"), size)
				writesPerChunk(t, ingress, chunk)
			})
		}
	}
}

func writesPerChunk(t *testing.T, ingress string, chunk []byte) {
	t.Helper()
	const chunks = 3
	seen, counted := make(chan struct{}), &writeCounter{}
	var err error
	if counted.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	a := authority(t)
	p := start(t, proxy.Config{CA: a, Listener: counted, Ingress: []string{ingress}},
		func(w http.ResponseWriter, r *http.Request) {
			for range chunks {
				_, _ = w.Write(chunk)
				await(r.Context(), seen)
			}
		})
	c, tr := client(t, p, a)
	url := "https://" + host + "/"
	if ingress == proxy.BaseURL {
		tr.Proxy, url = nil, p.URL()+"/anthropic/"
	}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var before int64
	got := make([]byte, len(chunk))
	for range chunks {
		if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, chunk) {
			t.Fatalf("%v, %d bytes", err, len(got))
		}
		if n := counted.writes.Load() - before; before > 0 && n != 1 && len(chunk) < 64<<10 {
			t.Errorf("%d writes", n)
		}
		before = counted.writes.Load()
		seen <- struct{}{}
	}
}

// A reply whose length is announced is one write, header included.
func TestOneWritePerShortReply(t *testing.T) {
	counted := &writeCounter{}
	var err error
	if counted.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	a, whole := authority(t), bytes.Repeat([]byte("w"), 5000)
	p := start(t, proxy.Config{CA: a, Listener: counted}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		w.WriteHeader(http.StatusOK)
		_ = record.WriteEnd(w, whole)
	})
	c, _ := client(t, p, a)
	var before int64
	for range 2 { // the first needs a tunnel
		before = counted.writes.Load()
		resp, err := c.Get("https://" + host + "/")
		if got := body(t, resp, err); got != string(whole) {
			t.Errorf("%d bytes", len(got))
		}
	}
	if n := counted.writes.Load() - before; n != 1 {
		t.Errorf("%d writes", n)
	}
}
