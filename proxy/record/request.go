package record

import (
	"context"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// hopByHop are the request headers meant for the proxy and not for the provider
// (pitfall G19). Expect is one of them: the recorder reads the body at once.
var hopByHop = []string{
	"Connection", "Expect", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

// RequestOf returns r as a cassette keeps it, before redaction. A replayer uses
// it to see a request exactly as the recorder would.
func RequestOf(r *http.Request, body []byte) cassette.Request {
	return cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: endToEnd(r.Header), Body: body}
}

// endToEnd returns a copy of h without the headers of the connection.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// outgoingRequest returns r as it is sent on. It declines compression, because a
// body that cannot be read cannot be redacted (pitfall G12). The recording keeps
// the client's Accept-Encoding.
func (x *exchange) outgoingRequest(ctx context.Context, r *http.Request) *http.Request {
	out := r.WithContext(ctx)
	out.RequestURI = ""
	out.Header = endToEnd(r.Header)
	if out.Header.Get("Accept-Encoding") != "" {
		out.Header.Set("Accept-Encoding", "identity")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // net/http would add its own
	}
	out.TransferEncoding = nil
	x.upload.attachTo(out)
	return out
}
