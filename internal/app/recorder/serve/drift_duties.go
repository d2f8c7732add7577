package serve

import (
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// severities say how much drift it is when a provider begins to neglect a duty of servers.
var severities = map[specs.Consequence]event.Severity{
	specs.Crash: event.Breaking, specs.Wrong: event.Breaking, specs.Degraded: event.Notable, specs.Cosmetic: event.Cosmetic,
}

// neglectedDuties lists the duties of servers that a reply neglects, each once.
func neglectedDuties(provider string, in cassette.Interaction) (duties []*specs.Duty) {
	body, err := interchange.DecompressBody(in.Response.Header, in.Response.Body)
	if err != nil {
		return nil // a reply that cannot be read shows nothing
	}
	passes := rule.JudgeReply(&rule.Exchange{
		Wire: provider, Method: in.Request.Method, URL: in.Request.URL, RequestHeader: in.Request.Header, Request: in.Request.Body,
		Status: in.Response.Status, Header: in.Response.Header, Body: body, Cut: in.End != "" && in.End != cassette.EndEOF,
	})
	for _, p := range passes {
		if len(p.Breaches) > 0 && !slices.ContainsFunc(duties, func(d *specs.Duty) bool { return d.ID == p.ID }) {
			duties = append(duties, p.Duty)
		}
	}
	return duties
}

// addNeglected adds the duties that the new reply neglects and the recorded one did not. The words
// are those of the duty: a report of drift holds nothing of what was said.
func (r *driftReport) addNeglected(t plannedRequest, old, fresh cassette.Interaction) {
	before := neglectedDuties(t.Provider, old)
	for _, d := range neglectedDuties(t.Provider, fresh) {
		if slices.ContainsFunc(before, func(b *specs.Duty) bool { return b.ID == d.ID }) {
			continue
		}
		f := event.Finding{Severity: severities[d.Consequence], Rule: "duty", Group: event.ReplyOf(fresh).Group,
			New: d.ID + ": " + d.Demand}
		at := slices.IndexFunc(r.Findings, func(o event.Finding) bool { return o.Group == f.Group && o.New == f.New })
		if at < 0 {
			at, r.Findings = len(r.Findings), append(r.Findings, f)
		}
		r.Findings[at].Pairs = append(r.Findings[at].Pairs, t.Interaction)
	}
}
