package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Upstream is a simulator in the place of the provider. It keeps what it is asked and what it
// answers. It is safe for concurrent use.
type Upstream struct {
	// URL is where the simulator listens; each wire is served below its name.
	URL    string
	server *simulator.Server

	mu      sync.Mutex
	handler http.Handler
	seen    []*received
	open    *sync.WaitGroup // of the answers since Serve
}

// listReceived is a request that arrived behind the gateway, with its answer. Nothing in it changes once
// it has ended.
type received struct {
	evidence.Exchange
	asked          *wire.Request
	reply          *wire.Reply
	arrived, ended time.Time
	// isGone says that the gateway left before the end of the reply.
	isGone bool
}

// Open listens on a loopback address; "" is a free port.
func Open(address string) (*Upstream, error) {
	u := &Upstream{}
	server, err := simulator.Open(simulator.ListenConfig{Address: address, Plain: true}, u)
	if err != nil {
		return nil, err
	}
	u.server, u.URL = server, server.URL
	return u, nil
}

// Close ends the server.
func (u *Upstream) Close() { u.server.Close() }

// Serve lets a handler answer from now on, and forgets what was seen.
func (u *Upstream) Serve(h http.Handler) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handler, u.seen, u.open = h, nil, &sync.WaitGroup{}
}

// settle is how long the gateway may take to end what it asks upstream.
const settle = 5 * time.Second

// listReceived returns what arrived since Serve, in order of arrival, once the answers have ended, the
// context has, or the gateway has had its time.
func (u *Upstream) listReceived(ctx context.Context) []*received {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	u.mu.Lock()
	open, ended := u.open, make(chan struct{})
	u.mu.Unlock()
	go func() { open.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]*received, len(u.seen))
	for i, got := range u.seen {
		kept := *got
		list[i] = &kept
	}
	return list
}

// maxKept bounds a body that is kept, in bytes. The simulator takes no more either.
const maxKept = 64 << 20

// ServeHTTP answers a request and keeps both sides.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxKept)) // what came before an error is what arrived
	got := &received{arrived: time.Now(), Exchange: evidence.Exchange{
		Process: -1, Provenance: evidence.ProvenanceSimulator,
		Request: evidence.Request{Method: r.Method, URL: u.URL + r.URL.RequestURI(), Header: r.Header.Clone(),
			Body: body},
	}}
	got.Provider, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if wires.Find(got.Provider) == nil { // a gateway with one address for several wires
		got.Provider = llm.Provider(r.Host, r.URL.Path)
	}
	u.mu.Lock()
	handler, open := u.handler, u.open
	if handler == nil {
		u.mu.Unlock()
		http.Error(w, "no case is running", http.StatusServiceUnavailable)
		return
	}
	open.Add(1)
	defer open.Done()
	u.seen = append(u.seen, got)
	u.mu.Unlock()
	out := &keeper{ResponseWriter: w, got: got, mu: &u.mu}
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		got.ended, got.isGone = time.Now(), r.Context().Err() != nil
		got.Response.End = "eof"
		cause := recover()
		if cause != nil {
			got.Response.End = "reset"
		}
		got.asked = got.ReadRequest()
		got.reply = got.ReadReply()
		if cause != nil {
			panic(cause) // breaks the connection, as the simulator wants
		}
	}()
	in := r.Clone(r.Context())
	in.Body = io.NopCloser(bytes.NewReader(body))
	handler.ServeHTTP(out, in)
}

// keeper copies a reply on its way.
type keeper struct {
	http.ResponseWriter
	got   *received
	mu    *sync.Mutex
	began time.Time
}

// Unwrap lets http.ResponseController find the connection.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// WriteHeader keeps status and headers.
func (k *keeper) WriteHeader(status int) {
	k.mu.Lock()
	if k.got.Response.Status == 0 {
		k.began = time.Now()
		k.got.Response.Status, k.got.Response.Header = status, k.Header().Clone()
	}
	k.mu.Unlock()
	k.ResponseWriter.WriteHeader(status)
}

// Write keeps a piece of the body.
func (k *keeper) Write(b []byte) (int, error) {
	if k.began.IsZero() {
		k.WriteHeader(http.StatusOK)
	}
	k.mu.Lock()
	k.got.Response.Body = append(k.got.Response.Body, b...)
	k.got.Response.Chunks = append(k.got.Response.Chunks, evidence.Chunk{At: time.Since(k.began), Length: len(b)})
	k.mu.Unlock()
	return k.ResponseWriter.Write(b)
}

// Flush sends what was written.
func (k *keeper) Flush() { _ = http.NewResponseController(k.ResponseWriter).Flush() }
