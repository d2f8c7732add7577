package recorder

import (
	"errors"
	"net/http"

	"github.com/meerkat-go/conformance/proxy"
)

// webSocketPolicy is what becomes of the WebSockets of OpenAI's Responses API. It is a
// pflag.Value.
type webSocketPolicy bool

const (
	webSocketRefuse = "refuse"
	webSocketRecord = "record"
)

func (p *webSocketPolicy) String() string {
	if *p {
		return webSocketRecord
	}
	return webSocketRefuse
}

// Type names the value in a command's help.
func (*webSocketPolicy) Type() string { return "policy" }

// Set reads refuse or record.
func (p *webSocketPolicy) Set(text string) error {
	if text != webSocketRecord && text != webSocketRefuse {
		return errors.New("use refuse, after which clients go on over HTTP, or record")
	}
	*p = text == webSocketRecord
	return nil
}

// admitsWebSocket reports whether h answers the WebSocket handshake r. A replay does when the
// cassette was recorded with WebSockets.
func admitsWebSocket(h modeHandler, policy webSocketPolicy, r *http.Request) bool {
	switch h := h.(type) {
	case *sessions:
		client := h.openClient(proxy.Session(r.Context()))
		return client.err == nil && admitsWebSocket(client.handler, policy, r)
	case *replayHandler:
		return h.HasWebSockets()
	case *recordMissing:
		return bool(policy) || h.HasWebSockets()
	}
	return bool(policy)
}
