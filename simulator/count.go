package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/meerkat-go/conformance/simulator/script"
)

// bodyPlan plans a response that is not a reply of a model, with the headers of one.
func (h *handler) bodyPlan(c *call, body []byte) script.Plan {
	return script.Plan{Status: http.StatusOK, Header: h.replyHeader(c, script.FormUnary), Writes: [][]byte{body}}
}

// replyHeader is that of a reply; what is random in it depends on the request.
func (h *handler) replyHeader(c *call, form script.Form) http.Header {
	sum := sha256.Sum256(append([]byte(c.Method+c.URL.RequestURI()), c.body...))
	header := c.Provider.Header(script.Reply{Request: script.Request{Form: form}, Seed: hex.EncodeToString(sum[:8]), At: c.env.Now})
	header.Set("Date", c.env.Now.UTC().Format(http.TimeFormat))
	return header
}
