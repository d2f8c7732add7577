package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// DutyCase collects what one case shows of the duties of a server or a gateway, see [specs.Duty]. It is
// for one goroutine.
type DutyCase struct {
	Name, Provider string
	Calls          Calls
	// Exchanges are those of the client, Behind those behind a gateway.
	Exchanges, Behind []evidence.Exchange
	seen              map[string]*Result
	order             []string
}

// NewDutyCase returns a case of which nothing was seen yet.
func NewDutyCase(name, provider string) *DutyCase {
	return &DutyCase{Name: name, Provider: provider, seen: map[string]*Result{}}
}

func (d *DutyCase) resultOf(id string) *Result {
	if d.seen[id] == nil {
		d.seen[id] = &Result{Requirement: id, Check: id, Case: d.Name, Provider: d.Provider,
			Findings: []decide.Finding{}}
		d.order = append(d.order, id)
	}
	return d.seen[id]
}

// See counts a place where a duty could have been broken.
func (d *DutyCase) See(id string) { d.resultOf(id).Observed++ }

// IsBroken reports whether an exchange has broken a duty.
func (d *DutyCase) IsBroken(id string, exchange int) bool {
	return slices.ContainsFunc(d.resultOf(id).Findings, func(f decide.Finding) bool {
		return slices.ContainsFunc(allPlaces(&f), func(at Place) bool { return at.Exchange == decide.Ordinal(exchange) })
	})
}

// maxDutyFindings bounds the findings of one duty in one case.
const maxDutyFindings = 20

// DutyBreach is where a duty is broken. Without a Consequence it is that of the duty. Rule is set where
// another rule than the duty says what is wrong.
type DutyBreach struct {
	Exchange    int
	Path        string
	Consequence specs.Consequence
	Rule        string
	Compare     *decide.Comparison
}

// Breach adds a breach of a duty.
func (d *DutyCase) Breach(id string, at DutyBreach, form string, args ...any) {
	res := d.resultOf(id)
	if len(res.Findings) >= maxDutyFindings {
		return
	}
	found := decide.Finding{
		Requirement: id, Check: id, Rule: cmp.Or(at.Rule, id), Exchange: decide.Ordinal(at.Exchange), Event: -1, Offset: -1,
		Path:        at.Path,
		Consequence: at.Consequence, Message: fmt.Sprintf(form, args...), Compare: at.Compare, Form: form,
	}
	if duty := specs.FindDuty(id); duty != nil {
		clients := duty.ClientsOn(d.Provider)
		if found.Consequence == "" {
			if found.Consequence = duty.Consequence; duty.OnlyNamed && len(clients) == 0 {
				found.Consequence = specs.Degraded
			}
		}
		if found.Fix = duty.Fix; len(clients) > 0 {
			found.Fix += fmt.Sprintf(" Otherwise %s %s.", clients[0], duty.Breaks[clients[0]])
		}
	}
	if found.Compare != nil {
		found.Offset = decide.Ordinal(found.Compare.Differs)
	}
	found.Verdict = decide.Breach(found.Consequence, decide.AnswerNone, false)
	for i := range res.Findings { // one cause of one case is told once, with its places
		if other := &res.Findings[i]; other.Form == found.Form && other.Message == found.Message &&
			other.Path == found.Path {
			other.Places = append(other.Places, found.At())
			return
		}
	}
	res.Findings = append(res.Findings, found)
}

// Results returns the results of the case, with their verdicts.
func (d *DutyCase) Results() (list []Result) {
	for _, id := range d.order {
		res := *d.seen[id]
		if duty := specs.FindDuty(id); duty != nil {
			res.Consequence = duty.Consequence
		}
		res.setConsequence()
		res.Verdict, res.Reason = decide.Decide(decide.Facts{Findings: res.Findings, Observed: res.Observed})
		list = append(list, res)
	}
	return list
}

// Keep forgets the duties that keep does not want.
func (d *DutyCase) Keep(keep func(id string) bool) {
	d.order = slices.DeleteFunc(d.order, func(id string) bool { return !keep(id) })
}

// JudgeReply judges a reply by the rules of its wire, but for the duties in except, and counts the breaches that
// are not cosmetic. n is the ordinal of the exchange.
func (d *DutyCase) JudgeReply(n int, x *rule.Exchange, except map[string]bool) (breaches int) {
	for _, pass := range rule.JudgeReply(x) {
		d.resultOf(pass.ID).Observed += pass.Observed
		if except[pass.ID] {
			continue
		}
		for _, b := range pass.Breaches {
			d.Breach(pass.ID, DutyBreach{Exchange: n, Path: b.At.Path, Consequence: specs.Consequence(b.Consequence)},
				"%s", b.Message())
		}
		if pass.Consequence != specs.Cosmetic {
			breaches += len(pass.Breaches)
		}
	}
	return breaches
}

// ReplyExchange returns an exchange of a driver, which saw all of it, in the form in which the reply rules take it.
func ReplyExchange(x *evidence.Exchange, reply *wire.Reply) *rule.Exchange {
	out := x.ToJudge(reply)
	out.SawAll, out.Sent = true, x.Response.Body // the driver unpacks nothing
	return out
}

// Shorten cuts a text of others to what a finding shows of it.
func Shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 160
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
