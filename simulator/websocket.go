package simulator

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// socket is a WebSocket of a client of OpenAI's Responses API. It answers one message
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

// rememberReply keeps a reply in the place of the one before.
func (s *socket) rememberReply(id string, reply script.Reply) {
	if s != nil {
		s.id, s.last = id, reply
	}
}

// forgetReply is what a failed continuation does to the response that it named.
func (s *socket) forgetReply(id string) {
	if s.id == id {
		s.id, s.last = "", script.Reply{}
	}
}

// serveWebSocket answers a handshake, and then each message as if it were a request.
func (h *handler) serveWebSocket(w http.ResponseWriter, r *http.Request, p provider) {
	c := &call{Request: r, route: route{provider: "openai"}, provider: p}
	if realKeyPrefix(r) != "" || !hasKey(c) {
		h.writePlan(w, r, h.planAnswer(c))
		return
	}
	ctx := context.WithValue(r.Context(), socketKey{}, &socket{})
	websocket.Serve(w, r.WithContext(ctx), websocket.Config{Turns: h, Header: http.Header{Mark: {markSimulated}}})
}

// planMessage is a model call by WebSocket: its body is the message, whose envelope is
// taken off. A response that it continues may be the connection's own.
func (h *handler) planMessage(c *call) script.Plan {
	if message := c.provider.parse(c.Request, c.body).Document(); message != nil {
		if refusal := c.openMessage(message); refusal != nil {
			return rejectionPlan(c.provider, refusal)
		}
	}
	previous := parseOwn(c.body).Get("previous_response_id").Text()
	if _, found := c.socket.recallReply(previous); found {
		c.env.Off = maps.Clone(c.env.Off)
		c.env.Off["O-25"] = true
	}
	plan := h.planGenerate(c)
	if plan.Status != http.StatusOK {
		c.socket.forgetReply(previous)
	}
	return plan
}

// openMessage makes the message a request: the envelope's members go, and the reply is a
// stream, as over WebSockets it always is.
func (c *call) openMessage(message *tree.Node) *rule.Refusal {
	kind := message.Get("type")
	if kind.Text() != "response.create" {
		return &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Param: "type",
			Message: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'response.create'.", kind.Text())}
	}
	if message.Get("background").True() {
		return &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "unsupported_parameter", Param: "background",
			Message: "Unsupported parameter: 'background' is not supported over WebSocket."}
	}
	generate := message.Get("generate")
	c.isWarmUp = generate.Is(tree.Bool) && !generate.True()
	request := script.Object{}
	for i, name := range message.Names() {
		switch name {
		case "type", "generate", "stream", "background":
		default:
			request = append(request, name, message.Items()[i])
		}
	}
	c.body = script.JSON(append(request, "stream", true))
	return nil
}
