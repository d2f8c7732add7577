package provider

import (
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
)

// Outline is a checked request, taken apart for a codec to render.
type Outline struct {
	*Request
	// Target is where the request goes: what was made there goes back unaltered.
	Target handoff.Target
	// Systems are the system texts at the front; see [Prepare].
	Systems []string
	// Steps are the other messages, their calls and results paired.
	Steps []Step
}

// Prepare checks req and takes it apart. What it returns shares memory with req.
//
// A request that the model would refuse is a *[RequestError], a broken pair of
// call and result a *[PairError], a message of an unknown kind a
// *[MessageError]. The system text of the request and the system messages in
// front of all others become Systems; those further on stay where they are, so
// that the beginning of a conversation never changes.
func Prepare(req *Request, model catalog.Entry) (Outline, error) {
	if err := checkRequest(req, model); err != nil {
		return Outline{}, err
	}
	steps, err := Steps(req.Messages)
	if err != nil {
		return Outline{}, err
	}
	o := Outline{Request: req, Target: targetOf(req, model)}
	o.Systems, o.Steps = splitSystem(req, steps)
	return o, nil
}

// Thinks reports whether the model thinks at the effort of the request.
func (o *Outline) Thinks() bool { return o.Target.Model.Thinks(o.Effort) }

// CompactTokens returns the threshold from which the provider is asked to compact the
// conversation, at least the smallest that it takes; 0 when it is not asked.
func (o *Outline) CompactTokens() int {
	least := o.Target.Model.CompactFrom
	if least == 0 || o.CompactAt <= 0 {
		return 0
	}
	return max(o.CompactAt, least)
}

func targetOf(req *Request, model catalog.Entry) handoff.Target {
	return handoff.Target{Provider: model.Provider, API: model.Traits.API, Account: req.Account, Model: model}
}
