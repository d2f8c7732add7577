package serve

import (
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// clients numbers the processes that record into one cassette, in the order of their
// first requests. It is safe for concurrent use.
type clients struct {
	// isRun is set when all requests come from one program, which recorder run started.
	isRun bool

	mu      sync.Mutex
	ordinal map[string]int
	last    int // the highest ordinal so far
	sockets websocket.Ordinals
}

// newClients continues the numbers of the processes that recorded into old, which may be nil: a
// program that is run again is another process.
func newClients(isRun bool, old *cassette.Cassette) (*clients, error) {
	c := &clients{isRun: isRun, ordinal: map[string]int{}}
	if old == nil {
		return c, nil
	}
	socket := 0
	for in, err := range old.All() {
		if err != nil {
			return nil, err
		}
		c.last, socket = max(c.last, in.Process), max(socket, in.WebSocket)
	}
	c.sockets.StartAfter(socket)
	return c, nil
}

// noteClient sets the fields of in about the client that sent r.
func (c *clients) noteClient(r *http.Request, in *cassette.Interaction) {
	if proxy.CameByBaseURL(r.Context()) {
		in.Ingress = cassette.IngressBaseURL
	}
	in.Process = c.processNumber(proxy.Session(r.Context()), proxy.Client(r.Context()))
	in.WebSocket = c.sockets.Of(r.Context())
}

// processNumber returns the ordinal of a client, 0 when nothing distinguishes it from others. In a
// run without names of processes, all requests count as those of one process.
func (c *clients) processNumber(session, process string) int {
	if session == "" && process == "" && !c.isRun {
		return 0
	}
	name := session + " " + process
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ordinal[name] == 0 {
		c.last++
		c.ordinal[name] = c.last
	}
	return c.ordinal[name]
}
