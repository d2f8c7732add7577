package simulator

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/openai"
)

// planWindow answers POST /v1/responses/compact: a conversation that has passed the rules
// is returned compacted, whatever the scenario says.
func (h *handler) planWindow(c *call) script.Plan {
	c.asked = c.provider.parse(c.Request, c.body)
	if refusal := c.asked.Check(c.env); refusal != nil {
		return rejectionPlan(c.provider, refusal)
	}
	if refusal := h.expandPrevious(c); refusal != nil {
		return rejectionPlan(c.provider, refusal)
	}
	req, refusal := c.asked.Turn()
	if refusal != nil {
		return h.refusalPlan(c, refusal)
	}
	return withNotes(h.bodyPlan(c, openai.Window(script.Generated(req, nil, "", c.env.Key, c.env.Now))), h.strictNotes(c))
}
