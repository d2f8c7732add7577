package cassette

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"net/url"
	"slices"

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
		if resp.Status != 0 && endVisible(kind, resp.Body) && llm.IsComplete(provider, kind, resp.Body) {
			return ""
		}
	case EndReset: // cut, as are errors of HTTP/2
	}
	if resp.Status == 0 {
		return IncompleteNoReply
	}
	return IncompleteCut
}

// endVisible reports whether a body is of a kind that shows where it ends.
func endVisible(kind string, body []byte) bool {
	media, _, _ := mime.ParseMediaType(kind)
	text := bytes.TrimLeft(body, " \t\r\n")
	return media == "text/event-stream" || len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// Lack is an interaction with an incomplete response.
type Lack struct {
	Interaction int
	Why         string // an Incomplete constant
}

// Undeclared lists the incomplete interactions of a cassette that does not
// declare them; a gate rejects it for them. It considers the recorder's mark
// and, for a cassette of another tool or an older build, Judge. It reads every
// interaction; an error is that of At.
func (c *Cassette) Undeclared() (lacks []Lack, err error) {
	if slices.Contains(c.meta.Declared, DeclaredIncomplete) {
		return nil, nil
	}
	for i := range c.Len() {
		in, err := c.At(i)
		if err != nil {
			return nil, err
		}
		if why := cmp.Or(in.Incomplete, Judge(in)); why != "" {
			lacks = append(lacks, Lack{i, why})
		}
	}
	return lacks, nil
}
