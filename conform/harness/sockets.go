package harness

import (
	"net/http"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// sockets numbers the WebSockets of one run of a case, from 1, in the order of their first
// messages. It is safe for concurrent use.
type sockets struct {
	mu      sync.Mutex
	ordinal map[*websocket.Session]int
}

// numberOf returns the ordinal of the WebSocket that a request came by, 0 for plain HTTP.
func (s *sockets) numberOf(r *http.Request) int {
	session := websocket.SessionOf(r.Context())
	if session == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ordinal == nil {
		s.ordinal = map[*websocket.Session]int{}
	}
	if s.ordinal[session] == 0 {
		s.ordinal[session] = len(s.ordinal) + 1
	}
	return s.ordinal[session]
}

// noteSocket notes the WebSocket that a request came by.
func (s *sockets) noteSocket(r *http.Request, in *cassette.Interaction) { in.WebSocket = s.numberOf(r) }

// admitWebSockets decides on the WebSockets of the case. Where they are admitted, entry
// answers each of their messages. Only the simulator speaks them: a live run could not
// count the cost of a message before it is sent.
func (c *capture) admitWebSockets(refuse bool, entry http.Handler) func(*http.Request) bool {
	if refuse || c.steps == nil || c.Source != evidence.SourceSimulator {
		return nil
	}
	c.steps.entry = entry
	return func(*http.Request) bool { return true }
}
