package harness

import (
	"net/http"

	"github.com/meerkat-go/conformance/conform/evidence"
)

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
