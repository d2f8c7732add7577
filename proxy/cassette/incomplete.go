package cassette

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// Judge returns why in's response is not everything that the provider would have
// sent: an Incomplete constant, or "" when it is complete or its end is not
// visible. It judges what was recorded and ignores in.Incomplete. A client that
// left after everything had arrived, as SDKs do right after the terminal event,
// missed nothing.
func Judge(in Interaction) string {
	resp := in.Response
	kind := resp.Header.Get("Content-Type")
	provider := ""
	if u, err := url.Parse(in.Request.URL); err == nil {
		provider = llm.Provider(u.Host, u.Path)
	}
	switch in.End {
	case EndEOF, "":
		switch {
		case resp.Status == 0:
			return IncompleteNoReply
		case in.Request.Method == http.MethodHead || resp.Status == http.StatusNoContent:
			return "" // has no body to end in (RFC 9110 §9.3.2, §15.3.5)
		case resp.Status < 300 && provider != "" && !llm.IsComplete(provider, kind, resp.Body):
			return IncompleteOpen
		}
		return ""
	case EndClientAbort:
		if resp.Status != 0 && showsEnd(kind, resp.Body) && llm.IsComplete(provider, kind, resp.Body) {
			return ""
		}
	case EndReset: // cut, as are errors of HTTP/2
	}
	if resp.Status == 0 {
		return IncompleteNoReply
	}
	return IncompleteCut
}

// showsEnd reports whether a body is of a kind that shows where it ends.
func showsEnd(kind string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(kind)
	text := bytes.TrimLeft(body, " \t\r\n")
	return media == "text/event-stream" || len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
