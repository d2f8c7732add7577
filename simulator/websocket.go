package simulator

import (
	"context"
	"maps"
	"net/http"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/simulator/script"
)

// socket is a WebSocket of a client. It answers one message
// after the other, so nothing here is shared.
type socket struct {
	id   string // of the last response, which may be continued whether it is stored or not
	last script.Reply
}

type socketKey struct{}

func socketOf(r *http.Request) *socket {
	s, _ := r.Context().Value(socketKey{}).(*socket)
	return s
}

// recallReply returns the last reply when it has this id.
func (s *socket) recallReply(id string) (reply script.Reply, found bool) {
	if s == nil || id == "" || s.id != id {
		return script.Reply{}, false
	}
	return s.last, true
}

// serveWebSocket answers a handshake, and then each message as if it were a request.
func (h *handler) serveWebSocket(w http.ResponseWriter, r *http.Request, to route) {
	c := &call{Request: r, route: to}
	if realKeyPrefix(r) != "" || !hasKey(c) {
		c.op = "" // nothing is asked for yet
		h.writePlan(w, r, h.planAnswer(c))
		return
	}
	ctx := context.WithValue(r.Context(), socketKey{}, &socket{})
	websocket.Serve(w, r.WithContext(ctx), websocket.Config{Turns: h, Header: http.Header{Mark: {markSimulated}}})
}

// planMessage is a model call by WebSocket: its body is the message, whose envelope is
// taken off. A response that it continues may be the connection's own.
func (h *handler) planMessage(c *call) script.Plan {
	if message := c.Parse(c.Request, c.body).Document(); message != nil {
		request, warmsUp, refusal := c.OpenMessage(message)
		if refusal != nil {
			return rejectionPlan(c.route, refusal)
		}
		c.body, c.isWarmUp = request, warmsUp
	}
	previous := c.Storage.Previous(script.ParseOwn(c.body))
	if _, found := c.socket.recallReply(previous); found {
		c.env.Off = maps.Clone(c.env.Off)
		c.env.Off[c.Storage.Lost(previous).Rule] = true
	}
	plan := h.planModel(c)
	if plan.Status != http.StatusOK && c.socket.id == previous {
		*c.socket = socket{}
	}
	return plan
}
