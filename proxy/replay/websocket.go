package replay

import (
	"net/http"

	"github.com/meerkat-go/conformance/internal/websocket"
)

// socketFacts is what a cassette says of WebSockets.
type socketFacts struct {
	isRecorded bool        // some interaction came by one
	header     http.Header // of the provider's reply to the first handshake
}

// readSockets looks through the cassette up to the first reply that came by a WebSocket.
func (p *Replayer) readSockets() (f socketFacts) {
	for in, err := range p.cfg.Cassette.WebSockets() {
		if err != nil {
			break // the damage is reported when the interaction is asked for
		}
		f.isRecorded = true
		if in.Request.Method == http.MethodPost && in.Response.Status == http.StatusOK {
			f.header = in.Response.Header.Clone()
			for _, name := range []string{"Content-Type", "Content-Length", "Date"} {
				f.header.Del(name)
			}
			break
		}
	}
	return f
}

// HasWebSockets reports whether the cassette was recorded with WebSockets. Where it was not, the
// caller refuses the handshake as the recorder did, so that the client goes on over HTTP.
func (p *Replayer) HasWebSockets() bool { return p.webSockets().isRecorded }

// answerHandshake accepts a WebSocket, unless the cassette has an answer left to its
// handshake: it only has one when the provider refused to switch protocols.
func (p *Replayer) answerHandshake(w http.ResponseWriter, r *http.Request) {
	q := p.newLookup(r, nil)
	found := p.index.acquire(Exact, q.levelKey(Exact))
	if found.reason != "" {
		websocket.Serve(w, r, websocket.Config{Turns: p, Header: p.webSockets().header})
		return
	}
	p.sendAnswer(w, r, q, p.index.fetchInteraction(found))
}
